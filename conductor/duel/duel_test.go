package duel_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"assay/conductor"
	"assay/conductor/bootstrap"
	"assay/conductor/duel"
	"assay/conductor/score"
	"assay/core/fault"

	"github.com/google/go-cmp/cmp"
)

// free prices nothing, for benchmarks b00, b01, …
func free(pairs []duel.Pair) score.Exchange {
	e := score.Exchange{}
	for _, p := range pairs {
		e[p.Benchmark()] = score.Rate{Lam: 0, C: 1}
	}
	return e
}

func fill(n int, x float64) []float64 { return slices.Repeat([]float64{x}, n) }

func pair(t testing.TB, benchmark string, c duel.Columns) duel.Pair {
	t.Helper()
	n := len(c.KingQuality)
	if c.KingSpend == nil {
		c.KingSpend = fill(n, 0.125)
	}
	if c.ChallengerSpend == nil {
		c.ChallengerSpend = fill(n, 0.125)
	}
	p, err := duel.NewPair(benchmark, c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// uniform makes one benchmark of four equal tasks for each delta.
func uniform(t testing.TB, deltas ...float64) []duel.Pair {
	t.Helper()
	var pairs []duel.Pair
	for i, d := range deltas {
		pairs = append(pairs, pair(t, fmt.Sprintf("b%02d", i), duel.Columns{KingQuality: fill(4, 0), ChallengerQuality: fill(4, d)}))
	}
	return pairs
}

func run(t testing.TB, pairs []duel.Pair, e score.Exchange, set duel.Settings) duel.Result {
	t.Helper()
	r, err := duel.Run(pairs, e, set)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func refuses(t *testing.T, err error, want fault.Code) {
	t.Helper()
	if got := fault.Of(err); got != want {
		t.Errorf("refused as %q, want %q (%v)", got.Name(), want.Name(), err)
	}
}

func close4(got, want float64) bool { return math.Abs(got-want) < 5e-5 }

func repeat(n int, x float64) []float64 { return slices.Repeat([]float64{x}, n) }

func TestBehaviourD1toD6_Breadth(t *testing.T) {
	for _, tt := range []struct {
		name        string
		deltas      []float64
		eps         float64
		loo, median float64
		signP       float64
		refused     []string
	}{
		{"D1 two large wins of twelve", append(repeat(2, 0.315), repeat(10, 0)...), 0.05, 0.0286, 0, 0.9968, []string{"median"}},
		{"D2 one large win hides five losses", slices.Concat([]float64{0.9}, repeat(6, 0.01), repeat(5, -0.1)), 0.03, -0.04, 0.01, 0.3872, []string{"breadth"}},
		{"D3 the sign test does not decide", slices.Concat(repeat(8, 0.1), repeat(4, -0.04)), 0.05, 0.04909, 0.1, 0.1938, nil},
		{"D4 six against six", slices.Concat(repeat(6, 0.2), repeat(6, -0.01)), 0.05, 0.0855, 0.095, 0.6128, nil},
		{"D5 five of eleven", slices.Concat(repeat(5, 0.2), repeat(6, -0.01)), 0.05, 0.074, -0.01, 0.7256, []string{"median"}},
		{"D6 uniform below the margin", repeat(4, 0.03), 0.05, 0.03, 0.03, 0.0625, []string{"delta"}},
		{"D6 uniform above a smaller margin", repeat(4, 0.03), 0.02, 0.03, 0.03, 0.0625, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pairs := uniform(t, tt.deltas...)
			set := duel.Standard("n1")
			set.Eps = tt.eps
			r := run(t, pairs, free(pairs), set)
			if !close4(r.LOOMin, tt.loo) || !close4(r.Median, tt.median) || !close4(r.SignP, tt.signP) {
				t.Errorf("loo %v median %v sign %v, want %v %v %v", r.LOOMin, r.Median, r.SignP, tt.loo, tt.median, tt.signP)
			}
			if got := r.Conditions.Refused(); !slices.Equal(got, tt.refused) || r.Wins() != (tt.refused == nil) {
				t.Errorf("refused %v, want %v", got, tt.refused)
			}
		})
	}
}

func TestBehaviourD7_CopyOfTheKing(t *testing.T) {
	q, s := []float64{0.1, 0.7, 0.3, 1}, []float64{0.11, 0.07, 0.31, 0.2}
	var pairs []duel.Pair
	e := score.Exchange{}
	for _, b := range []string{"a", "b", "c"} {
		pairs = append(pairs, pair(t, b, duel.Columns{KingQuality: q, ChallengerQuality: q, KingSpend: s, ChallengerSpend: s}))
		e[b] = score.Rate{Lam: 0.37, C: 0.13}
	}
	r := run(t, pairs, e, duel.Standard("n1"))
	if r.Delta != 0 || r.LCB != 0 || len(r.Conditions.Refused()) != 4 {
		t.Errorf("a copy of the king: %+v", r)
	}
}

func TestBehaviourD8_SmallDeltasDoNotCountForBreadth(t *testing.T) {
	pairs := uniform(t, 0.25, 0.00390625, -0.00390625)
	r := run(t, pairs, free(pairs), duel.Standard("n1"))
	if r.Delta != 0.25/3 || r.Median != 0 || r.LOOMin != 0 || r.SignWins != 2 {
		t.Errorf("%+v", r)
	}
	for i, want := range []float64{0.25, 0, 0} {
		if r.ByBenchmark[i].Counted != want {
			t.Errorf("%s counts %v, want %v", r.ByBenchmark[i].Benchmark, r.ByBenchmark[i].Counted, want)
		}
	}
}

func TestBehaviourD9_SignTest(t *testing.T) {
	for _, tt := range []struct {
		deltas []float64
		wins   int
		p      float64
	}{
		{slices.Concat(repeat(7, 1), repeat(5, -1)), 7, 0.38721},
		{slices.Concat(repeat(9, 1), repeat(3, -1)), 9, 0.07300},
		{repeat(5, 0), 0, 1},
		{nil, 0, 1},
		{repeat(1000, 1), 1000, 0},
		{repeat(60, -1), 0, 1},
	} {
		if wins, p := duel.SignTest(tt.deltas); wins != tt.wins || !close4(p, tt.p) {
			t.Errorf("%d deltas: %d %v, want %d %v", len(tt.deltas), wins, p, tt.wins, tt.p)
		}
	}
}

func TestBehaviourD10_Refusals(t *testing.T) {
	two := uniform(t, 0.1, 0.2)
	for _, tt := range []struct {
		name  string
		pairs []duel.Pair
		e     score.Exchange
		want  fault.Code
	}{
		{"one benchmark", two[:1], free(two), conductor.Breadth},
		{"none", nil, free(two), conductor.Breadth},
		{"same benchmark twice", []duel.Pair{two[1], two[0], two[1]}, free(two), conductor.DuplicateBenchmark},
		{"a pair that nobody made", []duel.Pair{two[0], {}}, free(two), conductor.EmptyBenchmark},
		{"no rate", two, free(two[:1]), conductor.NoRate},
		{"a flagged benchmark", two, score.Exchange{"b00": {C: 1}, "b01": {C: 1, Flags: []score.Flag{score.Dominator}}}, conductor.AllExcluded},
		{"a rate that prices nothing", two, score.Exchange{"b00": {C: 1}, "b01": {}}, conductor.BadRate},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := duel.Run(tt.pairs, tt.e, duel.Standard("n1"))
			refuses(t, err, tt.want)
		})
	}
	for _, tt := range []struct {
		name string
		c    duel.Columns
		want fault.Code
	}{
		{"empty", duel.Columns{}, conductor.EmptyBenchmark},
		{"unequal lengths", duel.Columns{fill(3, 0), fill(3, 0), fill(3, 0), fill(2, 0), nil}, conductor.Misaligned},
		{"king shorter", duel.Columns{fill(2, 0), fill(3, 0), fill(3, 0), fill(3, 0), nil}, conductor.Misaligned},
		{"no number", duel.Columns{fill(2, 0), fill(2, 0), fill(2, math.NaN()), fill(2, 0), nil}, conductor.Misaligned},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := duel.NewPair("b", tt.c)
			refuses(t, err, tt.want)
		})
	}
	for _, set := range []duel.Settings{
		{Seed: bootstrap.Exactly(1), Eps: -0.1, Rounds: 10},
		{Seed: bootstrap.Exactly(1), Eps: math.NaN(), Rounds: 10},
		{Seed: bootstrap.Exactly(1), Eps: 0.05},
		{Seed: bootstrap.Exactly(1), Eps: 0.05, Rounds: 1_000_001},
	} {
		_, err := duel.Run(two, free(two), set)
		refuses(t, err, conductor.BadSettings)
	}
}

