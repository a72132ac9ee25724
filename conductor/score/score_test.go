package score_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"assay/conductor"
	"assay/conductor/ending"
	"assay/conductor/score"
	"assay/core/fault"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// arm makes n equal rows of each benchmark.
func arm(n int, lines ...score.Line) []score.Row {
	var rows []score.Row
	for _, l := range lines {
		for i := range n {
			rows = append(rows, score.Row{
				TaskID: l.Benchmark + "-" + strconv.Itoa(i), Benchmark: l.Benchmark,
				Score: l.Quality, Spend: l.Spend, Ending: ending.Stop,
			})
		}
	}
	return rows
}

func line(benchmark string, quality, spend float64) score.Line {
	return score.Line{Benchmark: benchmark, Quality: quality, Spend: spend}
}

// The worked example: two benchmarks, a cheap and a dear reference arm.
func references() (cheapest, top []score.Row) {
	return arm(6, line("TB", 0.5, 0.02), line("CG", 0.25, 0.1)), arm(6, line("TB", 0.82, 0.2), line("CG", 0.75, 0.4))
}

func fitted(t *testing.T) score.Exchange {
	t.Helper()
	cheapest, top := references()
	e, err := score.Fit(cheapest, top)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func card(t *testing.T, rows []score.Row, e score.Exchange) score.Card {
	t.Helper()
	c, err := score.Of(rows, e)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func refuses(t *testing.T, err error, want fault.Code) {
	t.Helper()
	if got := fault.Of(err); got != want {
		t.Errorf("refused as %q, want %q (%v)", got.Name(), want.Name(), err)
	}
}

func TestBehaviourC1toC7_ExchangeRate(t *testing.T) {
	e := fitted(t)
	t.Run("C1 C is the mean spend over both arms", func(t *testing.T) {
		if !near(e["TB"].C, 0.11) || !near(e["CG"].C, 0.25) {
			t.Errorf("C %v %v", e["TB"].C, e["CG"].C)
		}
		uneven, err := score.Fit(arm(3, line("TB", 0, 0.1)), arm(1, line("TB", 1, 0.5)))
		if err != nil || !near(uneven["TB"].C, 0.2) {
			t.Errorf("arms of unequal size pool their tasks: %v %v", uneven, err)
		}
	})
	t.Run("C2 lambda makes the reference arms tie", func(t *testing.T) {
		if !near(e["TB"].Lam, 0.32*0.11/0.18) || !near(e["CG"].Lam, 0.5*0.25/0.3) {
			t.Errorf("lambda %v %v", e["TB"].Lam, e["CG"].Lam)
		}
		cheapest, top := references()
		a, b := card(t, cheapest, e), card(t, top, e)
		for i := range a.Lines {
			if !near(a.Lines[i].Final, b.Lines[i].Final) {
				t.Errorf("%s: %v against %v", a.Lines[i].Benchmark, a.Lines[i].Final, b.Lines[i].Final)
			}
		}
	})
	t.Run("C3 lambda is not clamped and midway ties too", func(t *testing.T) {
		steep, err := score.Fit(arm(2, line("TB", 0, 1)), arm(2, line("TB", 1, 1.06)))
		if err != nil || steep["TB"].Lam < 15 {
			t.Errorf("lambda %v %v", steep, err)
		}
		cheapest, _ := references()
		middle := arm(6, line("TB", 0.66, 0.11), line("CG", 0.5, 0.25))
		if a, b := card(t, cheapest, e), card(t, middle, e); !near(a.Final, b.Final) {
			t.Errorf("midway scores %v, the ends %v", b.Final, a.Final)
		}
	})
	for _, tt := range []struct {
		name      string
		low, high score.Line
		flags     []score.Flag
	}{
		{"C4 spends under five per cent apart", line("TB", 0.2, 1), line("TB", 0.9, 1.05), []score.Flag{score.LambdaUndefined}},
		{"C4 spends over five per cent apart", line("TB", 0.2, 1), line("TB", 0.9, 1.06), nil},
		{"C4 the better arm is cheaper", line("TB", 0.2, 1), line("TB", 0.9, 0.5), []score.Flag{score.LambdaUndefined}},
		{"C5 the dear arm is no better", line("TB", 0.4, 1), line("TB", 0.4, 2), []score.Flag{score.Dominator}},
		{"C5 both", line("TB", 0.4, 1), line("TB", 0.3, 1), []score.Flag{score.LambdaUndefined, score.Dominator}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := score.Fit(arm(4, tt.low), arm(4, tt.high))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.flags, e["TB"].Flags); diff != "" {
				t.Error(diff)
			}
			if e["TB"].Excluded() && e["TB"].Lam != 0 {
				t.Errorf("a flagged rate keeps lambda %v", e["TB"].Lam)
			}
		})
	}
	t.Run("C6 benchmark in one arm only", func(t *testing.T) {
		for _, b := range []string{"CG", "AA"} {
			_, err := score.Fit(arm(1, line("TB", 0, 1)), arm(1, line("TB", 1, 2), line(b, 1, 1)))
			refuses(t, err, conductor.OneArmOnly)
		}
	})
	t.Run("C7 nothing was spent", func(t *testing.T) {
		_, err := score.Fit(arm(1, line("TB", 0, 0)), arm(1, line("TB", 1, 0)))
		refuses(t, err, conductor.NoReferenceCost)
	})
}

