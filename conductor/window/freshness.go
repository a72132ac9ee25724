package window

import (
	"slices"

	"assay/conductor/task"
	"assay/core/canon"
)

// Freshness says how much of a slice was seen before. A benchmark is recycled when a drawn task of it was.
type Freshness struct {
	N                int // tasks of the slice
	Categories       int // benchmarks of the slice
	RecycledFraction float64
	Fresh, Recycled  []string // benchmarks, by name
	Staleness        *float64 // part of the slice that was seen before; nil when nothing was ever revealed
}

// Recycled returns the drawn ids that were revealed before, sorted, and what follows for the slice's freshness.
func Recycled(tasks []task.Pinned, revealed []string) ([]string, Freshness) {
	before := make(map[string]bool, len(revealed))
	for _, id := range revealed {
		before[id] = true
	}
	seen := []string{}
	again := make(map[string]bool) // benchmark -> recycled
	for _, t := range tasks {
		if before[t.ID()] {
			seen = append(seen, t.ID())
		}
		again[t.Benchmark()] = again[t.Benchmark()] || before[t.ID()]
	}
	slices.Sort(seen)
	f := Freshness{N: len(tasks), Categories: len(again), Fresh: []string{}, Recycled: []string{}}
	for name, was := range again {
		if was {
			f.Recycled = append(f.Recycled, name)
		} else {
			f.Fresh = append(f.Fresh, name)
		}
	}
	slices.Sort(f.Fresh)
	slices.Sort(f.Recycled)
	inRecycled := 0
	for _, t := range tasks {
		if again[t.Benchmark()] {
			inRecycled++
		}
	}
	f.RecycledFraction = float64(inRecycled) / float64(max(len(tasks), 1))
	if len(revealed) > 0 {
		s := float64(len(seen)) / float64(max(len(tasks), 1))
		f.Staleness = &s
	}
	return seen, f
}

func (f Freshness) object() canon.Object {
	o := canon.Object{"category_freshness": canon.Object{
		"n": f.N, "n_categories": f.Categories, "recycled_fraction": f.RecycledFraction, "fresh_categories": f.Fresh, "recycled_categories": f.Recycled,
	}, "staleness": nil}
	if f.Staleness != nil {
		o["staleness"] = *f.Staleness
	}
	return o
}

func freshnessOf(v any) (f Freshness, ok bool) {
	o, _ := v.(canon.Object)
	c, _ := o["category_freshness"].(canon.Object)
	n, ok1 := whole(c["n"])
	k, ok2 := whole(c["n_categories"])
	f.N, f.Categories = int(n), int(k)
	var ok3, ok4, ok5 bool
	f.RecycledFraction, ok3 = c["recycled_fraction"].(float64)
	f.Fresh, ok4 = texts(c["fresh_categories"])
	f.Recycled, ok5 = texts(c["recycled_categories"])
	if s, is := o["staleness"].(float64); is {
		f.Staleness = &s
	}
	return f, ok1 && ok2 && ok3 && ok4 && ok5
}
