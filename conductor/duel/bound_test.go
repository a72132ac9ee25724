package duel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"assay/conductor/bootstrap"
	"assay/conductor/duel"
	"assay/conductor/score"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// twin is the bootstrap as the rule words it: draw rows (or whole groups), average every column, price, subtract.
// Columns come in name order. It is slow and shares only the stream of numbers with the product.
func twin(columns []duel.Columns, rates []score.Rate, rounds int, seed uint64) (lcb float64, noise []float64) {
	src := bootstrap.From(seed)
	deltas, each := make([]float64, rounds), make([][]float64, len(columns))
	for round := range rounds {
		for b, c := range columns {
			rows := draw(&src, c)
			mean := func(column []float64) float64 {
				sum := 0.0
				for _, i := range rows {
					sum += column[i]
				}
				return sum / float64(len(rows))
			}
			price := func(q, s []float64) float64 { return mean(q) - rates[b].Lam*mean(s)/rates[b].C }
			d := price(c.ChallengerQuality, c.ChallengerSpend) - price(c.KingQuality, c.KingSpend)
			each[b] = append(each[b], d)
			deltas[round] += d / float64(len(columns))
		}
	}
	slices.Sort(deltas)
	at := 0.05 * float64(rounds-1)
	low := int(math.Floor(at))
	lcb = deltas[low]
	if low+1 < rounds {
		lcb += (at - float64(low)) * (deltas[low+1] - deltas[low])
	}
	for _, v := range each {
		mean, squares := 0.0, 0.0
		for _, x := range v {
			mean += x / float64(rounds)
		}
		for _, x := range v {
			squares += (x - mean) * (x - mean)
		}
		noise = append(noise, math.Sqrt(squares/math.Max(1, float64(rounds-1))))
	}
	return lcb, noise
}

// draw returns one resample's row numbers.
func draw(src *bootstrap.Source, c duel.Columns) (rows []int) {
	if len(c.Groups) == 0 {
		for range c.KingQuality {
			rows = append(rows, int(src.Below(uint32(len(c.KingQuality)))))
		}
		return rows
	}
	members := map[string][]int{}
	for i, g := range c.Groups {
		members[g] = append(members[g], i)
	}
	var names []string
	for g := range members {
		names = append(names, g)
	}
	slices.Sort(names)
	for range names {
		rows = append(rows, members[names[src.Below(uint32(len(names)))]]...)
	}
	return rows
}

// genColumns makes one benchmark's columns: quality 0 to 1, spend up to two dollars, groups or none.
func genColumns(t *rapid.T) duel.Columns {
	n := rapid.IntRange(1, 12).Draw(t, "tasks")
	numbers := func(name string, to float64) []float64 {
		return rapid.SliceOfN(rapid.Float64Range(0, to), n, n).Draw(t, name)
	}
	c := duel.Columns{
		KingQuality: numbers("king quality", 1), KingSpend: numbers("king spend", 2),
		ChallengerQuality: numbers("quality", 1), ChallengerSpend: numbers("spend", 2),
	}
	if rapid.Bool().Draw(t, "grouped") {
		c.Groups = rapid.SliceOfN(rapid.SampledFrom([]string{"r", "s", "t"}), n, n).Draw(t, "groups")
	}
	return c
}

type match struct {
	columns []duel.Columns
	rates   []score.Rate
	pairs   []duel.Pair
	e       score.Exchange
	set     duel.Settings
}

func genMatch(t *rapid.T) match {
	m := match{e: score.Exchange{}}
	for i := range rapid.IntRange(2, 5).Draw(t, "benchmarks") {
		c := genColumns(t)
		rate := score.Rate{Lam: rapid.Float64Range(0, 3).Draw(t, "lambda"), C: rapid.Float64Range(0.01, 2).Draw(t, "c")}
		name := fmt.Sprintf("b%d", i)
		p, err := duel.NewPair(name, c)
		if err != nil {
			t.Fatal(err)
		}
		m.e[name] = rate
		m.columns, m.rates, m.pairs = append(m.columns, c), append(m.rates, rate), append(m.pairs, p)
	}
	m.set = duel.Settings{Seed: bootstrap.Exactly(rapid.Uint64().Draw(t, "seed")), Eps: 0.05, Rounds: rapid.IntRange(1, 60).Draw(t, "rounds")}
	return m
}