func TestBehaviourC8toC13_Card(t *testing.T) {
	e := score.Exchange{"a": {Lam: 0.5, C: 2}, "b": {Lam: 0, C: 1}, "dead": {C: 1, Flags: []score.Flag{score.Dominator}}}
	t.Run("C8 benchmarks weigh the same", func(t *testing.T) {
		rows := append(arm(100, line("a", 1, 1)), arm(1, line("b", 0, 7))...)
		want := score.Card{Quality: 0.5, Final: 0.375, Lines: []score.Line{
			{Benchmark: "a", N: 100, Quality: 1, Spend: 1, Final: 0.75}, {Benchmark: "b", N: 1, Spend: 7},
		}}
		if diff := cmp.Diff(want, card(t, rows, e)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("C9 no rate is no silent zero", func(t *testing.T) {
		_, err := score.Of(arm(1, line("a", 1, 1), line("other", 1, 1)), e)
		refuses(t, err, conductor.NoRate)
	})
	t.Run("C10 all excluded", func(t *testing.T) {
		_, err := score.Of(arm(1, line("dead", 1, 1)), e)
		refuses(t, err, conductor.AllExcluded)
	})
	t.Run("C11 no episodes", func(t *testing.T) {
		_, err := score.Of(nil, e)
		refuses(t, err, conductor.NoEpisodes)
	})
	t.Run("C12 nothing spent and nothing scored is exactly zero", func(t *testing.T) {
		if c := card(t, arm(7, line("a", 0, 0), line("b", 0, 0)), e); c.Final != 0 {
			t.Errorf("final %v", c.Final)
		}
	})
	t.Run("C13 a benchmark on which spending buys nothing gives no free floor", func(t *testing.T) {
		honest := arm(6, line("a", 0.5, 1), line("dead", 0, 1))
		idle := arm(6, line("a", 0.5, 1), line("dead", 0, 0))
		priced := score.Exchange{"a": e["a"], "dead": {Lam: 1.0 / 6, C: 1}}
		if gain := card(t, idle, priced).Final - card(t, honest, priced).Final; !near(gain, 1.0/12) {
			t.Errorf("the attack is worth %v without the flag", gain)
		}
		if gain := card(t, idle, e).Final - card(t, honest, e).Final; gain != 0 {
			t.Errorf("the attack is worth %v with the flag", gain)
		}
	})
	for name, tt := range map[string]struct {
		row  score.Row
		rate score.Rate
		want fault.Code
	}{
		"score over one":     {score.Row{Benchmark: "a", Score: 1.5}, e["a"], conductor.BadGrade},
		"score not a number": {score.Row{Benchmark: "a", Score: math.NaN()}, e["a"], conductor.BadGrade},
		"negative spend":     {score.Row{Benchmark: "a", Spend: -1}, e["a"], conductor.BadCost},
		"endless spend":      {score.Row{Benchmark: "a", Spend: math.Inf(1)}, e["a"], conductor.BadCost},
		"rate without cost":  {score.Row{Benchmark: "a"}, score.Rate{Lam: 1}, conductor.BadRate},
		"rate pays spending": {score.Row{Benchmark: "a"}, score.Rate{Lam: -1, C: 1}, conductor.BadRate},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := score.Of([]score.Row{tt.row}, score.Exchange{"a": tt.rate})
			refuses(t, err, tt.want)
		})
	}
}

func TestBehaviourC14_Ceiling(t *testing.T) {
	e := score.Exchange{"a": {Lam: 0.5, C: 1}, "b": {Lam: 0.5, C: 1}, "dead": {C: 1, Flags: []score.Flag{score.Dominator}}}
	var slice []score.Task
	for _, r := range arm(4, line("a", 0, 0), line("b", 0, 0), line("dead", 0, 0)) {
		slice = append(slice, score.Task{ID: r.TaskID, Benchmark: r.Benchmark})
	}
	for _, tt := range []struct {
		name     string
		observed []score.Row
		excluded []string
		want     float64
	}{
		{"nothing run", nil, nil, 1},
		{"half of one benchmark lost", arm(2, line("a", 0, 0)), nil, 0.75},
		{"half of both lost", arm(2, line("a", 0, 0), line("b", 0, 0)), nil, 0.5},
		{"spend counts over the whole slice", arm(2, line("a", 1, 1)), nil, 0.875},
		{"a flagged benchmark moves nothing", arm(4, line("dead", 0, 9)), nil, 1},
		{"excluded ids leave both sides", arm(2, line("a", 0, 0)), []string{"a-0", "a-1", "b-3"}, 1},
		{"an excluded row of three", arm(3, line("a", 0, 0)), []string{"a-0"}, (1.0/3 + 1) / 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := score.Ceiling(tt.observed, slice, e, tt.excluded)
			if err != nil || !near(got, tt.want) {
				t.Errorf("ceiling %v %v, want %v", got, err, tt.want)
			}
		})
	}
	_, err := score.Ceiling(arm(5, line("a", 0, 0)), slice, e, nil)
	refuses(t, err, conductor.Overfull)
	_, err = score.Ceiling(arm(4, line("a", 0, 0)), slice, e, []string{"b-0", "a-9"})
	if err != nil {
		t.Errorf("a full benchmark is not overfull: %v", err)
	}
}

