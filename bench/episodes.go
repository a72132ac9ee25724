package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/conductor/action"
	"assay/conductor/trace"
	"assay/flow/conductor/devkit"
	"assay/flow/conductor/play"
)

const (
	episodeCount = 5000
	episodeLimit = 15 * time.Second
	memoryLimit  = 300 << 20
	traceRatio   = 1.2
)

// episodes plays 5,000 episodes of three steps at 16 in flight, with full traces on disk and without.
func episodes(ctx context.Context, dir string, pairs int) error {
	st, err := newStage(episodeCount, 3)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, "trace.jsonl")
	with := func() error { return playTraced(ctx, st, name) }
	without := func() error { _, err := newArm(st, 16).Run(ctx, st.Slice); return err }
	traced, plain, err := interleave(pairs, with, without)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	r := ratio(traced, plain)
	t, p := median(traced), median(plain)
	fmt.Printf("5,000 episodes of 3 steps, 16 in flight, trace of %.1f MB synced to disk: %v (limit %v: %s)\n",
		float64(info.Size())/1e6, t.Round(time.Millisecond), episodeLimit, verdict(t.Seconds(), episodeLimit.Seconds()))
	fmt.Printf("  without traces: %v; with / without, median of %d pairs: %.2f (limit %.1f: %s)\n",
		p.Round(time.Millisecond), pairs, r, traceRatio, verdict(r, traceRatio))
	peak := peakMemory()
	fmt.Printf("  peak memory of this process: %.0f MiB (limit %d: %s)\n", float64(peak)/(1<<20), memoryLimit>>20, verdict(float64(peak), memoryLimit))
	return nil
}

func playTraced(ctx context.Context, st *devkit.Stage, name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := play.NewTraceWriter(f, trace.Header{})
	if err != nil {
		return err
	}
	a := newArm(st, 16)
	a.Finished = w.Finished
	if _, err := a.Run(ctx, st.Slice); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Sync()
}

// peakMemory returns the process's peak resident size in bytes, or the runtime's own figure where the system tells none.
func peakMemory() int64 {
	f, err := os.Open("/proc/self/status")
	if err == nil {
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			if fields := strings.Fields(s.Text()); len(fields) > 1 && fields[0] == "VmHWM:" {
				if kb, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
					return kb << 10
				}
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

// steps measures one routed step in memory: render, parse, look up, charge, grade.
func steps(ctx context.Context, _ string, pairs int) error {
	for _, c := range []struct {
		models, width int
		limit         float64 // microseconds
	}{{5, 1, 3}, {5, 16, 6}, {300, 1, 10}} {
		st, err := newStage(500, c.models)
		if err != nil {
			return err
		}
		var each []float64
		for range pairs {
			began := time.Now()
			n := 0
			for time.Since(began) < 200*time.Millisecond {
				results, err := newArm(st, c.width).Run(ctx, st.Slice)
				if err != nil {
					return err
				}
				for _, r := range results {
					n += r.Turns()
				}
			}
			each = append(each, float64(time.Since(began).Microseconds())/float64(n))
		}
		allocs := testing.AllocsPerRun(3, func() { _, _ = newArm(st, c.width).Run(ctx, st.Slice) }) / float64(3*len(st.Slice))
		m := median(each)
		fmt.Printf("routed step in memory, catalog of %d rows, %d in flight: %.2f us, %.1f allocations (limit %.0f us: %s)\n",
			c.models, c.width, m, allocs, c.limit, verdict(m, c.limit))
	}
	return nil
}

// parsing measures the action grammar on a typical turn.
func parsing(_ context.Context, _ string, pairs int) error {
	st, err := newStage(1, 5)
	if err != nil {
		return err
	}
	turn := newTalker(st).turns[1]
	var each []float64
	for range pairs {
		r := testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				if _, f := action.Parse(turn, st.Snapshot, st.Profile); f != action.Readable {
					b.Fatal(f)
				}
			}
		})
		each = append(each, float64(r.NsPerOp())/1000)
	}
	m := median(each)
	fmt.Printf("parse of a typical turn (%d bytes): %.3f us (limit 0.3 us: %s)\n", len(turn), m, verdict(m, 0.3))
	return nil
}
