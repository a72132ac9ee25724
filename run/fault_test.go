package run_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/core/fault"
	"assay/core/step"
	"assay/run"
)

// texts is durable for effects and events that are words; all are paid for.
func texts(j run.Journal) *run.Durable[string, string] {
	return &run.Durable[string, string]{
		Journal: j, Care: func(string) run.Care { return run.Once }, Key: func(d string) string { return d },
		Uncertain:   func(d string) string { return "uncertain " + d },
		AppendEvent: func(dst []byte, e string) ([]byte, error) { return fmt.Appendf(dst, "%q", e), nil },
		ParseEvent:  func(text []byte) (string, error) { return strings.Trim(string(text), `"`), nil },
	}
}

// A crash in the third of three commands of one turn: the first two are not carried out again.
func TestFault52_FinishedMembersOfABatchAreNotRepeated(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	crash := errors.New("crash")
	var acted []string
	l := run.Loop[string, string]{Durable: texts(j), Act: func(_ context.Context, d string) (string, error) {
		acted = append(acted, d)
		if d == "c" {
			return "", crash
		}
		return "done " + d, nil
	}}
	batch := [][]string{{"a", "b", "c"}, {"d"}, nil, nil}
	if err := l.Run(t.Context(), "turn", "", &several{asks: batch}); !errors.Is(err, crash) {
		t.Fatal(err)
	}
	acted = nil
	m := &several{asks: batch}
	if err := l.Run(t.Context(), "turn", "", m); err != nil {
		t.Fatal(err)
	}
	if want := []string{"done a", "done b", "uncertain c", "done d"}; !slices.Equal(m.told, want) {
		t.Errorf("the machine was told %q, want %q", m.told, want)
	}
	if !slices.Equal(acted, []string{"d"}) {
		t.Errorf("after the crash %q was carried out", acted)
	}
}

// A resume whose counter starts one lower asks for what the journal holds under another key: it is blocked, and nothing is
// carried out.
func TestFault53_AShiftedCounterBlocks(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	crash := errors.New("crash")
	first := 5
	machine := func() step.Machine[string, string] {
		var asks [][]string
		for i := range 4 {
			asks = append(asks, []string{fmt.Sprint("pay ", first+i)})
		}
		return &several{asks: asks}
	}
	acted := 0
	l := run.Loop[string, string]{Durable: texts(j), Act: func(_ context.Context, d string) (string, error) {
		if acted++; acted == 3 {
			return "", crash
		}
		return d, nil
	}}
	if err := l.Run(t.Context(), "frame", "", machine()); !errors.Is(err, crash) {
		t.Fatal(err)
	}
	first = 4
	if err := l.Run(t.Context(), "frame", "", machine()); fault.Of(err) != run.Diverged || acted != 3 {
		t.Errorf("a shifted counter: %v, and %d effects were carried out", err, acted-3)
	}
	first = 5
	if err := l.Run(t.Context(), "frame", "", machine()); err != nil || acted != 4 {
		t.Errorf("the right counter: %v, and %d effects were carried out", err, acted-3)
	}
}

// However many runs end and are forgotten, the journal holds no more than what lives and its bound, so that a resume reads little.
func TestFault29_AResumeReadsLittle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	const bound = 32 << 10
	j.KeepForgotten(bound)
	run.SetFsync(j, func(*os.File) error { return nil }) // the count of runs is what matters here
	var largest int64
	for i := range 2000 {
		id := fmt.Sprint("arm/", i)
		play(t, j, id)
		if err := j.Forget(id); err != nil {
			t.Fatal(err)
		}
		largest = max(largest, size(t, path))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if largest > bound+4<<10 {
		t.Errorf("the journal grew to %d bytes over 2000 runs, its bound is %d", largest, bound)
	}
	if n := len(open(t, path).Runs()); n > bound/800 {
		t.Errorf("%d runs are read again", n)
	}
}
