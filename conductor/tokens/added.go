package tokens

import (
	"slices"
	"strings"
)

// added is a token that stands for one text, whatever the model would make of it.
type added struct {
	text string
	id   int
}

// matcher finds added tokens: the leftmost one, and of those the longest.
type matcher struct {
	byFirst *[256][]added // by the first byte, the longest first; nil when there are none
}

func newMatcher(list []added) matcher {
	if len(list) == 0 {
		return matcher{}
	}
	m := matcher{new([256][]added)}
	for _, a := range list {
		m.byFirst[a.text[0]] = append(m.byFirst[a.text[0]], a)
	}
	for i := range m.byFirst {
		slices.SortStableFunc(m.byFirst[i], func(a, b added) int { return len(b.text) - len(a.text) })
	}
	return m
}

// split calls token for every added token in text and plain for every stretch between them that is not empty.
func (m matcher) split(text string, token func(id int), plain func(string)) {
	start := 0
	if m.byFirst != nil {
		for i := 0; i < len(text); {
			a, ok := m.at(text[i:])
			if !ok {
				i++
				continue
			}
			if start < i {
				plain(text[start:i])
			}
			token(a.id)
			i += len(a.text)
			start = i
		}
	}
	if start < len(text) {
		plain(text[start:])
	}
}

func (m matcher) at(text string) (added, bool) {
	for _, a := range m.byFirst[text[0]] {
		if strings.HasPrefix(text, a.text) {
			return a, true
		}
	}
	return added{}, false
}