func TestBehaviourD11_Groups(t *testing.T) {
	c := duel.Columns{KingQuality: fill(4, 0), KingSpend: fill(4, 0), ChallengerQuality: []float64{1, 1, 0, 0}, ChallengerSpend: fill(4, 0)}
	for _, tt := range []struct {
		groups []string
		want   fault.Code
	}{
		{[]string{"g", "g", "h"}, conductor.MisalignedGroups},
		{[]string{"g", "g", "h", ""}, conductor.PartialGroups},
	} {
		c.Groups = tt.groups
		_, err := duel.NewPair("b", c)
		refuses(t, err, tt.want)
	}
	// Two groups, one all won and one all lost: a resample of whole groups can only be 0, 1/2 or 1. The noise of one
	// benchmark is then that of two coins, and of four when the same tasks stand alone.
	noise := func(groups []string) float64 {
		c.Groups = groups
		pairs := []duel.Pair{pair(t, "a", c), pair(t, "b", c)}
		return run(t, pairs, free(pairs), duel.Standard("n1")).ByBenchmark[0].NoiseFloor
	}
	whole, alone := noise([]string{"g", "g", "h", "h"}), noise(nil)
	if math.Abs(whole-math.Sqrt(0.125)) > 0.02 || math.Abs(alone-math.Sqrt(0.0625)) > 0.02 {
		t.Errorf("noise %v by groups, %v by tasks", whole, alone)
	}
	if got := noise([]string{"", "", "", ""}); got != alone {
		t.Errorf("no labels at all: noise %v, want %v", got, alone)
	}
}

