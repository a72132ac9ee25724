// Package grade turns an answer into a score: the benchmarks' own graders and the metrics of recorded worlds.
//
// Invariants:
//   - A grade is a share of a positive whole; infrastructure trouble is an error and never a fake zero.
//   - In profile.Compat every grader is bit-equal to the public reference; profile.Strict is free of its accidents.
//   - A metric that cannot be recomputed with certainty from reference and answer is not Known, and Mark says so.
//   - Nothing here runs foreign code: a grader reads what a driver printed.
package grade

import (
	"assay/conductor"
	"assay/core/fault"
)

// Grade is how much of a task was completed.
type Grade struct {
	Completed int // parts done, 0 to Total
	Total     int // parts in all, at least 1
}

// Check refuses a grade that lies outside zero to one.
func (g Grade) Check() error {
	if g.Total <= 0 || g.Completed < 0 || g.Completed > g.Total {
		return conductor.BadGrade.With(fault.Int("completed", int64(g.Completed)), fault.Int("total", int64(g.Total)))
	}
	return nil
}

// Score returns completed / total, in [0, 1].
func (g Grade) Score() (float64, error) {
	if err := g.Check(); err != nil {
		return 0, err
	}
	return float64(g.Completed) / float64(g.Total), nil
}
