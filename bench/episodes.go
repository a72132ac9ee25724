package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/conductor/action"
	"assay/conductor/profile"
	"assay/conductor/trace"
	"assay/conductor/world"
	"assay/flow/conductor/devkit"
	"assay/flow/conductor/play"
)

const (
	episodeCount = 5000
	episodeLimit = 15 * time.Second
	memoryLimit  = 300 << 20
	traceRatio   = 1.2
)

// episodes judges a Conductor over 5,000 episodes of three steps at 16 in flight, with full traces on disk and without:
// first as the dev kit does it, from reading the world to the report, then the play of its one arm alone.
func episodes(ctx context.Context, dir string, pairs int) error {
	st, err := newStage(episodeCount, 3)
	if err != nil {
		return err
	}
	for name, b := range world.Plain(st.World) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return err
		}
	}
	traced, plain, err := interleave(pairs,
		func() error { return inFile(dir, func(f *os.File) error { return judge(ctx, dir, f) }) },
		func() error { return judge(ctx, dir, nil) })
	if err != nil {
		return err
	}
	t, r := median(slices.Clone(traced)), ratio(traced, plain)
	fmt.Printf("5,000 episodes of 3 steps end to end, 16 in flight, trace synced to disk: %v (limit %v: %s)\n",
		t.Round(time.Millisecond), episodeLimit, verdict(t.Seconds(), episodeLimit.Seconds()))
	fmt.Printf("  without a trace: %v; with / without, median of %d pairs: %.2f (limit %.1f: %s)\n",
		median(plain).Round(time.Millisecond), pairs, r, traceRatio, verdict(r, traceRatio))
	traced, plain, err = interleave(pairs,
		func() error { return inFile(dir, func(f *os.File) error { return playTraced(ctx, st, f) }) },
		func() error { _, err := newArm(st, 16).Run(ctx, st.Slice); return err })
	if err != nil {
		return err
	}
	r = ratio(traced, plain)
	fmt.Printf("  the arm alone: %v with, %v without, ratio %.2f (limit %.1f: %s)\n",
		median(traced).Round(time.Millisecond), median(plain).Round(time.Millisecond), r, traceRatio, verdict(r, traceRatio))
	peak := peakMemory()
	fmt.Printf("  peak memory of this process: %.0f MiB (limit %d: %s)\n", float64(peak)/(1<<20), memoryLimit>>20, verdict(float64(peak), memoryLimit))
	return nil
}

// judge is the dev kit from the world's files to the report.
func judge(ctx context.Context, dir string, traceTo *os.File) error {
	w, defects := world.Read(os.DirFS(dir))
	if err := world.Err(defects); err != nil {
		return err
	}
	st, err := devkit.Open(devkit.Settings{World: w, Name: "bench", Profile: profile.Strict, Nonce: "bench"})
	if err != nil {
		return err
	}
	a := devkit.Arm{Conductor: newTalker(st), Name: "talker", Concurrency: 16, Decisions: 20, Now: time.Now}
	if traceTo != nil {
		a.Trace = traceTo
	}
	report, err := st.Run(ctx, a)
	if err != nil {
		return err
	}
	return report.WriteText(io.Discard)
}

// inFile gives a new file to write and syncs it, as the dev kit writes a trace.
func inFile(dir string, write func(*os.File) error) error {
	f, err := os.CreateTemp(dir, "trace")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	return f.Sync()
}

func playTraced(ctx context.Context, st *devkit.Stage, f *os.File) error {
	w, err := play.NewTraceWriter(f, trace.Header{}, len(st.Slice))
	if err != nil {
		return err
	}
	a := newArm(st, 16)
	a.Finished = w.Finished
	_, err = a.Run(ctx, st.Slice)
	return errors.Join(err, w.Close())
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
