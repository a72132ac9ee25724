package text_test

import (
	"strings"
	"testing"

	"assay/core/text"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"mcq_acuracy", "mcq_accuracy", 1}, {strings.Repeat("x", 300), "x", 256}} {
		if got := text.Distance(c.a, c.b); got != c.want {
			t.Errorf("from %.20q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if text.Distance(c.a, c.b) != text.Distance(c.b, c.a) {
			t.Errorf("%.20q and %q: not symmetric", c.a, c.b)
		}
	}
}
