// Package power says, before a window opens, how small a difference its slice can tell from luck.
//
// Invariants:
//   - What wins is decided by package duel alone; only the resampled lower bound is replaced, by its normal form.
//   - The same noise gives the same answer on every machine: the stream is package bootstrap's.
//   - A size that is named wins with the share asked for after two standard errors of the simulation are taken off.
//
// Specification: docs/spec/power.md.
package power

import (
	"cmp"
	"math"
	"slices"

	"assay/conductor"
	"assay/conductor/bootstrap"
	"assay/conductor/duel"
	"assay/conductor/score"
	"assay/core/fault"
)

// The constants of the answer.
const (
	Share   = 0.9    // of the windows that a difference must win to count as resolved
	Windows = 2000   // simulated for each answer
	MaxSize = 20_000 // tasks of a benchmark beyond which no size is named
)

// Normal quantiles: of Share, and of the duel's lower bound.
const (
	zShare = 1.2815515655446004
	zBound = 1.6448536269514722
)

// seed starts every simulation.
const seed = 0x61737361

// Noise is how two arms' finals differ on one benchmark from task to task.
type Noise struct {
	Benchmark string
	Diffs     []float64 // differences of finals less their mean
	Groups    []string  // cluster labels, task beside task; nil where tasks stand alone
	Mean      float64   // difference of finals
	Deviation float64   // standard deviation of one task's difference, n-1
}

