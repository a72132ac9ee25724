package window

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"

	"assay/conductor"
	"assay/conductor/task"
	"assay/core/canon"
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
	p, err := pickFrom(len(pool), func(i int) (string, string) { return pool[i].Benchmark, pool[i].ID }, nonce, window, perBenchmark, minimum)
	if err != nil {
		return Drawn{}, err
	}
	specs := make([]task.Spec, len(p.at))
	for i, at := range p.at {
		specs[i] = pool[at]
	}
	d := Drawn{Counts: p.counts, Narrowed: p.narrowed}
	d.Tasks, err = Slice(nonce, specs)
	return d, err
}

// picked is a draw before anything is pinned: the places of what was taken.
type picked struct {
	at               []int // by benchmark name, then by draw key
	counts, narrowed []Count
}

// keyed is a task of one benchmark, its draw key made once.
type keyed struct {
	key [sha256.Size]byte // in the order of its hexadecimal text; two ids have two keys
	at  int
}

// pickFrom draws from n tasks of which label gives benchmark and id.
func pickFrom(n int, label func(int) (benchmark, id string), nonce, window string, perBenchmark, minimum int) (picked, error) {
	if perBenchmark < max(minimum, 0) {
		return picked{}, conductor.BelowMinimum.With(fault.Int("per_benchmark", int64(perBenchmark)), fault.Int("minimum", int64(minimum)))
	}
	strata := make(map[string][]keyed)
	var text []byte
	for i := range n {
		benchmark, id := label(i)
		text = canon.AppendStringASCII(text[:0], nonce+"|"+window+"|"+benchmark+"|"+id)
		strata[benchmark] = append(strata[benchmark], keyed{sha256.Sum256(text), i})
	}
	names := make([]string, 0, len(strata))
	for name := range strata {
		names = append(names, name)
	}
	slices.Sort(names)
	var p picked
	for _, name := range names {
		tasks := strata[name]
		if len(tasks) < minimum {
			p.narrowed = append(p.narrowed, Count{name, len(tasks)})
			continue
		}
		slices.SortFunc(tasks, func(a, b keyed) int {
			return cmp.Or(bytes.Compare(a.key[:], b.key[:]), cmp.Compare(a.at, b.at))
		})
		tasks = tasks[:min(perBenchmark, len(tasks))]
		p.counts = append(p.counts, Count{name, len(tasks)})
		for _, t := range tasks {
			p.at = append(p.at, t.at)
		}
	}
	if len(p.at) == 0 {
		return picked{}, conductor.NothingDrawable.With()
	}
	return p, nil
}