func TestBehaviourF6_KingZero(t *testing.T) {
	low, high := arm(2, line("TB", 0.2, 0.1)), arm(2, line("TB", 0.8, 0.9))
	for _, tt := range []struct {
		name string
		also map[string][]score.Row
		want string
	}{
		{"the extremes alone", nil, score.Strongest},
		{"best raw quality", map[string][]score.Row{"cascade": arm(2, line("TB", 0.9, 5))}, "cascade"},
		{"tie by spend", map[string][]score.Row{"zz": arm(2, line("TB", 0.8, 0.5))}, "zz"},
		{"full tie by name", map[string][]score.Row{"aa": high}, "aa"},
		{"full tie with a later name", map[string][]score.Row{"zz": high}, score.Strongest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			arms := map[string][]score.Row{score.Cheapest: low, score.Strongest: high}
			for name, rows := range tt.also {
				arms[name] = rows
			}
			pool, err := score.FitPool(arms)
			if err != nil || pool.KingZero != tt.want || pool.Top != tt.want || pool.Floor != score.Cheapest {
				t.Errorf("%+v %v, want %s", pool, err, tt.want)
			}
		})
	}
	for _, missing := range []string{score.Cheapest, score.Strongest} {
		arms := map[string][]score.Row{score.Cheapest: low, score.Strongest: high, "cascade": high}
		delete(arms, missing)
		_, err := score.FitPool(arms)
		refuses(t, err, conductor.MissingExtreme)
	}
}

func TestBehaviourF7_Contrast(t *testing.T) {
	arms := map[string][]score.Row{score.Cheapest: nil, score.Strongest: nil, "cascade": nil}
	for king, want := range map[string]string{
		score.Cheapest: score.Strongest, score.Strongest: score.Cheapest, "cascade": score.Cheapest,
	} {
		if got, err := score.Contrast(arms, king); err != nil || got != want {
			t.Errorf("contrast of %s is %s %v, want %s", king, got, err, want)
		}
	}
	_, err := score.Contrast(arms, "nobody")
	refuses(t, err, conductor.BadPolicy)
	pool, err := score.FitPool(map[string][]score.Row{
		score.Cheapest: arm(2, line("TB", 0.9, 0.1)), score.Strongest: arm(2, line("TB", 0.5, 0.9)),
	})
	if err != nil || pool.KingZero != score.Cheapest || pool.Top != score.Strongest || !pool.Exchange["TB"].Excluded() {
		t.Errorf("a cheapest king is fitted against the strongest arm: %+v %v", pool, err)
	}
}