// Measure takes the noise of a pair of arms over the tasks that both answered: past windows', or reference arms' rows. Benchmarks
// that the exchange leaves out are left out; they come in name order. It refuses what duel.Exclude and score refuse,
// fewer than two benchmarks (conductor.Breadth) and a benchmark of one task (conductor.TooFewTasks).
func Measure(king, challenger []score.Row, exchange score.Exchange) ([]Noise, error) {
	kept, err := duel.Exclude(king, challenger, nil)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	var out []Noise
	for i, k := range kept.King {
		c := kept.Challenger[i]
		rate, err := exchange.Rate(k.Benchmark)
		if err != nil {
			return nil, err
		}
		if rate.Excluded() {
			continue
		}
		j, ok := at[k.Benchmark]
		if !ok {
			j = len(out)
			at[k.Benchmark] = j
			out = append(out, Noise{Benchmark: k.Benchmark})
		}
		out[j].Diffs = append(out[j].Diffs, rate.Final(c.Score, c.Spend)-rate.Final(k.Score, k.Spend))
		out[j].Groups = append(out[j].Groups, k.Group)
	}
	if len(out) < 2 {
		return nil, conductor.Breadth.With(fault.Int("benchmarks", int64(len(out))))
	}
	slices.SortFunc(out, func(a, b Noise) int { return cmp.Compare(a.Benchmark, b.Benchmark) })
	for i := range out {
		if err := out[i].centre(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// centre takes the mean out of the differences.
func (n *Noise) centre() error {
	if len(n.Diffs) < 2 {
		return conductor.TooFewTasks.With(fault.Str("benchmark", n.Benchmark), fault.Int("tasks", int64(len(n.Diffs))))
	}
	if !slices.ContainsFunc(n.Groups, func(g string) bool { return g != "" }) {
		n.Groups = nil
	}
	n.Mean = bootstrap.Mean(n.Diffs)
	for i := range n.Diffs {
		n.Diffs[i] -= n.Mean
	}
	n.Deviation = bootstrap.Deviation(slices.Clone(n.Diffs))
	return nil
}

// Worst takes each benchmark's noise from the pair that has most of it. All pairs are over the same benchmarks.
func Worst(pairs ...[]Noise) []Noise {
	out := slices.Clone(pairs[0])
	for _, p := range pairs[1:] {
		for i := range p {
			if p[i].Deviation > out[i].Deviation {
				out[i] = p[i]
			}
		}
	}
	return out
}

// Curve is what a slice resolves: for every simulated window the least delta that would have won it, ascending.
type Curve []float64

// Won is the share of the windows that a policy wins which is better by delta on every benchmark.
func (c Curve) Won(delta float64) float64 {
	n, _ := slices.BinarySearch(c, delta)
	return float64(n) / float64(len(c))
}

// Detectable is the least delta that is sure to win Share of the windows: two standard errors of the simulation are given away.
func (c Curve) Detectable() float64 {
	need := sureShare(len(c))
	return c[min(int(math.Ceil(need*float64(len(c)))), len(c)-1)]
}

// sureShare is the share of n simulated windows that proves Share.
func sureShare(n int) float64 { return Share + 2*math.Sqrt(Share*(1-Share)/float64(n)) }

// Simulate plays windows in which each benchmark's tasks are drawn anew, with replacement, and returns what they resolve.
// sizes are the tasks of a window, beside the noise; one task at least each.
func Simulate(noise []Noise, sizes []int, windows int) (Curve, error) {
	if len(noise) < 2 {
		return nil, conductor.Breadth.With(fault.Int("benchmarks", int64(len(noise))))
	}
	for i, n := range sizes {
		if n < 2 || n > MaxSize {
			return nil, conductor.TooFewTasks.With(fault.Str("benchmark", noise[i].Benchmark), fault.Int("tasks", int64(n)))
		}
	}
	src := bootstrap.From(seed)
	out := make(Curve, windows)
	w := window{errors: make([]float64, len(noise))}
	for i := range out {
		w.draw(&src, noise, sizes)
		least, err := w.least()
		if err != nil {
			return nil, err
		}
		out[i] = least
	}
	slices.Sort(out)
	return out, nil
}

// Closed is the least delta by the formula: the margin, and what luck takes from the mean in one window of ten. It knows
// nothing of the lower bound, breadth and median, which only ever ask for more.
func Closed(noise []Noise, sizes []int) float64 {
	sum := 0.0
	for i, n := range noise {
		sum += float64(n.Deviation*n.Deviation) / float64(sizes[i])
	}
	sd := math.Sqrt(sum) / float64(len(noise))
	return max(duel.Eps+zShare*sd, (zShare+zBound)*sd)
}

// SizeFor is the least number of tasks of every benchmark at which delta wins Share of the windows. A delta that would take
// more than MaxSize tasks, as any within the margin would, is conductor.Unresolvable.
func SizeFor(noise []Noise, delta float64) (int, error) {
	refuse := conductor.Unresolvable.With(fault.Float("delta", delta), fault.Int("most_tasks", MaxSize))
	if !(delta > duel.Eps) {
		return 0, refuse
	}
	low, high := 1, 2 // low is too small
	for {
		if enough, err := resolves(noise, high, delta); err != nil {
			return 0, err
		} else if enough {
			break
		}
		if high == MaxSize {
			return 0, refuse
		}
		low, high = high, min(2*high, MaxSize)
	}
	for high-low > 1 {
		middle := (low + high) / 2
		enough, err := resolves(noise, middle, delta)
		if err != nil {
			return 0, err
		}
		if enough {
			high = middle
		} else {
			low = middle
		}
	}
	return high, nil
}

// resolves reports whether windows of n tasks for each benchmark are won by delta as often as they should be.
func resolves(noise []Noise, n int, delta float64) (bool, error) {
	sizes := slices.Repeat([]int{n}, len(noise))
	if Closed(noise, sizes) > delta { // no simulation undercuts the formula by more than luck
		return false, nil
	}
	c, err := Simulate(noise, sizes, Windows)
	if err != nil {
		return false, err
	}
	return c.Won(delta) >= sureShare(Windows), nil
}

// Needed is how many of n benchmarks a policy must win that equals the king on the others: half of them, and both of two.
func Needed(n int) int {
	if n == 2 {
		return 2
	}
	return (n + 1) / 2
}
