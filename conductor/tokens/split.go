package tokens

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// stage cuts a text into pieces before the model sees them.
type stage struct {
	by     splitter
	remove bool // matches are left out
	invert bool // what does not match counts as the match
}

// splitter finds the matches in a text and calls part for them and for what lies between, in order, none empty.
type splitter interface {
	split(text string, part func(piece string, match bool)) error
}

func (s stage) cut(text string, piece func(string)) error {
	return s.by.split(text, func(p string, match bool) {
		if !s.remove || match == s.invert {
			piece(p)
		}
	})
}

// literal matches one text.
type literal string

func (l literal) split(text string, part func(string, bool)) error {
	for {
		before, after, found := strings.Cut(text, string(l))
		if before != "" {
			part(before, false)
		}
		if !found {
			return nil
		}
		part(text[len(before):len(before)+len(l)], true)
		text = after
	}
}

// family is the shape that the patterns of the GPT-2, Llama 3 and Qwen tokenizers share. It is scanned by hand, in
// linear time and without a clock; tests compare it with the patterns themselves.
//
//	contraction            's 't 're 've 'm 'll 'd, in any case when fold
//	prefix? word+          prefix: a blank, or with wide any one character that is no letter, digit or line end
//	digit{1,digits}        or, when digits is 0, one blank and any number of digits
//	blank? other+ line*    line ends behind it only with wide
//	space* line+           only with wide
//	space+                 all but the last when something follows
type family struct {
	fold, wide bool
	marks      bool // combining marks belong to words
	digits     int
}

// families lists the patterns that are scanned by hand.
var families = map[string]family{
	gpt2Pattern: {},
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`:        {fold: true, wide: true, digits: 3},
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`:             {fold: true, wide: true, digits: 1},
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: {fold: true, wide: true, digits: 1, marks: true},
}

// gpt2Pattern is what a ByteLevel pre-tokenizer splits by when it is told to use its own.
const gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

func (f family) split(text string, part func(string, bool)) error {
	for len(text) > 0 {
		n := f.next(text)
		part(text[:n], true)
		text = text[n:]
	}
	return nil
}

// class is what a pattern knows of a character.
type class uint8

const (
	other class = iota
	word
	digit
	space
)

var asciiClass = func() (t [utf8.RuneSelf]class) {
	for r := range t {
		t[r] = slowClass(rune(r), false)
	}
	return t
}()

func slowClass(r rune, marks bool) class {
	switch {
	case unicode.IsLetter(r), marks && unicode.IsMark(r):
		return word
	case unicode.IsNumber(r):
		return digit
	case unicode.IsSpace(r):
		return space
	}
	return other
}

// first returns the class and the length of s's first character; -1 behind the end.
func (f family) first(s string) (class, int) {
	if s == "" {
		return 0, -1
	}
	if s[0] < utf8.RuneSelf {
		return asciiClass[s[0]], 1
	}
	r, n := utf8.DecodeRuneInString(s)
	return slowClass(r, f.marks), n
}

// run returns the length of the characters of class c that s begins with, at most most of them; 0 means no bound.
func (f family) run(s string, c class, most int) int {
	n := 0
	for count := 0; most == 0 || count < most; count++ {
		k, size := f.first(s[n:])
		if size < 0 || k != c {
			break
		}
		n += size
	}
	return n
}

func isLine(b byte) bool { return b == '\r' || b == '\n' }

// next returns the length of the piece that s, which is not empty, begins with.
func (f family) next(s string) int {
	if s[0] == '\'' {
		if n := f.contraction(s[1:]); n > 0 {
			return 1 + n
		}
	}
	c, size := f.first(s)
	if c == word {
		return f.run(s, word, 0)
	}
	if s[0] == ' ' || f.wide && c != digit && !isLine(s[0]) {
		if n := f.run(s[size:], word, 0); n > 0 {
			return size + n
		}
	}
	if c == digit {
		return f.run(s, digit, f.digits)
	}
	blank := 0
	if s[0] == ' ' {
		blank = 1
		if n := f.run(s[1:], digit, 0); n > 0 && f.digits == 0 {
			return 1 + n
		}
	}
	if n := f.run(s[blank:], other, 0); n > 0 {
		n += blank
		for f.wide && n < len(s) && isLine(s[n]) {
			n++
		}
		return n
	}
	return f.spaces(s)
}

// spaces returns the length of the piece that s, which begins with white space, begins with.
func (f family) spaces(s string) int {
	n := f.run(s, space, 0)
	if f.wide {
		if i := strings.LastIndexAny(s[:n], "\r\n"); i >= 0 {
			return i + 1
		}
	}
	if n == len(s) {
		return n
	}
	if _, last := utf8.DecodeLastRuneInString(s[:n]); last < n {
		return n - last
	}
	return n
}

// contraction returns the length of the ending that s begins with, 0 for none.
func (f family) contraction(s string) int {
	if s == "" {
		return 0
	}
	if f.fold && strings.HasPrefix(s, "ſ") {
		return len("ſ") // the long s is an s in another case
	}
	at := func(i int) byte {
		if i >= len(s) {
			return 0
		}
		if b := s[i]; f.fold && b >= 'A' && b <= 'Z' {
			return b + 'a' - 'A'
		}
		return s[i]
	}
	switch a, b := at(0), at(1); {
	case a == 's', a == 't', a == 'm', a == 'd':
		return 1
	case (a == 'r' || a == 'v') && b == 'e', a == 'l' && b == 'l':
		return 2
	}
	return 0
}
