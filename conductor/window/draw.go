package window

import (
	"cmp"
	"slices"

	"assay/conductor"
	"assay/conductor/task"
	"assay/core/digest"
	"assay/core/fault"
)

// Count is how many tasks of a benchmark there are.
type Count struct {
	Benchmark string
	N         int
}

// Drawn is the slice of one window.
type Drawn struct {
	Tasks    []task.Pinned // in the nonce's order
	Counts   []Count       // taken, by benchmark name
	Narrowed []Count       // benchmarks that were left out because fewer than the minimum were there
}

// DrawKey returns the key by which a benchmark's tasks are drawn: the SHA-256 of the quoted text
// "nonce|window|benchmark|task_id" in hexadecimal.
func DrawKey(nonce, window, benchmark, id string) string {
	return digest.HexOfString(nonce + "|" + window + "|" + benchmark + "|" + id)
}

// Draw takes the perBenchmark smallest draw keys of every benchmark that has at least minimum tasks.
// A perBenchmark below minimum is conductor.BelowMinimum; a draw that takes nothing conductor.NothingDrawable.
func Draw(pool []task.Spec, nonce, window string, perBenchmark, minimum int) (Drawn, error) {
	if perBenchmark < minimum {
		return Drawn{}, conductor.BelowMinimum.With(fault.Int("per_benchmark", int64(perBenchmark)), fault.Int("minimum", int64(minimum)))
	}
	byBenchmark := make(map[string][]task.Spec)
	for _, s := range pool {
		byBenchmark[s.Benchmark] = append(byBenchmark[s.Benchmark], s)
	}
	names := make([]string, 0, len(byBenchmark))
	for name := range byBenchmark {
		names = append(names, name)
	}
	slices.Sort(names)
	var d Drawn
	var picked []task.Spec
	for _, name := range names {
		tasks := byBenchmark[name]
		if len(tasks) < minimum {
			d.Narrowed = append(d.Narrowed, Count{name, len(tasks)})
			continue
		}
		slices.SortFunc(tasks, func(a, b task.Spec) int {
			return cmp.Or(cmp.Compare(DrawKey(nonce, window, name, a.ID), DrawKey(nonce, window, name, b.ID)), cmp.Compare(a.ID, b.ID))
		})
		tasks = tasks[:min(perBenchmark, len(tasks))]
		d.Counts = append(d.Counts, Count{name, len(tasks)})
		picked = append(picked, tasks...)
	}
	if len(picked) == 0 {
		return Drawn{}, conductor.NothingDrawable.With()
	}
	var err error
	d.Tasks, err = Slice(nonce, picked)
	return d, err
}