func TestBehaviourD12andD13_OrderAndNonce(t *testing.T) {
	pairs, e := noisy(t, 40)
	want := run(t, pairs, e, duel.Standard("n1"))
	turned := slices.Clone(pairs)
	slices.Reverse(turned)
	if diff := cmp.Diff(want, run(t, turned, e, duel.Standard("n1"))); diff != "" {
		t.Errorf("D12 the order of benchmarks changed a number:\n%s", diff)
	}
	if diff := cmp.Diff(want, run(t, pairs, e, duel.Standard("n1"))); diff != "" {
		t.Errorf("D13 the same nonce gave another verdict:\n%s", diff)
	}
	if other := run(t, pairs, e, duel.Standard("n2")); other.LCB == want.LCB || other.Delta != want.Delta {
		t.Errorf("another nonce moves the bound and nothing else: %+v", other)
	}
}

func TestBehaviourD14_NoSeed(t *testing.T) {
	pairs := uniform(t, 0.1, 0.2)
	for _, set := range []duel.Settings{duel.Standard(""), {Eps: 0.05, Rounds: 10}} {
		_, err := duel.Run(pairs, free(pairs), set)
		refuses(t, err, conductor.NoSeed)
	}
}

func TestBehaviourD15_SpendCostsQuality(t *testing.T) {
	var pairs []duel.Pair
	e := score.Exchange{}
	for _, b := range []string{"a", "b"} {
		pairs = append(pairs, pair(t, b, duel.Columns{KingQuality: fill(4, 0.5), ChallengerQuality: fill(4, 0.5), ChallengerSpend: fill(4, 0.375)}))
		e[b] = score.Rate{Lam: 0.5, C: 0.25}
	}
	if r := run(t, pairs, e, duel.Standard("n1")); r.Delta != -0.5 {
		t.Errorf("equal quality for 0.25 dollars more: delta %v, want -0.5", r.Delta)
	}
}

