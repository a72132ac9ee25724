// Package text splits and trims text by the rules the signed formats were pinned with, which are Python's.
//
// Invariants:
//   - A line ends at any of eleven terminators: \n \r \r\n \v \f FS GS RS NEL LS PS.
//   - White space is Unicode's, with U+001C to U+001F, which unicode.IsSpace lacks.
//   - Nothing here allocates for text that needs no change, except the slices that are returned.
package text

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsSpace reports whether r is white space.
func IsSpace(r rune) bool {
	switch {
	case r >= 0x09 && r <= 0x0d, r >= 0x1c && r <= 0x20:
		return true
	case r < 0x80:
		return false
	case r == 0x85, r == 0xa0, r == 0x1680, r >= 0x2000 && r <= 0x200a, r == 0x2028, r == 0x2029, r == 0x202f, r == 0x205f, r == 0x3000:
		return true
	}
	return false
}

// IsLineEnd reports whether r alone ends a line.
func IsLineEnd(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// CutLine returns the first line of s without its terminator, the rest behind it, and whether a terminator was there.
func CutLine(s string) (line, rest string, found bool) {
	i, n := lineEnd(s)
	return s[:i], s[i+n:], n > 0
}

const (
	lows  = 0x2020202020202020
	highs = 0x8080808080808080
)

// lineEnd returns where the first terminator of s starts and its length in bytes, or len(s) and 0.
// Eight bytes at a time are passed over while none is below 0x20 or beyond ASCII.
func lineEnd(s string) (at, size int) {
	for i := 0; i < len(s); {
		if len(s)-i >= 8 {
			w := s[i : i+8]
			x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
				uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
			if ((x-lows)|x)&highs == 0 {
				i += 8
				continue
			}
		}
		c := s[i]
		if c >= 0x20 && c < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if IsLineEnd(r) {
			if r == '\r' && i+1 < len(s) && s[i+1] == '\n' {
				n++
			}
			return i, n
		}
		i += n
	}
	return len(s), 0
}

// Lines splits s into lines. A terminator at the end starts no further line, and "" has no line.
func Lines(s string) []string {
	var out []string
	for len(s) > 0 {
		line, rest, _ := CutLine(s)
		out = append(out, line)
		s = rest
	}
	return out
}

// LastLine returns the last line of s that is not blank, trimmed, or "".
func LastLine(s string) string {
	s = TrimRight(s)
	for {
		i, n := lineEnd(s)
		if n == 0 {
			break
		}
		s = s[i+n:]
	}
	return Trim(s)
}

// Trim removes white space at both ends of s.
func Trim(s string) string {
	for s != "" && s[0] < utf8.RuneSelf && asciiSpace[s[0]] {
		s = s[1:]
	}
	for s != "" && s[len(s)-1] < utf8.RuneSelf && asciiSpace[s[len(s)-1]] {
		s = s[:len(s)-1]
	}
	if s == "" || s[0] < utf8.RuneSelf && s[len(s)-1] < utf8.RuneSelf {
		return s
	}
	return strings.TrimFunc(s, IsSpace)
}

var asciiSpace = [utf8.RuneSelf]bool{
	'\t': true, '\n': true, '\v': true, '\f': true, '\r': true, 0x1c: true, 0x1d: true, 0x1e: true, 0x1f: true, ' ': true,
}

// TrimRight removes white space at the end of s.
func TrimRight(s string) string {
	for s != "" && s[len(s)-1] < utf8.RuneSelf && asciiSpace[s[len(s)-1]] {
		s = s[:len(s)-1]
	}
	if s == "" || s[len(s)-1] < utf8.RuneSelf {
		return s
	}
	return strings.TrimRightFunc(s, IsSpace)
}

// Fields splits s at runs of white space.
func Fields(s string) []string { return strings.FieldsFunc(s, IsSpace) }

// CutField returns the first word of s and what follows it. word is "" when s holds no word.
func CutField(s string) (word, rest string) {
	for s != "" && s[0] < utf8.RuneSelf && asciiSpace[s[0]] {
		s = s[1:]
	}
	if s != "" && s[0] >= utf8.RuneSelf {
		s = strings.TrimLeftFunc(s, IsSpace)
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf {
			if j := strings.IndexFunc(s[i:], IsSpace); j >= 0 {
				return s[:i+j], s[i+j:]
			}
			return s, ""
		} else if asciiSpace[c] {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// special holds the characters whose full upper-case mapping is ASCII letters but whose simple mapping is not.
var special = map[rune]string{
	'ﬀ': "FF", 'ﬁ': "FI", 'ﬂ': "FL", 'ﬃ': "FFI", 'ﬄ': "FFL", 'ﬅ': "ST", 'ﬆ': "ST", 'ß': "SS",
}

// EqualUpper reports whether s in full Unicode upper case equals word, which is in ASCII upper case.
// Only characters whose mapping ends in ASCII letters can match, so their table is all that the mapping needs.
func EqualUpper(s, word string) bool {
	for _, r := range s {
		up, ok := special[r]
		if !ok {
			u := unicode.ToUpper(r)
			if u >= utf8.RuneSelf || word == "" || word[0] != byte(u) {
				return false
			}
			word = word[1:]
			continue
		}
		if !strings.HasPrefix(word, up) {
			return false
		}
		word = word[len(up):]
	}
	return word == ""
}

// EqualUpperASCII is EqualUpper with ASCII letters only.
func EqualUpperASCII(s, word string) bool {
	if len(s) != len(word) {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// Clip returns s cut to at most n bytes on a character's border, with "…" behind it where something was cut off.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// Clean makes foreign text safe for a terminal: every character that is not printable, line and paragraph separators included,
// becomes "·", and at most n bytes are kept (see Clip).
func Clean(s string, n int) string {
	return Clip(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return '·'
	}, s), n)
}

// Quote returns foreign text in quotes, with everything that is not printable escaped, cut to at most n bytes before it is quoted.
func Quote(s string, n int) string { return strconv.Quote(Clip(s, n)) }
