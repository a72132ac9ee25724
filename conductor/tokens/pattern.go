package tokens

import (
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// pattern is a regular expression that is none of the families.
type pattern struct{ re *regexp2.Regexp }

const (
	maxPattern  = 4096        // bytes of a pattern
	patternTime = time.Second // for one match; the families need no clock
)

func newPattern(text string) (splitter, error) {
	if f, ok := families[text]; ok {
		return f, nil
	}
	if len(text) > maxPattern {
		return nil, errors.New("the pattern is too long")
	}
	if err := checkPattern(text); err != nil {
		return nil, err
	}
	folded, err := foldGroups(text)
	if err != nil {
		return nil, err
	}
	re, err := regexp2.Compile(folded, regexp2.None)
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = patternTime
	return pattern{re}, nil
}

func (p pattern) split(text string, part func(string, bool)) error {
	m, err := p.re.FindRunesMatch([]rune(text))
	at, runes := 0, 0 // bytes and characters done
	skip := func(n int) string {
		start := at
		for ; n > 0; n-- {
			_, size := utf8.DecodeRuneInString(text[at:])
			at += size
			runes++
		}
		return text[start:at]
	}
	for ; m != nil && err == nil; m, err = p.re.FindNextMatch(m) {
		if m.Length == 0 {
			continue
		}
		if gap := skip(m.Index - runes); gap != "" {
			part(gap, false)
		}
		part(skip(m.Length), true)
	}
	if err != nil {
		return TooSlow.Because(err)
	}
	if at < len(text) {
		part(text[at:], false)
	}
	return nil
}

// checkPattern lets through what the tokenizers' own engine and the one used here read alike: literals, classes,
// \p \P \s \S \r \n \t and escaped punctuation, greedy and lazy quantifiers, alternation, groups and look-around.
func checkPattern(p string) error {
	inClass := false
	for i := 0; i < len(p); i++ {
		rest := p[i:]
		switch {
		case p[i] == '\\':
			if len(rest) < 2 {
				return errors.New("a backslash at the end")
			}
			i++
			if c := p[i]; c >= utf8.RuneSelf || unicode.IsDigit(rune(c)) || unicode.IsLetter(rune(c)) && !strings.ContainsRune("pPsSrnt", rune(c)) {
				return errors.New("an escape that is not read alike: " + rest[:2])
			}
		case inClass:
			if p[i] == '[' || strings.HasPrefix(rest, "&&") {
				return errors.New("a class inside a class")
			}
			inClass = p[i] != ']'
		case p[i] == '[':
			inClass = true
			if strings.HasPrefix(rest, "[]") || strings.HasPrefix(rest, "[^]") {
				return errors.New("a class that begins with its end")
			}
			if strings.HasPrefix(rest, "[^") {
				i++
			}
		case p[i] == '.' || p[i] == '^' || p[i] == '$':
			return errors.New("a metacharacter that is not read alike: " + rest[:1])
		case strings.HasPrefix(rest, "(?") && !hasAnyPrefix(rest, "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?i:"):
			return errors.New("a kind of group that is not read here")
		case strings.HasPrefix(rest, "(*"), hasAnyPrefix(rest, "*+", "++", "?+"):
			return errors.New("a possessive quantifier")
		}
	}
	return nil
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// foldGroups writes out the groups that ignore case, because engines differ in which letters they take for one: each
// letter becomes the class of all its cases. Such a group may hold letters, apostrophes and alternatives only.
func foldGroups(p string) (string, error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(p, "(?i:")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		body, rest, closed := strings.Cut(after, ")")
		if !closed {
			return "", errors.New("a group without an end")
		}
		b.WriteString("(?:")
		for _, r := range body {
			switch {
			case r == '\'' || r == '|' || r == '’':
				b.WriteRune(r)
			case r < utf8.RuneSelf && unicode.IsLetter(r):
				b.WriteByte('[')
				b.WriteRune(r)
				for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
					b.WriteRune(o)
				}
				b.WriteByte(']')
			default:
				return "", errors.New("a group that ignores case and holds more than letters")
			}
		}
		b.WriteByte(')')
		p = rest
	}
}
