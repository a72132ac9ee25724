// Package duel decides whether a challenger beats the king on the slice that both arms answered.
//
// Invariants:
//   - Both arms are judged on the same rows, in every resample too.
//   - All four conditions are strict; a copy of the king has a delta of exactly zero and never wins.
//   - The order in which benchmarks are given changes no number.
//   - Same pairs, same rates, same seed: same verdict, on every machine.
//
// Format: docs/spec/duel.md.
package duel

import (
	"cmp"
	"math"
	"slices"

	"assay/conductor"
	"assay/conductor/bootstrap"
	"assay/conductor/score"
	"assay/core/fault"
)

// The rule's constants.
const (
	Eps          = 0.05     // the margin that a challenger has to exceed
	Rounds       = 1000     // resamples
	BreadthFloor = Eps / 10 // a benchmark's delta within this of zero counts as zero for breadth and median
	tail         = 5. / 100 // the lower bound is this percentile of the resampled deltas
	maxRounds    = 1_000_000
)

// Settings choose a duel's stream and strictness. Standard makes those of a window.
type Settings struct {
	Seed   bootstrap.Seed
	Eps    float64 // the margin; zero is a margin too, not a default
	Rounds int     // resamples, one to a million
}

// Standard is the rule of a window with that nonce.
func Standard(nonce string) Settings {
	return Settings{Seed: bootstrap.OfDuel(nonce), Eps: Eps, Rounds: Rounds}
}

// Line is a duel's account on one benchmark. Deltas are challenger less king.
type Line struct {
	Benchmark  string
	N          int     // tasks
	Delta      float64 // difference of finals
	Counted    float64 // Delta, or 0 within BreadthFloor
	LOO        float64 // mean of the other benchmarks' deltas
	NoiseFloor float64 // standard deviation of the resampled delta
}

// Conditions are what a challenger must meet, all of them.
type Conditions struct {
	Delta   bool // the mean delta exceeds the margin
	LCB     bool // the lower bound exceeds zero
	Breadth bool // the win survives the loss of any one benchmark
	Median  bool // the median benchmark's counted delta exceeds zero
}

// All reports whether every condition is met.
func (c Conditions) All() bool { return c.Delta && c.LCB && c.Breadth && c.Median }

// Refused names the conditions that are not met, in the order delta, lcb, breadth, median.
func (c Conditions) Refused() []string {
	var words []string
	for _, x := range []struct {
		word string
		met  bool
	}{{"delta", c.Delta}, {"lcb", c.LCB}, {"breadth", c.Breadth}, {"median", c.Median}} {
		if !x.met {
			words = append(words, x.word)
		}
	}
	return words
}

// Result is a verdict with everything that it rests on.
type Result struct {
	Delta       float64 // mean of the benchmarks' deltas
	LCB         float64 // fifth percentile of the resampled Delta
	Eps         float64 // the margin that Delta was held against
	LOOMin      float64 // least mean of the counted deltas with one benchmark left out
	LOODropped  string  // the benchmark without which the mean of the deltas is least
	Median      float64 // of the counted deltas
	SignWins    int     // benchmarks with a positive delta, however small; published, decides nothing
	SignP       float64 // one-sided chance of as many wins by coin flips; published, decides nothing
	NTasks      int
	ByBenchmark []Line // in name order
	Conditions  Conditions
}

// Wins reports whether the challenger beats the king.
func (r Result) Wins() bool { return r.Conditions.All() }

// Detectable is the least delta that would have met the first two conditions with the noise of this duel: had every
// task of the challenger gone better by one same amount, the delta and its lower bound would have moved by it together.
func (r Result) Detectable() float64 { return max(r.Eps, r.Delta-r.LCB) }

// Judge matches a challenger against a king over the tasks that both answered and judges the duel: rows are excluded as
// Exclude says, benchmarks that an exchange rate's guards leave out of scoring are not counted, and a benchmark without any
// rate is refused. What was kept is returned beside an error of the duel itself.
func Judge(king, challenger []score.Row, failed []string, exchange score.Exchange, set Settings) (Kept, Result, error) {
	kept, err := Exclude(king, challenger, failed)
	if err != nil {
		return Kept{}, Result{}, err
	}
	pairs, err := Match(kept.King, kept.Challenger)
	if err != nil {
		return Kept{}, Result{}, err
	}
	pairs = slices.DeleteFunc(pairs, func(p Pair) bool { return exchange[p.benchmark].Excluded() })
	result, err := Run(pairs, exchange, set)
	return kept, result, err
}

// Run judges the pairs. It refuses fewer than two benchmarks, a benchmark twice, one without a rate or with a flagged
// one, settings out of range, and a missing seed.
func Run(pairs []Pair, exchange score.Exchange, set Settings) (Result, error) {
	if !(set.Eps >= 0 && set.Eps <= math.MaxFloat64) || set.Rounds < 1 || set.Rounds > maxRounds {
		return Result{}, conductor.BadSettings.With(fault.Float("eps", set.Eps), fault.Int("rounds", int64(set.Rounds)))
	}
	pairs, err := sorted(pairs)
	if err != nil {
		return Result{}, err
	}
	rates, err := ratesOf(pairs, exchange)
	if err != nil {
		return Result{}, err
	}
	seed, ok := set.Seed.Value()
	if !ok {
		return Result{}, conductor.NoSeed.With()
	}
	r := Result{Eps: set.Eps, ByBenchmark: make([]Line, len(pairs))}
	units := make([]unit, len(pairs))
	for i, p := range pairs {
		r.ByBenchmark[i] = Line{Benchmark: p.benchmark, N: p.Len(), Delta: p.delta(rates[i])}
		units[i] = p.unit(rates[i])
		r.NTasks += p.Len()
	}
	r.settle()
	r.LCB = lowerBound(units, r.ByBenchmark, set.Rounds, seed)
	r.Conditions = Conditions{Delta: r.Delta > set.Eps, LCB: r.LCB > 0, Breadth: r.LOOMin > 0, Median: r.Median > 0}
	return r, nil
}

// sorted puts the pairs into name order and checks that breadth can be judged on them.
func sorted(pairs []Pair) ([]Pair, error) {
	pairs = slices.SortedFunc(slices.Values(pairs), func(a, b Pair) int { return cmp.Compare(a.benchmark, b.benchmark) })
	for _, p := range pairs {
		if p.Len() == 0 {
			return nil, conductor.EmptyBenchmark.With(fault.Str("benchmark", p.benchmark))
		}
	}
	if len(pairs) < 2 {
		return nil, conductor.Breadth.With(fault.Int("benchmarks", int64(len(pairs))))
	}
	for i, p := range pairs[1:] {
		if p.benchmark == pairs[i].benchmark {
			return nil, conductor.DuplicateBenchmark.With(fault.Str("benchmark", p.benchmark))
		}
	}
	return pairs, nil
}

// ratesOf looks the pairs' rates up. A flagged benchmark has no place in a duel.
func ratesOf(pairs []Pair, exchange score.Exchange) ([]score.Rate, error) {
	rates := make([]score.Rate, len(pairs))
	for i, p := range pairs {
		rate, err := exchange.Rate(p.benchmark)
		if err != nil {
			return nil, err
		}
		if rate.Excluded() {
			return nil, conductor.AllExcluded.With(fault.Str("benchmark", p.benchmark))
		}
		rates[i] = rate
	}
	return rates, nil
}
