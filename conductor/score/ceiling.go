package score

import (
	"slices"

	"assay/conductor"
	"assay/core/fault"
)

// Ceiling is the best final that an arm can still reach: every task of the slice that has no row yet counts quality 1
// at no cost. Excluded task ids leave both the rows and the slice first. It refuses more rows of a benchmark than the
// slice holds, a benchmark without a rate, and a slice of which every benchmark is excluded.
//
// An arm whose ceiling does not exceed the king's final by the duel's margin can stop: the rest is futile.
func Ceiling(observed []Row, tasks []Task, exchange Exchange, excluded []string) (float64, error) {
	gone := make(map[string]bool, len(excluded))
	for _, id := range excluded {
		gone[id] = true
	}
	room := map[string]int{}
	var names []string
	for _, t := range tasks {
		if gone[t.ID] {
			continue
		}
		if room[t.Benchmark]++; room[t.Benchmark] == 1 {
			names = append(names, t.Benchmark)
		}
	}
	rows := make([]Row, 0, len(observed))
	for _, r := range observed {
		if !gone[r.TaskID] {
			rows = append(rows, r)
		}
	}
	columns, err := split(rows)
	if err != nil {
		return 0, err
	}
	seen := make(map[string]column, len(columns))
	for _, c := range columns {
		if len(c.scores) > room[c.benchmark] {
			return 0, conductor.Overfull.With(fault.Str("benchmark", c.benchmark))
		}
		seen[c.benchmark] = c
	}
	slices.Sort(names)
	return ceiling(names, room, seen, exchange)
}

// ceiling averages the benchmarks' ceilings.
func ceiling(names []string, room map[string]int, seen map[string]column, exchange Exchange) (float64, error) {
	if len(names) == 0 {
		return 0, conductor.NoEpisodes.With()
	}
	var finals []float64
	for _, name := range names {
		rate, err := exchange.Rate(name)
		if err != nil {
			return 0, err
		}
		if rate.Excluded() {
			continue
		}
		c, total := seen[name], float64(room[name])
		unrun := total - float64(len(c.scores))
		finals = append(finals, rate.Final((Sum(c.scores)+unrun)/total, Sum(c.spends)/total))
	}
	if len(finals) == 0 {
		return 0, conductor.AllExcluded.With()
	}
	return mean(finals), nil
}
