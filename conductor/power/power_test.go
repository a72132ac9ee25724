package power_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"assay/conductor"
	"assay/conductor/bootstrap"
	"assay/conductor/duel"
	"assay/conductor/power"
	"assay/conductor/score"
	"assay/core/fault"

	"pgregory.net/rapid"
)

// coin is a number in [0, 1) that depends on the stream alone.
func coin(src *bootstrap.Source) float64 { return float64(src.Below(1<<20)) / (1 << 20) }

// arms plays two arms of independent coins over n tasks of each benchmark: right with the given chances.
func arms(src *bootstrap.Source, benchmarks, n int, king, challenger float64, group int) (k, c []score.Row) {
	for b := range benchmarks {
		for i := range n {
			r := score.Row{TaskID: fmt.Sprintf("%d-%d", b, i), Benchmark: fmt.Sprintf("bench-%02d", b), Spend: .01}
			if group > 0 {
				r.Group = fmt.Sprint(i / group)
			}
			one, other := r, r
			if coin(src) < king {
				one.Score = 1
			}
			if coin(src) < challenger {
				other.Score = 1
			}
			k, c = append(k, one), append(c, other)
		}
	}
	return k, c
}

func free(benchmarks int) score.Exchange {
	e := score.Exchange{}
	for b := range benchmarks {
		e[fmt.Sprintf("bench-%02d", b)] = score.Rate{Lam: 0, C: 1}
	}
	return e
}

func measured(t testing.TB, benchmarks, n int, king, challenger float64) []power.Noise {
	t.Helper()
	src := bootstrap.From(5)
	k, c := arms(&src, benchmarks, n, king, challenger, 0)
	noise, err := power.Measure(k, c, free(benchmarks))
	if err != nil {
		t.Fatal(err)
	}
	return noise
}

