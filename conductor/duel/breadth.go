package duel

import (
	"math"
	"slices"

	"assay/conductor/bootstrap"
)

// settle derives everything that needs no resampling from the benchmarks' deltas.
func (r *Result) settle() {
	n := len(r.ByBenchmark)
	deltas, counted := make([]float64, n), make([]float64, n)
	for i := range r.ByBenchmark {
		line := &r.ByBenchmark[i]
		if math.Abs(line.Delta) > BreadthFloor {
			line.Counted = line.Delta
		}
		deltas[i], counted[i] = line.Delta, line.Counted
	}
	r.Delta = bootstrap.Mean(deltas)
	least := math.Inf(1)
	r.LOOMin = math.Inf(1)
	for i := range r.ByBenchmark {
		line := &r.ByBenchmark[i]
		line.LOO = meanWithout(deltas, i)
		if line.LOO < least {
			least, r.LOODropped = line.LOO, line.Benchmark
		}
		r.LOOMin = min(r.LOOMin, meanWithout(counted, i))
	}
	r.SignWins, r.SignP = SignTest(deltas)
	r.Median = median(counted)
}

// meanWithout is the mean of all items but one. There are two items at least.
func meanWithout(v []float64, skip int) float64 {
	sum := 0.0
	for i, x := range v {
		if i != skip {
			sum += x
		}
	}
	return sum / float64(len(v)-1)
}

// median is the middle item, or the mean of the middle two. It sorts v.
func median(v []float64) float64 {
	slices.Sort(v)
	half := len(v) / 2
	if len(v)%2 == 1 {
		return v[half]
	}
	return (v[half-1] + v[half]) / 2
}

// SignTest counts the positive deltas and gives the chance that as many coins out of len(deltas) fall heads. A zero
// is no win. Without any win the chance is 1.
func SignTest(deltas []float64) (wins int, p float64) {
	for _, d := range deltas {
		if d > 0 {
			wins++
		}
	}
	n := len(deltas)
	term := math.Ldexp(1, -n) // all heads
	for heads := n; heads >= wins; heads-- {
		p += term
		term = float64(term * (float64(heads) / float64(n-heads+1)))
	}
	return wins, min(p, 1)
}
