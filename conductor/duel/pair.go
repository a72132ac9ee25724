package duel

import (
	"math"
	"slices"

	"assay/conductor"
	"assay/conductor/bootstrap"
	"assay/conductor/score"
	"assay/core/fault"
)

// Pair holds two arms' rows of one benchmark, task beside task. Match and NewPair alone make one; the zero Pair is refused.
type Pair struct {
	benchmark    string
	kingQuality  []float64
	kingSpend    []float64
	challQuality []float64
	challSpend   []float64
	groups       []string // one label for each task, or none at all
}

// Columns are one benchmark's numbers for NewPair, task beside task.
type Columns struct {
	KingQuality, KingSpend             []float64
	ChallengerQuality, ChallengerSpend []float64
	Groups                             []string // one label for each task, or empty; "" is no label
}

// NewPair checks that the columns are aligned, not empty, made of numbers, and labelled wholly or not at all. It keeps copies.
func NewPair(benchmark string, c Columns) (Pair, error) {
	subject := fault.Str("benchmark", benchmark)
	n := len(c.KingQuality)
	columns := [][]float64{c.KingQuality, c.KingSpend, c.ChallengerQuality, c.ChallengerSpend}
	for _, v := range columns {
		if len(v) != n || slices.ContainsFunc(v, notNumber) {
			return Pair{}, conductor.Misaligned.With(subject)
		}
	}
	if n == 0 {
		return Pair{}, conductor.EmptyBenchmark.With(subject)
	}
	groups, err := labels(c.Groups, n, subject)
	if err != nil {
		return Pair{}, err
	}
	return Pair{
		benchmark:    benchmark,
		kingQuality:  slices.Clone(c.KingQuality),
		kingSpend:    slices.Clone(c.KingSpend),
		challQuality: slices.Clone(c.ChallengerQuality),
		challSpend:   slices.Clone(c.ChallengerSpend),
		groups:       groups,
	}, nil
}

// labels returns a copy of n labels, or nil when no task has one.
func labels(groups []string, n int, subject fault.Field) ([]string, error) {
	if len(groups) == 0 {
		return nil, nil
	}
	if len(groups) != n {
		return nil, conductor.MisalignedGroups.With(subject)
	}
	missing := 0
	for _, g := range groups {
		if g == "" {
			missing++
		}
	}
	switch missing {
	case 0:
		return slices.Clone(groups), nil
	case n:
		return nil, nil
	}
	return nil, conductor.PartialGroups.With(subject)
}

// Match pairs two arms' rows, which must be the same tasks in the same order; Exclude makes them so. The pairs come in
// name order. It refuses arms that differ in a task, its benchmark or its group, and a task that stands twice.
func Match(king, challenger []score.Row) ([]Pair, error) {
	if len(king) != len(challenger) {
		return nil, conductor.Misaligned.With()
	}
	columns := map[string]*Columns{}
	var names []string
	seen := make(map[string]bool, len(king))
	for i, k := range king {
		c := challenger[i]
		if err := aligned(k, c); err != nil {
			return nil, err
		}
		if seen[k.TaskID] {
			return nil, conductor.DuplicateTask.With(fault.Str("task", k.TaskID))
		}
		seen[k.TaskID] = true
		into := columns[k.Benchmark]
		if into == nil {
			into = &Columns{}
			columns[k.Benchmark] = into
			names = append(names, k.Benchmark)
		}
		into.KingQuality = append(into.KingQuality, k.Score)
		into.KingSpend = append(into.KingSpend, k.Spend)
		into.ChallengerQuality = append(into.ChallengerQuality, c.Score)
		into.ChallengerSpend = append(into.ChallengerSpend, c.Spend)
		into.Groups = append(into.Groups, k.Group)
	}
	slices.Sort(names)
	pairs := make([]Pair, len(names))
	for i, name := range names {
		p, err := NewPair(name, *columns[name])
		if err != nil {
			return nil, err
		}
		pairs[i] = p
	}
	return pairs, nil
}

// aligned refuses two rows that are not one task's.
func aligned(k, c score.Row) error {
	task := fault.Str("task", k.TaskID)
	if k.TaskID != c.TaskID || k.Benchmark != c.Benchmark {
		return conductor.Misaligned.With(task)
	}
	if k.Group != c.Group {
		return conductor.MisalignedGroups.With(task)
	}
	if err := k.Check(); err != nil {
		return err
	}
	return c.Check()
}

// Benchmark returns the pair's benchmark.
func (p Pair) Benchmark() string { return p.benchmark }

// Len returns the number of tasks.
func (p Pair) Len() int { return len(p.kingQuality) }

// delta is the challenger's final less the king's, on means over all rows.
func (p Pair) delta(rate score.Rate) float64 {
	challenger := rate.Final(bootstrap.Mean(p.challQuality), bootstrap.Mean(p.challSpend))
	return challenger - rate.Final(bootstrap.Mean(p.kingQuality), bootstrap.Mean(p.kingSpend))
}

func notNumber(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }
