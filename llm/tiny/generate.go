package tiny

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"
)

// finish reasons.
const (
	finishStop   = "stop"
	finishLength = "length"
)

// spoken is one generated token with what the request wants to know of it.
type spoken struct {
	token int
	logp  float64
	top   []choice
}

// piece is text that is ready and the tokens that came with it. The concatenated texts of a reply are its whole text.
type piece struct {
	text   string
	tokens []spoken
}

// outcome is what a generation came to.
type outcome struct {
	finish string
	tokens int // generated ones, a stop sequence's included
}

// generate speaks after the prompt. It hands text to emit as soon as no stop sequence can take it back.
func (s *session) generate(ctx context.Context, p *params, emit func(piece) error) (outcome, error) {
	if err := s.start(ctx, p.prompt); err != nil {
		return outcome{}, err
	}
	a := assembler{stops: p.stops}
	pick := newSampler(p.temperature, p.topP, p.topK, p.seed)
	var tokens []spoken
	for n := 1; ; n++ {
		token := pick.pick(s.logits)
		if token < firstByte {
			return outcome{finishStop, n}, emit(piece{a.rest(), tokens})
		}
		if p.logprobs {
			t := spoken{token: token}
			t.logp, t.top = chances(s.logits, token, p.top)
			tokens = append(tokens, t)
		}
		text, stopped := a.add(byte(token - firstByte))
		switch {
		case stopped:
			return outcome{finishStop, n}, emit(piece{text, tokens[:max(0, len(tokens)-a.cut)]})
		case n == p.maxTokens:
			return outcome{finishLength, n}, emit(piece{text + a.rest(), tokens})
		case text != "":
			ready := max(0, len(tokens)-len(a.pending)) // a token is a byte
			if err := emit(piece{text, tokens[:ready]}); err != nil {
				return outcome{}, err
			}
			tokens = tokens[ready:]
		}
		if err := s.next(ctx, token); err != nil {
			return outcome{}, err
		}
	}
}

// assembler makes text of bytes. It holds back what may yet be the beginning of a stop sequence, or of a character.
type assembler struct {
	stops   []string
	pending []byte
	cut     int // bytes of the stop sequence that ended the text
}

// add takes a byte and returns the text that is ready, and whether a stop sequence ended it. That sequence is left out.
func (a *assembler) add(b byte) (string, bool) {
	a.pending = append(a.pending, b)
	keep := 0
	for _, s := range a.stops {
		if bytes.HasSuffix(a.pending, []byte(s)) {
			a.cut = len(s)
			text := valid(a.pending[:len(a.pending)-len(s)])
			a.pending = nil
			return text, true
		}
		for n := min(len(s)-1, len(a.pending)); n > keep; n-- {
			if bytes.HasSuffix(a.pending, []byte(s[:n])) {
				keep = n
			}
		}
	}
	return a.take(whole(a.pending[:len(a.pending)-keep])), false
}

// whole returns how many bytes of b end with a whole character; a broken one counts as whole.
func whole(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		tail := b[len(b)-n:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return len(b) - n
			}
			break
		}
	}
	return len(b)
}

func (a *assembler) take(n int) string {
	text := valid(a.pending[:n])
	a.pending = append(a.pending[:0], a.pending[n:]...)
	return text
}

// rest returns what was held back.
func (a *assembler) rest() string { return a.take(len(a.pending)) }

// valid returns b as UTF-8 text; a byte that is none becomes U+FFFD.
func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	for _, r := range string(b) {
		s.WriteRune(r)
	}
	return s.String()
}
