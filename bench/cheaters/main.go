// Command cheaters plays the table of cheating policies over simulated windows and writes docs/cheaters.md.
//
//	go run ./bench/cheaters -world DIR -out docs/cheaters.md
//
// DIR holds the world that `assay world import routerarena` writes. The same world gives the same bytes, on any number of cores.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"assay/conductor/world"
	"assay/core/digest"
	"assay/flow/conductor/arena"
)

func main() {
	if err := cheaters(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// The share of each world in the windows: a quarter, in ten editions each.
const editions = 10

func cheaters() error {
	dir := flag.String("world", "", "`DIR` of the world with RouterArena's tasks and answers")
	out := flag.String("out", "", "`FILE` to write; default standard output")
	windows := flag.Int("windows", 10_000, "windows with the learned king, a quarter in each of four worlds")
	width := flag.Int("width", runtime.NumCPU(), "editions played beside one another")
	flag.Parse()
	if *dir == "" {
		return errors.New("-world is missing: make the world with 'assay world import routerarena'")
	}
	each := *windows / 4 / editions
	if each < 1 {
		return fmt.Errorf("-windows is at least %d", 4*editions)
	}
	w, defects := world.Read(os.DirFS(*dir))
	if err := world.Err(defects); err != nil {
		return err
	}
	debug.SetGCPercent(400) // rows come and go; there is memory enough
	began := time.Now()
	var ended atomic.Int64
	done := func() {
		fmt.Fprintf(os.Stderr, "\r%d editions, %s", ended.Add(1), time.Since(began).Round(time.Second))
	}
	doc, err := play(w, each, *width, done)
	fmt.Fprintln(os.Stderr)
	if err != nil {
		return err
	}
	if *out == "" {
		_, err = os.Stdout.WriteString(doc.Write())
		return err
	}
	return os.WriteFile(*out, []byte(doc.Write()), 0o644)
}

func play(w *world.World, each, width int, done func()) (*arena.Document, error) {
	table := arena.Table()
	learned, first := arena.LearnedKing, arena.FirstKing
	grounds := []arena.Ground{
		arena.Made(arena.Ladder(200), learned, editions, each, 5, 40, table),
		arena.Made(arena.Niches(200), learned, editions, each, 5, 40, table),
		arena.Made(arena.Pair(625), learned, editions, each, 5, 125, table),
		arena.Recorded(w, learned, editions, each, 2, 14, table),
		arena.Recorded(w, first, editions, each, 2, 14, table),
		arena.Made(arena.Ladder(200), first, editions, max(1, each/5), 5, 40, table),
		arena.Made(arena.Pair(625), first, editions, max(1, each/5), 5, 125, table),
	}
	stands, err := arena.Hold(grounds, width, done)
	if err != nil {
		return nil, err
	}
	doc := &arena.Document{Command: "make cheaters", Worlds: []string{provenance(w)}}
	for _, s := range stands {
		if s.Sound() {
			doc.Sound = append(doc.Sound, s)
		} else {
			doc.Unsound = append(doc.Unsound, s)
		}
	}
	for _, benchmarks := range []int{2, 6} {
		s, err := arena.Strengths(benchmarks, 600, width)
		if err != nil {
			return nil, err
		}
		doc.Strengths = append(doc.Strengths, s...)
	}
	return doc, nil
}

// provenance says which real world was played.
func provenance(w *world.World) string {
	files := world.Plain(w)
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		b.WriteString(name + "|" + digest.HexOfBytes(files[name]) + "\n")
	}
	return fmt.Sprintf("World routerarena is what `assay world import routerarena` writes of that project's public files: %d tasks, %d models, digest `%s`. Parts of a benchmark\n"+
		"count as one, and benchmarks that are too small for a season or left out by the exchange's guards are not drawn. That leaves a season two disjoint\n"+
		"slices, so its windows repeat one another's tasks often; they are draws with fresh nonces rather than fresh tasks.", len(w.Tasks), len(w.Models), digest.HexOfBytes([]byte(b.String()))[:16])
}
