package decimal_test

import (
	"math"
	"testing"

	"assay/conductor/internal/decimal"
	"assay/conductor/profile"
)

func TestRead(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		s      string
		compat any // a number, or nil where it is refused
		strict any
	}{
		{"0.5", 0.5, 0.5}, {"-1e-3", -0.001, -0.001}, {"+2.", 2.0, 2.0}, {".5", .5, .5}, {"007", 7.0, 7.0},
		{" 0.5\u2003", 0.5, nil}, {"1_0.2_5", 10.25, nil}, {"\uff11\u0663", 13.0, nil}, {"\U0001d7d9", 1.0, nil}, {"1e400", inf, nil},
		{"inf", inf, nil}, {"-Infinity", -inf, nil}, {"+INF", inf, nil}, {"nan", nan, nil}, {"-NaN", nan, nil}, {"+nan", nan, nil},
		{"", nil, nil}, {" ", nil, nil}, {"_1", nil, nil}, {"1_", nil, nil}, {"1__0", nil, nil}, {"1_.5", nil, nil}, {"1._5", nil, nil},
		{"0x10", nil, nil}, {"1e", nil, nil}, {"--1", nil, nil}, {"+-inf", nil, nil}, {"--nan", nil, nil}, {"1 0", nil, nil}, {"free", nil, nil},
		{"1.2.3", nil, nil}, {"\x00", nil, nil}, {"1\xff", nil, nil}, {"\u00b2", nil, nil},
	} {
		for p, want := range map[profile.Profile]any{profile.Compat: c.compat, profile.Strict: c.strict} {
			got, ok := decimal.Read(c.s, p)
			w, wantOK := want.(float64)
			if ok != wantOK || ok && got != w && !(math.IsNaN(got) && math.IsNaN(w)) {
				t.Errorf("%v reads %q as %v, %v; want %v", p, c.s, got, ok, want)
			}
		}
	}
}

// Strict reads nothing that Compat refuses, reads it alike, and never anything that is not finite.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"1", "-0.0", "1e308", "1e309", " 1_0 ", "nan", "\u0663", "0x1p4", "+", "1e+_1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		strict, okS := decimal.Read(s, profile.Strict)
		compat, okC := decimal.Read(s, profile.Compat)
		if okS && (!okC || strict != compat || math.IsInf(strict, 0) || math.IsNaN(strict)) {
			t.Fatalf("%q: strict %v, compat %v %v", s, strict, compat, okC)
		}
	})
}
