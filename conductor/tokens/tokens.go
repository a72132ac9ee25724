// Package tokens counts the tokens of a text as the Conductor's own tokenizer would.
//
// Invariants:
//   - A count is right or there is none: a tokenizer with a part that is not read here is refused when it is loaded,
//     with the part's name.
//   - A Tokenizer is safe for concurrent use, and the same text always has the same count.
//   - Nothing a file or a text holds makes Load, Count or Encode panic or take memory beyond their bounds.
//
// Specification: docs/spec/tokens.md.
package tokens

import (
	"strings"
	"unicode/utf8"

	"assay/core/fault"
)

// The refusals of this room. A file that is no tokenizer at all is conductor.TokenizerBroken.
var (
	Unsupported = fault.NewCode("tokens.unsupported", fault.Invalid, "the tokenizer has a part that is not read here")
	FileTooLong = fault.NewCode("tokens.file_too_long", fault.TooLarge, "the tokenizer file is over its bound")
	TooSlow     = fault.NewCode("tokens.too_slow", fault.Exhausted, "the tokenizer's pattern takes too long on this text")
)

// Tokenizer is a byte-level pair encoder. Load makes it.
type Tokenizer struct {
	raw       matcher // added tokens that are found before normalization
	normal    matcher // added tokens that are found behind it
	normalize []form
	stages    []stage
	model     model
}

// Count returns how many tokens text has. Bytes that are not UTF-8 count as U+FFFD each. Should a pattern that is not
// one of the known ones run out of time, the count is the bytes of the text, normalized or not, whichever
// are more: never fewer than its tokens.
func (t *Tokenizer) Count(text string) int {
	s := sink{}
	if err := t.encode(text, &s); err == nil {
		return s.n
	}
	text = wellFormed(text)
	most := len(text)
	for _, f := range t.normalize {
		text = f.apply(text)
		most = max(most, len(text))
	}
	return most
}

// wellFormed returns text with each byte that is not UTF-8 as U+FFFD.
func wellFormed(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

// Encode returns the ids of text's tokens. No token is added at the ends.
func (t *Tokenizer) Encode(text string) ([]int, error) {
	s := sink{keep: true}
	if err := t.encode(text, &s); err != nil {
		return nil, err
	}
	return s.ids, nil
}

// Decode returns the bytes that ids stand for: of an encoded text, the text behind its normalization. Ids that the
// tokenizer does not have stand for nothing.
func (t *Tokenizer) Decode(ids []int) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(t.model.texts[id])
	}
	return b.String()
}

// sink takes the tokens of a text.
type sink struct {
	n    int
	ids  []int
	keep bool
	err  error
}

func (s *sink) one(id int) {
	s.n++
	if s.keep {
		s.ids = append(s.ids, id)
	}
}

func (s *sink) many(ids []int32) {
	s.n += len(ids)
	if s.keep {
		for _, id := range ids {
			s.ids = append(s.ids, int(id))
		}
	}
}

func (t *Tokenizer) encode(text string, s *sink) error {
	t.raw.split(wellFormed(text), s.one, func(plain string) {
		for _, f := range t.normalize {
			plain = f.apply(plain)
		}
		t.normal.split(plain, s.one, func(plain string) { t.pieces(plain, 0, s) })
	})
	return s.err
}

// pieces cuts text by the stages from i on and encodes what comes out of the last.
func (t *Tokenizer) pieces(text string, i int, s *sink) {
	if i == len(t.stages) {
		s.many(t.model.word(text))
		return
	}
	err := t.stages[i].cut(text, func(piece string) { t.pieces(piece, i+1, s) })
	if err != nil && s.err == nil {
		s.err = err
	}
}
