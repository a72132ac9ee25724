package duel

import (
	"slices"

	"assay/conductor/bootstrap"
	"assay/conductor/score"
)

// unit is what one benchmark resamples: tasks, or whole groups of tasks. A final is linear in its row, so a task's
// difference of finals can be taken once, before the rounds.
type unit struct {
	diffs []float64 // by task; with sizes: summed by group, in label order
	sizes []int     // tasks in each group; nil when tasks stand alone
}

// unit takes each task's difference of finals, and adds them by group where there are groups.
func (p Pair) unit(rate score.Rate) unit {
	diffs := make([]float64, p.Len())
	for i := range diffs {
		diffs[i] = rate.Final(p.challQuality[i], p.challSpend[i]) - rate.Final(p.kingQuality[i], p.kingSpend[i])
	}
	if p.groups == nil {
		return unit{diffs: diffs}
	}
	names := slices.Compact(slices.Sorted(slices.Values(p.groups)))
	u := unit{diffs: make([]float64, len(names)), sizes: make([]int, len(names))}
	for i, g := range p.groups {
		at, _ := slices.BinarySearch(names, g)
		u.diffs[at] += diffs[i]
		u.sizes[at]++
	}
	return u
}

// resample draws as many units as there are and returns the mean difference over the tasks drawn.
func (u unit) resample(src *bootstrap.Source) float64 {
	if u.sizes == nil {
		return src.Resample(u.diffs) / float64(len(u.diffs))
	}
	sum, tasks := src.ResampleGroups(u.diffs, u.sizes)
	return sum / float64(tasks)
}

// lowerBound resamples all benchmarks, in name order, round after round, and returns the percentile of the mean
// deltas. Each line gets its noise floor. It allocates once, not by the round.
func lowerBound(units []unit, lines []Line, rounds int, seed uint64) float64 {
	paper := make([]float64, rounds*(len(units)+1))
	means := paper[:rounds]
	column := func(i int) []float64 { return paper[(i+1)*rounds : (i+2)*rounds] }
	src := bootstrap.From(seed)
	for round := range means {
		sum := 0.0
		for i, u := range units {
			d := u.resample(&src)
			column(i)[round] = d
			sum += d
		}
		means[round] = sum / float64(len(units))
	}
	for i := range lines {
		lines[i].NoiseFloor = bootstrap.Deviation(column(i))
	}
	slices.Sort(means)
	return bootstrap.Percentile(means, tail)
}