func TestBehaviourD16_EveryInequalityIsStrict(t *testing.T) {
	for _, tt := range []struct {
		name   string
		deltas []float64
		eps    float64
		want   []string
	}{
		{"delta equals eps", repeat(3, 0.0625), 0.0625, []string{"delta"}},
		{"lcb is zero", repeat(2, 0), 0, []string{"delta", "lcb", "breadth", "median"}},
		{"loo_min is zero", []float64{0.5, 0}, 0.05, []string{"breadth"}},
		{"median is zero", []float64{0.5, 0.25, 0, 0, -0.0625}, 0.05, []string{"median"}},
		{"just above", repeat(3, 0.0625), 0.0624, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pairs := uniform(t, tt.deltas...)
			set := duel.Standard("n1")
			set.Eps = tt.eps
			if r := run(t, pairs, free(pairs), set); !slices.Equal(r.Conditions.Refused(), tt.want) {
				t.Errorf("refused %v, want %v: %+v", r.Conditions.Refused(), tt.want, r)
			}
		})
	}
}

// Ten and eight noisy tasks in four groups under nonce n1, held against the twin that follows the rule word by word.
func TestBehaviourD17_NoisyGroups(t *testing.T) {
	labels := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = "g" + strconv.Itoa(i%4)
		}
		return out
	}
	alpha := duel.Columns{
		KingQuality: []float64{0, 0.5, 1, 0.25, 0, 0.75, 0.5, 0, 1, 0.25}, KingSpend: fill(10, 0.1),
		ChallengerQuality: []float64{0.5, 0.5, 1, 0.75, 0.25, 1, 0.5, 0.25, 1, 0.75}, ChallengerSpend: fill(10, 0.12), Groups: labels(10),
	}
	beta := duel.Columns{
		KingQuality: []float64{0.5, 0, 0.25, 1, 0, 0.5, 0.75, 0}, KingSpend: fill(8, 0.2),
		ChallengerQuality: []float64{0.75, 0.25, 0.5, 1, 0, 0.75, 1, 0.5}, ChallengerSpend: fill(8, 0.15), Groups: labels(8),
	}
	e := score.Exchange{"alpha": {Lam: 0.2, C: 0.15}, "beta": {Lam: 0.3, C: 0.18}}
	r := run(t, []duel.Pair{pair(t, "beta", beta), pair(t, "alpha", alpha)}, e, duel.Standard("n1"))
	seed, _ := bootstrap.OfDuel("n1").Value()
	lcb, noise := twin([]duel.Columns{alpha, beta}, []score.Rate{e["alpha"], e["beta"]}, duel.Rounds, seed)
	if !near(r.LCB, lcb) || !near(r.ByBenchmark[0].NoiseFloor, noise[0]) || !near(r.ByBenchmark[1].NoiseFloor, noise[1]) {
		t.Errorf("bound %v, twin %v; %+v", r.LCB, lcb, r)
	}
	if !r.Wins() {
		t.Errorf("%+v", r)
	}
}

// near is equality of floats up to the order of their sums.
func near(got, want float64) bool {
	return math.Abs(got-want) <= 1e-12*math.Max(1, math.Abs(want))
}