func TestNoiseIsTheDeviationOfTheDifference(t *testing.T) {
	rows := func(scores, spends []float64) (out []score.Row) {
		for i, s := range scores {
			out = append(out, score.Row{TaskID: fmt.Sprint(i), Benchmark: []string{"b", "a", "x"}[i%3], Score: s, Spend: spends[i]})
		}
		return out
	}
	king := rows([]float64{0, 1, 0, 1, 0, 1}, []float64{1, 1, 1, 1, 1, 1})
	challenger := rows([]float64{1, 1, 1, 1, 0, 1}, []float64{1, 3, 1, 1, 1, 1})
	noise, err := power.Measure(king, challenger, score.Exchange{
		"a": {Lam: .5, C: 2}, "b": {Lam: 0, C: 1}, "x": {Flags: []score.Flag{score.Dominator}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(noise) != 2 || noise[0].Benchmark != "a" || noise[1].Benchmark != "b" {
		t.Fatalf("%+v", noise)
	}
	// Of a the differences are -0.5 (two dollars dearer at 0.25 a dollar) and 0, of b 1 and 0.
	for i, want := range []float64{.5 / math.Sqrt2, 1 / math.Sqrt2} {
		if math.Abs(noise[i].Deviation-want) > 1e-12 {
			t.Errorf("%s: deviation %v, want %v", noise[i].Benchmark, noise[i].Deviation, want)
		}
	}
}

func TestWhatCannotBeMeasuredIsRefused(t *testing.T) {
	src := bootstrap.From(1)
	k, c := arms(&src, 2, 5, .5, .5, 0)
	bad := slices.Clone(c)
	bad[3].TaskID = bad[4].TaskID
	for name, tt := range map[string]struct {
		king, challenger []score.Row
		exchange         score.Exchange
		want             fault.Code
	}{
		"no rate":       {k, c, score.Exchange{}, conductor.NoRate},
		"one benchmark": {k[:5], c[:5], free(1), conductor.Breadth},
		"one task":      {k[:6], c[:6], free(2), conductor.TooFewTasks},
		"a task twice":  {k, bad, free(2), conductor.DuplicateTask},
	} {
		if _, err := power.Measure(tt.king, tt.challenger, tt.exchange); fault.Of(err) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	noise := measured(t, 2, 50, .5, .5)
	if _, err := power.Simulate(noise, []int{50, 1}, 10); fault.Of(err) != conductor.TooFewTasks {
		t.Errorf("a slice of one task: %v", err)
	}
	if _, err := power.Simulate(noise[:1], []int{50}, 10); fault.Of(err) != conductor.Breadth {
		t.Errorf("a slice of one benchmark: %v", err)
	}
	for _, delta := range []float64{math.NaN(), -1, duel.Eps, duel.Eps + 1e-6} {
		if _, err := power.SizeFor(noise, delta); fault.Of(err) != conductor.Unresolvable {
			t.Errorf("delta %v: %v", delta, err)
		}
	}
}

// The margin asks for 0.05, and luck takes 1.28 standard deviations of the mean in one window of ten: with many benchmarks
// nothing else binds, so formula and simulation agree.
func TestSimulationAgreesWithTheFormula(t *testing.T) {
	noise := measured(t, 6, 400, .5, .6)
	for _, n := range []int{40, 125, 400} {
		sizes := slices.Repeat([]int{n}, len(noise))
		curve, err := power.Simulate(noise, sizes, power.Windows)
		if err != nil {
			t.Fatal(err)
		}
		got, want := curve.Detectable(), power.Closed(noise, sizes)
		t.Logf("%d tasks each: simulated %.4f, formula %.4f", n, got, want)
		if got < want-.002 || got > want*1.12 {
			t.Errorf("%d tasks each: simulated %.4f, formula %.4f", n, got, want)
		}
	}
}

// The size that is named is put to the test with windows that the simulation never saw, by the duel with all its resamples.
func TestAPolicyTwoPointsBeyondTheMarginWinsNineWindowsOfTen(t *testing.T) {
	for _, benchmarks := range []int{2, 6} {
		noise := measured(t, benchmarks, 1500, .05, .12)
		n, err := power.SizeFor(noise, .07)
		if err != nil {
			t.Fatal(err)
		}
		const windows = 250
		src := bootstrap.From(99)
		rate := func(n, windows int) float64 {
			won := 0
			for w := range windows {
				k, c := arms(&src, benchmarks, n, .05, .12, 0)
				set := duel.Standard(fmt.Sprintf("power-%d", w))
				set.Rounds = 20 // the bound hardly ever binds here: the margin does
				_, r, err := duel.Judge(k, c, nil, free(benchmarks), set)
				if err != nil {
					t.Fatal(err)
				}
				if r.Wins() {
					won++
				}
			}
			return float64(won) / float64(windows)
		}
		named, quarter := rate(n, windows), rate(n/4, windows)
		t.Logf("%d benchmarks: %d tasks each win %.3f of the windows, a quarter of them %.3f", benchmarks, n, named, quarter)
		if named < .87 { // 250 windows have a standard error of 0.019
			t.Errorf("%d benchmarks: %d tasks each win %.3f of the windows only", benchmarks, n, named)
		}
		if quarter > .87 {
			t.Errorf("%d benchmarks: a quarter of the named size wins %.3f of the windows too", benchmarks, quarter)
		}
	}
}

func TestGroupsMakeABoundWider(t *testing.T) {
	var k, c []score.Row
	for b := range 2 {
		for i := range 60 { // ten groups of six tasks that stand or fall together
			r := score.Row{TaskID: fmt.Sprintf("%d-%d", b, i), Benchmark: fmt.Sprintf("bench-%02d", b), Group: fmt.Sprint(i / 6)}
			k = append(k, r)
			r.Score = float64((i / 6) % 2)
			c = append(c, r)
		}
	}
	grouped, err := power.Measure(k, c, free(2))
	if err != nil {
		t.Fatal(err)
	}
	alone := slices.Clone(grouped)
	for i := range alone {
		alone[i].Groups = nil
	}
	var least [2]float64
	for i, noise := range [][]power.Noise{alone, grouped} {
		curve, err := power.Simulate(noise, []int{60, 60}, 300)
		if err != nil {
			t.Fatal(err)
		}
		least[i] = curve.Detectable()
	}
	if least[1] <= least[0] {
		t.Errorf("with groups %.3f, without %.3f", least[1], least[0])
	}
}

func TestACurveRisesAndTwoRunsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := bootstrap.From(rapid.Uint64().Draw(t, "seed"))
		benchmarks := rapid.IntRange(2, 5).Draw(t, "benchmarks")
		k, c := arms(&src, benchmarks, rapid.IntRange(5, 30).Draw(t, "tasks"), .5, .6, 0)
		noise, err := power.Measure(k, c, free(benchmarks))
		if err != nil {
			t.Fatal(err)
		}
		sizes := slices.Repeat([]int{rapid.IntRange(2, 40).Draw(t, "size")}, benchmarks)
		one, err1 := power.Simulate(noise, sizes, 30)
		two, err2 := power.Simulate(noise, sizes, 30)
		if err1 != nil || err2 != nil || !slices.Equal(one, two) {
			t.Fatalf("%v %v: two runs differ", err1, err2)
		}
		low := rapid.Float64Range(-1, 1).Draw(t, "low")
		if high := low + rapid.Float64Range(0, 1).Draw(t, "more"); one.Won(low) > one.Won(high) {
			t.Fatalf("%v wins more than %v", low, high)
		}
	})
}

// A specialist equals the king wherever it does not win. It needs both of two benchmarks, and half of more.
func TestBreadthOfASpecialist(t *testing.T) {
	for n := 2; n <= 9; n++ {
		for won := 1; won <= n; won++ {
			var pairs []duel.Pair
			for b := range n {
				q := 0.0
				if b < won {
					q = .9
				}
				p, err := duel.NewPair(fmt.Sprintf("bench-%02d", b), duel.Columns{
					KingQuality: []float64{0}, KingSpend: []float64{0}, ChallengerQuality: []float64{q}, ChallengerSpend: []float64{0},
				})
				if err != nil {
					t.Fatal(err)
				}
				pairs = append(pairs, p)
			}
			r, err := duel.Run(pairs, free(n), duel.Standard("breadth"))
			if err != nil {
				t.Fatal(err)
			}
			if want := won >= power.Needed(n); r.Wins() != want {
				t.Errorf("%d of %d benchmarks: wins %v, want %v: refused for %v", won, n, r.Wins(), want, r.Conditions.Refused())
			}
		}
	}
}
