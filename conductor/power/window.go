package power

import (
	"math"

	"assay/conductor/bootstrap"
	"assay/conductor/duel"
	"assay/conductor/score"
)

// window is one simulated window: what luck added to every benchmark's delta, and the standard error of the mean.
type window struct {
	errors []float64
	se     float64
	values []float64      // paper
	sums   map[string]sum // paper
}

// sum is one group's part of a draw.
type sum struct {
	diffs float64
	tasks int
}

// draw draws the tasks of a window.
func (w *window) draw(src *bootstrap.Source, noise []Noise, sizes []int) {
	variance := 0.0
	for b, n := range noise {
		var v float64
		w.errors[b], v = w.benchmark(src, n, sizes[b])
		variance += v
	}
	w.se = math.Sqrt(variance) / float64(len(noise))
}

// benchmark draws n tasks and returns their mean difference and its variance as the duel's resample would see it: over
// groups where there are any.
func (w *window) benchmark(src *bootstrap.Source, noise Noise, n int) (mean, variance float64) {
	w.values = w.values[:0]
	if noise.Groups != nil {
		w.sums = map[string]sum{}
	}
	total := 0.0
	for range n {
		i := src.Below(uint32(len(noise.Diffs)))
		d := noise.Diffs[i]
		total += d
		if noise.Groups == nil {
			w.values = append(w.values, d)
			continue
		}
		s := w.sums[noise.Groups[i]]
		w.sums[noise.Groups[i]] = sum{s.diffs + d, s.tasks + 1}
	}
	mean = total / float64(n)
	var parts []float64
	if noise.Groups == nil {
		parts = w.values
		for i := range parts {
			parts[i] -= mean
		}
	} else {
		for _, s := range w.sums {
			parts = append(parts, s.diffs-float64(mean*float64(s.tasks)))
		}
	}
	return mean, squares(parts) / float64(n) / float64(n)
}

// squares adds exactly, so that the order of groups shows nowhere.
func squares(v []float64) float64 {
	sq := make([]float64, len(v))
	for i, x := range v {
		sq[i] = x * x
	}
	return score.Sum(sq)
}

// least is the smallest delta that wins the window. The margin and the bound say at once what they need; breadth and median
// are asked of the duel itself, and where they want more the border is searched for.
func (w *window) least() (float64, error) {
	luck := bootstrap.Mean(w.errors)
	low := max(duel.Eps, zBound*w.se) - luck
	high := low + 1e-12
	wins, err := w.wins(high)
	if err != nil || wins {
		return low, err
	}
	for step := 0.01; !wins; step *= 2 {
		high = low + step
		if wins, err = w.wins(high); err != nil {
			return 0, err
		}
	}
	for high-low > 1e-6 {
		middle := (low + high) / 2
		if wins, err = w.wins(middle); err != nil {
			return 0, err
		}
		if wins {
			high = middle
		} else {
			low = middle
		}
	}
	return high, nil
}

// wins asks the duel whether delta on every benchmark meets margin, breadth and median in this window.
func (w *window) wins(delta float64) (bool, error) {
	pairs, free, err := w.pairs(delta)
	if err != nil {
		return false, err
	}
	r, err := duel.Run(pairs, free, duel.Settings{Seed: bootstrap.Exactly(seed), Eps: duel.Eps, Rounds: 1})
	return r.Conditions.Delta && r.Conditions.Breadth && r.Conditions.Median, err
}

// pairs is the window as a duel of one row for each benchmark, on quality alone.
func (w *window) pairs(delta float64) ([]duel.Pair, score.Exchange, error) {
	zero := []float64{0}
	free := score.Exchange{}
	pairs := make([]duel.Pair, len(w.errors))
	for b, e := range w.errors {
		name := string(rune('a' + b))
		p, err := duel.NewPair(name, duel.Columns{KingQuality: zero, KingSpend: zero, ChallengerQuality: []float64{e + delta}, ChallengerSpend: zero})
		if err != nil {
			return nil, nil, err
		}
		free[name] = score.Rate{Lam: 0, C: 1}
		pairs[b] = p
	}
	return pairs, free, nil
}
