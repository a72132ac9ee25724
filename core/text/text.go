// Package text splits and trims text by the rules the signed formats were pinned with, which are Python's.
//
// Invariants:
//   - A line ends at any of eleven terminators: \n \r \r\n \v \f FS GS RS NEL LS PS.
//   - White space is Unicode's, with U+001C to U+001F, which unicode.IsSpace lacks.
//   - Nothing here allocates for text that needs no change, except the slices that are returned.
package text

import (
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
	for i, r := range s {
		if !IsLineEnd(r) {
			continue
		}
		n := i + utf8.RuneLen(r)
		if r == '\r' && n < len(s) && s[n] == '\n' {
			n++
		}
		return s[:i], s[n:], true
	}
	return s, "", false
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

// Trim removes white space at both ends of s.
func Trim(s string) string { return strings.TrimFunc(s, IsSpace) }

// TrimRight removes white space at the end of s.
func TrimRight(s string) string { return strings.TrimRightFunc(s, IsSpace) }

// Fields splits s at runs of white space.
func Fields(s string) []string { return strings.FieldsFunc(s, IsSpace) }

// CutField returns the first word of s and what follows it. word is "" when s holds no word.
func CutField(s string) (word, rest string) {
	s = strings.TrimLeftFunc(s, IsSpace)
	if i := strings.IndexFunc(s, IsSpace); i >= 0 {
		return s[:i], s[i:]
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
