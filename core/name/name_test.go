package name_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"assay/core/name"
	"assay/core/text"
)

func TestCheckID(t *testing.T) {
	for s, want := range map[string]name.Flaw{
		"acme/auto-coder:1.5": name.Sound, "größe": name.Sound, strings.Repeat("x", 256): name.Sound, "#": name.Sound,
		"": name.Empty, strings.Repeat("x", 257): name.TooLong, "a\xff": name.NotUTF8, "a\nb": name.LineEnd, "a\u2028": name.LineEnd, "a\x1cb": name.LineEnd,
		"a b": name.Blank, " a": name.Blank, "a\t": name.Blank, "a\u00a0b": name.Blank, "a\x1fb": name.Blank, "a\x00": name.Control, "\x1b[2J": name.Control, "a\u009bb": name.Control,
		"a\u200bb": name.Unseen, "\ufeffa": name.Unseen, "a\u202eb": name.Unseen,
	} {
		if got := name.CheckID(s); got != want {
			t.Errorf("CheckID(%q) = %q, want %q", s, got, want)
		}
	}
}

func FuzzCheckID(f *testing.F) {
	f.Add("acme/auto")
	f.Add("a\u2029b")
	f.Fuzz(func(t *testing.T, s string) {
		sound := name.CheckID(s) == name.Sound
		if sound && (!utf8.ValidString(s) || len(text.Fields(s)) != 1 || text.Fields(s)[0] != s || len(text.Lines(s)) != 1) {
			t.Errorf("%q passes and is not one word on one line of UTF-8", s)
		}
	})
}
