package text_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"assay/core/text"
)

// lineEnds are the eleven terminators.
var lineEnds = []string{"\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\u0085", "\u2028", "\u2029"}

func TestElevenTerminatorsEndALine(t *testing.T) {
	for _, end := range lineEnds {
		want := []string{"a", "", "b"}
		if diff := cmp.Diff(want, text.Lines("a"+end+end+"b"+end)); diff != "" {
			t.Errorf("%q: %s", end, diff)
		}
	}
	for _, other := range []string{"\t", "\x1f", "\x00", " ", "\u200b", "\\n"} {
		if got := text.Lines("a" + other + "b"); len(got) != 1 {
			t.Errorf("%q ended a line: %q", other, got)
		}
	}
}

func TestLines(t *testing.T) {
	for s, want := range map[string][]string{
		"": nil, "\n": {""}, "a": {"a"}, "a\n": {"a"}, "\na": {"", "a"}, "a\r\n\rb": {"a", "", "b"}, "a\n\r": {"a", ""},
		"\xff\nb": {"\xff", "b"}, "a\r": {"a"},
	} {
		if diff := cmp.Diff(want, text.Lines(s)); diff != "" {
			t.Errorf("Lines(%q): %s", s, diff)
		}
	}
}

func TestLastLine(t *testing.T) {
	for s, want := range map[string]string{
		"": "", " \n\u2028 ": "", "a": "a", "a\n b \r\n\n \u00a0": "b", "a\u0085b": "b", "a\x1cb\x1f": "b", "a\xff\n\xffb": "\xffb", "a\xe2\u2029b": "b",
	} {
		if got := text.LastLine(s); got != want {
			t.Errorf("LastLine(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestWhiteSpaceIsUnicodesAndTheFourSeparators(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		want := unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
		if got := text.IsSpace(r); got != want {
			t.Fatalf("IsSpace(%U) = %v", r, got)
		}
	}
}

func TestTrimAndFields(t *testing.T) {
	s := "\x1f\u3000 a\u00a0b\x1c\tc \u2028"
	if got := text.Trim(s); got != "a\u00a0b\x1c\tc" {
		t.Errorf("Trim gave %q", got)
	}
	if got := text.TrimRight(s); got != "\x1f\u3000 a\u00a0b\x1c\tc" {
		t.Errorf("TrimRight gave %q", got)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, text.Fields(s)); diff != "" {
		t.Errorf("Fields: %s", diff)
	}
	word, rest := text.CutField(s)
	if word != "a" || rest != "\u00a0b\x1c\tc \u2028" {
		t.Errorf("CutField gave %q and %q", word, rest)
	}
	for _, blank := range []string{"", " \t\x1d"} {
		if word, rest := text.CutField(blank); word != "" || text.Trim(rest) != "" {
			t.Errorf("CutField(%q) = %q, %q", blank, word, rest)
		}
	}
}

func TestVerbsAreUpperCasedInFull(t *testing.T) {
	for _, c := range []struct {
		s, word     string
		full, ascii bool
	}{
		{"stop", "STOP", true, true}, {"StOp", "STOP", true, true}, {"ſtop", "STOP", true, false}, {"ﬆop", "STOP", true, false}, {"ﬅop", "STOP", true, false},
		{"stop.", "STOP", false, false}, {"sto", "STOP", false, false}, {"stopp", "STOP", false, false}, {"", "STOP", false, false}, {"", "", true, true},
		{"delegate", "DELEGATE", true, true}, {"dėlegate", "DELEGATE", false, false}, {"ﬀ", "FF", true, false}, {"ﬃ", "FFI", true, false}, {"ß", "SS", true, false},
		{"reaſon", "REASON", true, false}, {"STOP", "STOP", true, true}, {"\xffTOP", "STOP", false, false}, {"ı", "I", true, false},
	} {
		if got := text.EqualUpper(c.s, c.word); got != c.full {
			t.Errorf("EqualUpper(%q, %q) = %v", c.s, c.word, got)
		}
		if got := text.EqualUpperASCII(c.s, c.word); got != c.ascii {
			t.Errorf("EqualUpperASCII(%q, %q) = %v", c.s, c.word, got)
		}
	}
}

// Ten characters beyond ASCII have an upper case in ASCII letters; all others must match no verb.
func TestVerbTableAgainstEveryCharacter(t *testing.T) {
	want := map[rune]string{'ß': "SS", 'ı': "I", 'ſ': "S", 'ﬀ': "FF", 'ﬁ': "FI", 'ﬂ': "FL", 'ﬃ': "FFI", 'ﬄ': "FFL", 'ﬅ': "ST", 'ﬆ': "ST"}
	words := []string{"S", "SS", "FF", "FI", "FL", "FFI", "FFL", "ST"}
	for c := 'A'; c <= 'Z'; c++ {
		if c != 'S' {
			words = append(words, string(c))
		}
	}
	for r := rune(utf8.RuneSelf); r <= unicode.MaxRune; r++ {
		some := words
		if unicode.ToUpper(r) == r && want[r] == "" {
			some = words[:1] // no case at all
		}
		for _, w := range some {
			if got := text.EqualUpper(string(r), w); got != (want[r] == w) {
				t.Fatalf("EqualUpper(%U, %s) = %v", r, w, got)
			}
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add("a\r\nb\u2028c")
	f.Add("\x1c\x85\xff")
	f.Fuzz(func(t *testing.T, s string) {
		n := 0
		for _, l := range text.Lines(s) {
			if strings.ContainsFunc(l, text.IsLineEnd) {
				t.Errorf("a line of %q holds a terminator: %q", s, l)
			}
			at := strings.Index(s[n:], l)
			if at < 0 {
				t.Fatalf("a line of %q is not of it: %q", s, l)
			}
			n += at + len(l)
		}
		for _, w := range text.Fields(s) {
			if w == "" || strings.ContainsFunc(w, text.IsSpace) {
				t.Errorf("a word of %q: %q", s, w)
			}
		}
		word, rest := text.CutField(s)
		if fields := text.Fields(s); len(fields) > 0 && (word != fields[0] || !cmp.Equal(append([]string{word}, text.Fields(rest)...), fields)) {
			t.Errorf("CutField(%q) = %q, %q", s, word, rest)
		}
	})
}