func (m match) run(t *rapid.T) duel.Result {
	r, err := duel.Run(m.pairs, m.e, m.set)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBootstrapEqualsItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := genMatch(t)
		r := m.run(t)
		seed, _ := m.set.Seed.Value()
		lcb, noise := twin(m.columns, m.rates, m.set.Rounds, seed)
		if math.Abs(r.LCB-lcb) > 1e-10*math.Max(1, math.Abs(lcb)) {
			t.Fatalf("bound %v, twin %v", r.LCB, lcb)
		}
		for i, want := range noise {
			if got := r.ByBenchmark[i].NoiseFloor; math.Abs(got-want) > 1e-9*math.Max(1, want) {
				t.Fatalf("noise %v, twin %v", got, want)
			}
		}
	})
}

func TestBenchmarkOrderChangesNoNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := genMatch(t)
		want := m.run(t)
		m.pairs = rapid.Permutation(m.pairs).Draw(t, "order")
		if diff := cmp.Diff(want, m.run(t)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestCopyOfTheKingHasNoDelta(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := genMatch(t)
		for i, c := range m.columns {
			c.ChallengerQuality, c.ChallengerSpend = c.KingQuality, c.KingSpend
			p, err := duel.NewPair(m.pairs[i].Benchmark(), c)
			if err != nil {
				t.Fatal(err)
			}
			m.pairs[i] = p
		}
		if r := m.run(t); r.Delta != 0 || r.LCB != 0 || r.Wins() || r.Conditions != (duel.Conditions{}) {
			t.Fatalf("%+v", r)
		}
	})
}

// Doing better on some tasks of one benchmark never loses a condition that was met.
func TestConditionsAreMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := genMatch(t)
		before := m.run(t)
		at := rapid.IntRange(0, len(m.pairs)-1).Draw(t, "benchmark")
		c := m.columns[at]
		c.ChallengerQuality = slices.Clone(c.ChallengerQuality)
		for i := range c.ChallengerQuality {
			c.ChallengerQuality[i] += rapid.Float64Range(0, 1).Draw(t, "better")
		}
		p, err := duel.NewPair(m.pairs[at].Benchmark(), c)
		if err != nil {
			t.Fatal(err)
		}
		m.pairs[at] = p
		after := m.run(t)
		const slack = 1e-12
		if after.Delta < before.Delta-slack || after.LCB < before.LCB-slack || after.LOOMin < before.LOOMin-slack || after.Median < before.Median-slack {
			t.Fatalf("better answers made it worse: %+v then %+v", before, after)
		}
	})
}

// Shifting every answer of the challenger by the same amount moves delta and bound together, so the detectable delta
// is the border of the first two conditions.
func TestDetectableIsTheBorder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := genMatch(t)
		r := m.run(t)
		border := r.Detectable() - r.Delta
		for _, side := range []float64{-1, 1} {
			for i, c := range m.columns {
				c.ChallengerQuality = slices.Clone(c.ChallengerQuality)
				for j := range c.ChallengerQuality {
					c.ChallengerQuality[j] += border + side*1e-7
				}
				p, err := duel.NewPair(m.pairs[i].Benchmark(), c)
				if err != nil {
					t.Fatal(err)
				}
				m.pairs[i] = p
			}
			if got := m.run(t); (got.Conditions.Delta && got.Conditions.LCB) != (side > 0) {
				t.Fatalf("on side %v of %v: %+v", side, border, got)
			}
		}
	})
}

// noisy makes two benchmarks of n tasks each, with spends and answers that scatter.
func noisy(t testing.TB, n int) ([]duel.Pair, score.Exchange) {
	r := rand.New(rand.NewPCG(3, 5))
	column := func(low, high float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = low + (high-low)*r.Float64()
		}
		return v
	}
	var pairs []duel.Pair
	e := score.Exchange{}
	for _, b := range []string{"livecodebench", "hle"} {
		pairs = append(pairs, pair(t, b, duel.Columns{
			KingQuality: column(0, 1), KingSpend: column(0.01, 0.3), ChallengerQuality: column(0.1, 1), ChallengerSpend: column(0.01, 0.3),
		}))
		e[b] = score.Rate{Lam: 0.3, C: 0.15}
	}
	return pairs, e
}

// Two benchmarks of 500 tasks, 1000 rounds: a million draws.
func BenchmarkDuel(b *testing.B) {
	pairs, e := noisy(b, 500)
	set := duel.Standard("n1")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := duel.Run(pairs, e, set); err != nil {
			b.Fatal(err)
		}
	}
}

// The same rounds a hundred times over: the number of allocations must be that of one.
func TestRoundsDoNotAllocate(t *testing.T) {
	pairs, e := noisy(t, 20)
	allocs := func(rounds int) float64 {
		set := duel.Standard("n1")
		set.Rounds = rounds
		return testing.AllocsPerRun(5, func() { run(t, pairs, e, set) })
	}
	if few, many := allocs(10), allocs(1000); few != many {
		t.Errorf("%v allocations for 10 rounds, %v for 1000", few, many)
	}
}
