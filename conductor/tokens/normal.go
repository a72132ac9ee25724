package tokens

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// form is one of the four normalization forms.
type form norm.Form

var forms = map[string]form{
	"NFC": form(norm.NFC), "NFD": form(norm.NFD), "NFKC": form(norm.NFKC), "NFKD": form(norm.NFKD),
}

// apply normalizes s. The library cuts a run of more than thirty combining marks in two with a joiner; tokenizers do
// not, so texts that might hold such a run are normalized here.
func (f form) apply(s string) string {
	if ascii(s) {
		return s
	}
	if !longRun(s) {
		return norm.Form(f).String(s)
	}
	return f.slowly(s)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// longRun reports whether s may hold more than thirty combining marks in a row, once decomposed. One character
// decomposes to four marks at most.
func longRun(s string) bool {
	run := 0
	for i, r := range s {
		if r < utf8.RuneSelf || r >= 0xac00 && r <= 0xd7a3 {
			run = 0 // ASCII and Hangul syllables hold no marks
			continue
		}
		p := norm.NFKD.PropertiesString(s[i:])
		if p.CCC() == 0 && p.Decomposition() == nil {
			run = 0
			continue
		}
		if run++; run > 7 {
			return true
		}
	}
	return false
}

func (f form) slowly(s string) string {
	decompose, compose := norm.NFD, f == form(norm.NFC) || f == form(norm.NFKC)
	if f == form(norm.NFKC) || f == form(norm.NFKD) {
		decompose = norm.NFKD
	}
	type char struct {
		r   rune
		ccc uint8
	}
	var chars []char
	for _, r := range s {
		for _, d := range decompose.String(string(r)) {
			chars = append(chars, char{d, norm.NFD.PropertiesString(string(d)).CCC()})
		}
	}
	for i := 0; i < len(chars); { // marks go by their class, each class in the order of the text
		j := i
		for j < len(chars) && chars[j].ccc != 0 {
			j++
		}
		slices.SortStableFunc(chars[i:j], func(a, b char) int { return int(a.ccc) - int(b.ccc) })
		i = j + 1
	}
	out := chars[:0:0]
	starter := -1
	for _, c := range chars {
		if last := len(out) - 1; compose && starter >= 0 && (last == starter || out[last].ccc != 0 && out[last].ccc < c.ccc) {
			if r, ok := composed(out[starter].r, c.r); ok {
				out[starter].r = r
				continue
			}
		}
		if c.ccc == 0 {
			starter = len(out)
		}
		out = append(out, c)
	}
	b := make([]byte, 0, len(s))
	for _, c := range out {
		b = utf8.AppendRune(b, c.r)
	}
	return string(b)
}

// composed returns the character that a and b compose to.
func composed(a, b rune) (rune, bool) {
	s := norm.NFC.String(string([]rune{a, b}))
	r, n := utf8.DecodeRuneInString(s)
	return r, n == len(s)
}
