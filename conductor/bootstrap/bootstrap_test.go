package bootstrap_test

import (
	"math"
	"testing"

	"assay/conductor/bootstrap"

	"pgregory.net/rapid"
)

func TestNoNonceNoSeed(t *testing.T) {
	for name, s := range map[string]bootstrap.Seed{
		"zero": {}, "duel": bootstrap.OfDuel(""), "power gate": bootstrap.OfPowerGate(""),
	} {
		if _, ok := s.Value(); ok {
			t.Errorf("%s: an empty nonce gave a seed", name)
		}
	}
	duel, _ := bootstrap.OfDuel("n1").Value()
	gate, _ := bootstrap.OfPowerGate("n1").Value()
	if duel == gate {
		t.Error("the duel and the power gate of one window share a seed")
	}
}

// A resample is exactly the sum over the rows that Below would have drawn.
func TestResampleIsBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		values := rapid.SliceOfN(rapid.Float64Range(-1, 1), 0, 40).Draw(t, "values")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 9), len(values), len(values)).Draw(t, "sizes")
		one, two := bootstrap.From(seed), bootstrap.From(seed)
		for range 3 {
			want := 0.0
			for range values {
				want += values[two.Below(uint32(len(values)))]
			}
			if got := one.Resample(values); got != want {
				t.Fatalf("resample %v, want %v", got, want)
			}
			wantSum, wantMembers := 0.0, 0
			for range values {
				i := two.Below(uint32(len(values)))
				wantSum, wantMembers = wantSum+values[i], wantMembers+sizes[i]
			}
			if sum, members := one.ResampleGroups(values, sizes); sum != wantSum || members != wantMembers {
				t.Fatalf("groups %v of %d, want %v of %d", sum, members, wantSum, wantMembers)
			}
		}
	})
}

func TestPercentile(t *testing.T) {
	for _, tt := range []struct {
		in      []float64
		p, want float64
	}{
		{[]float64{7}, 0.05, 7},
		{[]float64{0, 1}, 0.25, 0.25},
		{[]float64{0, 1}, 0.75, 0.75},
		{[]float64{1, 2, 3, 4, 5}, 0.5, 3},
		{[]float64{1, 2, 3, 4, 5}, 1, 5},
		{[]float64{-3, -3, 4}, 0.05, -3},
		{[]float64{0, 10, 20, 30}, 0.05, 1.5},
	} {
		if got := bootstrap.Percentile(tt.in, tt.p); math.Abs(got-tt.want) > 1e-15*math.Max(1, tt.want) {
			t.Errorf("percentile %v of %v = %v, want %v", tt.p, tt.in, got, tt.want)
		}
	}
	if !math.IsNaN(bootstrap.Percentile(nil, 0.5)) {
		t.Error("the percentile of nothing is a number")
	}
}

// Sums of eighths are exact in every order, so the pairwise sum must equal the plain one at every length.
func TestSumVisitsEveryItemOnce(t *testing.T) {
	for n := range 700 {
		v, want := make([]float64, n), 0.0
		for i := range v {
			v[i] = float64(i*i%97) / 8
			want += v[i]
		}
		if got := bootstrap.Sum(v); got != want {
			t.Fatalf("sum of %d items = %v, want %v", n, got, want)
		}
	}
}

func TestDeviation(t *testing.T) {
	if got := bootstrap.Deviation([]float64{2, 4, 4, 4, 5, 5, 7, 9}); math.Abs(got-math.Sqrt(32.0/7)) > 1e-15 {
		t.Errorf("deviation %v", got)
	}
	for _, v := range [][]float64{nil, {3}, {3, 3, 3}} {
		if got := bootstrap.Deviation(v); got != 0 {
			t.Errorf("deviation of a constant %v", got)
		}
	}
}

func BenchmarkResample(b *testing.B) {
	values := make([]float64, 500)
	for i := range values {
		values[i] = float64(i)
	}
	src := bootstrap.From(7)
	b.ReportAllocs()
	for b.Loop() {
		src.Resample(values)
	}
}