// Five of ten tasks without a score must not turn 0.80 into a better mean than 0.55.
func TestFault71_UnscoredRowsStayInTheDenominator(t *testing.T) {
	e := score.Exchange{"a": {Lam: 0, C: 1}}
	full := arm(10, line("a", 0.55, 0.1))
	half := append(arm(5, line("a", 0.8, 0.1)), arm(5, line("a", 0, 0))...)
	for i := range half[5:] {
		half[5+i].Ending = ending.BudgetExhausted
	}
	a, b := card(t, full, e), card(t, half, e)
	if b.Lines[0].N != 10 || !near(b.Final, 0.4) || b.Final >= a.Final {
		t.Errorf("half an arm scores %+v against %+v", b, a)
	}
}

func genRows(t *rapid.T) []score.Row {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) score.Row {
		return score.Row{
			Benchmark: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "benchmark"),
			Score:     rapid.Float64Range(0, 1).Draw(t, "score"),
			Spend:     rapid.Float64Range(0, 3).Draw(t, "spend"),
		}
	}), 1, 40).Draw(t, "rows")
}

func TestRowOrderNeverChangesABit(t *testing.T) {
	e := score.Exchange{"a": {Lam: 0.3, C: 0.7}, "b": {Lam: 0, C: 1}, "c": {Lam: 4, C: 0.1}}
	rapid.Check(t, func(t *rapid.T) {
		rows := genRows(t)
		want, err := score.Of(rows, e)
		if err != nil {
			t.Fatal(err)
		}
		shuffled := rapid.Permutation(rows).Draw(t, "shuffled")
		got, err := score.Of(shuffled, e)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatal(diff, err)
		}
	})
}

// Finishing the slice never lifts an arm above the ceiling it had on the way.
func TestCeilingBoundsTheFinal(t *testing.T) {
	e := score.Exchange{"a": {Lam: 0.3, C: 0.7}, "b": {Lam: 0, C: 1}, "c": {Lam: 4, C: 0.1}}
	rapid.Check(t, func(t *rapid.T) {
		rows := genRows(t)
		slice := make([]score.Task, len(rows))
		for i := range rows {
			rows[i].TaskID = strconv.Itoa(i)
			slice[i] = score.Task{ID: rows[i].TaskID, Benchmark: rows[i].Benchmark}
		}
		final, err := score.Of(rows, e)
		if err != nil {
			t.Fatal(err)
		}
		last := math.Inf(1)
		for n := range len(rows) + 1 {
			ceiling, err := score.Ceiling(rows[:n], slice, e, nil)
			if err != nil || ceiling > last+1e-12 || ceiling < final.Final-1e-12 {
				t.Fatalf("after %d rows the ceiling is %v %v, before %v, final %v", n, ceiling, err, last, final.Final)
			}
			last = ceiling
		}
		if !near(last, final.Final) {
			t.Fatalf("the ceiling of a finished arm is %v, its final %v", last, final.Final)
		}
	})
}

// The exact sum equals a sum in arithmetic of unlimited precision, rounded once.
func TestSumIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOf(rapid.Float64Range(-1e18, 1e18)).Draw(t, "v")
		if rapid.Bool().Draw(t, "near halves") {
			v = append(v, 1, math.Ldexp(1, -53), math.Ldexp(float64(rapid.IntRange(-1, 1).Draw(t, "tail")), -90))
		}
		exact := new(big.Rat)
		for _, x := range v {
			exact.Add(exact, new(big.Rat).SetFloat64(x))
		}
		want, _ := exact.Float64()
		if got := score.Sum(v); got != want {
			t.Fatalf("sum %v, want %v", got, want)
		}
	})
}

func BenchmarkCardOfThousandRows(b *testing.B) {
	e := score.Exchange{"a": {Lam: 0.3, C: 0.7}, "b": {Lam: 0, C: 1}}
	r := rand.New(rand.NewPCG(1, 2))
	rows := arm(500, line("a", 0, 0), line("b", 0, 0))
	for i := range rows {
		rows[i].Score, rows[i].Spend = r.Float64(), r.Float64()
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := score.Of(rows, e); err != nil {
			b.Fatal(err)
		}
	}
}

// near is equality of floats up to the order of their sums.
func near(got, want float64) bool {
	return math.Abs(got-want) <= 1e-12*math.Max(1, math.Abs(want))
}
