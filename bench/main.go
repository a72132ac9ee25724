// Command bench measures the Conductor's costs end to end and prints ratios of what was measured in the same run.
//
//	go run ./bench            everything, about a minute
//	go run ./bench -pairs 9   interleaved pairs behind each ratio
//
// Every ratio is the median over interleaved pairs, so that a slow minute of the machine meets both sides.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"
)

func main() {
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func measure() error {
	pairs := flag.Int("pairs", 9, "interleaved pairs behind each ratio, at least 9")
	flag.Parse()
	if *pairs < 9 {
		return fmt.Errorf("-pairs is at least 9")
	}
	dir, err := os.MkdirTemp("", "assay-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	for _, part := range []func(context.Context, string, int) error{episodes, steps, parsing, added} {
		if err := part(ctx, dir, *pairs); err != nil {
			return err
		}
	}
	return nil
}

// median returns the middle value; it sorts its argument.
func median[T interface{ ~int64 | ~float64 }](v []T) T {
	slices.Sort(v)
	return v[len(v)/2]
}

// interleave runs a and b in turns and returns their durations, after one unmeasured turn of each.
func interleave(pairs int, a, b func() error) (as, bs []time.Duration, err error) {
	for i := range pairs + 1 {
		for j, f := range []func() error{a, b} {
			began := time.Now()
			if err := f(); err != nil {
				return nil, nil, err
			}
			took := time.Since(began)
			if i == 0 {
				continue
			}
			if j == 0 {
				as = append(as, took)
			} else {
				bs = append(bs, took)
			}
		}
	}
	return as, bs, nil
}

// ratio returns the median of a[i]/b[i].
func ratio(a, b []time.Duration) float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = float64(a[i]) / float64(b[i])
	}
	return median(r)
}

// verdict says whether a figure keeps its bound.
func verdict(got, bound float64) string {
	if got <= bound {
		return "ok"
	}
	return "OVER"
}
