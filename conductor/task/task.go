// Package task names pinned tasks and puts them in the order that a nonce gives.
//
// Invariants:
//   - Only a window's slice makes a Pinned task.
//   - An order depends on the nonce and the ids alone, never on the input's order.
//
// Specification: docs/spec/window.md.
package task

import (
	"cmp"
	"slices"

	"assay/conductor"
	"assay/conductor/internal/pin"
	"assay/core/digest"
)

// Pinned is a task that a window's slice has pinned.
type Pinned = pin.Task

// Spec is a task as a benchmark gives it, before a window pins it.
type Spec = pin.Spec

// OrderKey returns the key that tasks are ordered by: the hexadecimal SHA-256 of the bytes nonce|task_id.
func OrderKey(nonce, id string) string {
	return digest.HexOfBytes([]byte(nonce + "|" + id))
}

// Order returns the ids by OrderKey, ties by id.
func Order(nonce string, ids []string) []string {
	return OrderBy(nonce, ids, func(id string) string { return id })
}

// OrderBy returns a copy of list by the OrderKey of each element's id, ties by id.
func OrderBy[T any](nonce string, list []T, id func(T) string) []T {
	type keyed struct {
		key, id string
		at      int
	}
	keys := make([]keyed, len(list))
	for i, e := range list {
		keys[i] = keyed{OrderKey(nonce, id(e)), id(e), i}
	}
	slices.SortFunc(keys, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id), cmp.Compare(a.at, b.at))
	})
	out := make([]T, len(list))
	for i, k := range keys {
		out[i] = list[k.at]
	}
	return out
}

// Label is what Subsample needs to know of a task.
type Label struct{ ID, Benchmark string }

// Subsample picks size tasks for the power gate: benchmarks by name take turns, each gives its tasks in nonce order,
// and what was picked is returned in nonce order. No tasks at all are conductor.NoTasks.
func Subsample(nonce string, size int, labels []Label) ([]string, error) {
	if len(labels) == 0 {
		return nil, conductor.NoTasks.With()
	}
	byBenchmark := make(map[string][]string)
	for _, l := range labels {
		byBenchmark[l.Benchmark] = append(byBenchmark[l.Benchmark], l.ID)
	}
	var names []string
	for name, ids := range byBenchmark {
		names = append(names, name)
		byBenchmark[name] = Order(nonce, ids)
	}
	slices.Sort(names)
	var picked []string
	for round := 0; len(picked) < min(size, len(labels)); round++ {
		for _, name := range names {
			if ids := byBenchmark[name]; round < len(ids) && len(picked) < size {
				picked = append(picked, ids[round])
			}
		}
	}
	return Order(nonce, picked), nil
}
