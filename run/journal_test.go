package run_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/core/fault"
	"assay/run"
)

// open opens the journal at path for the length of the test.
func open(t testing.TB, path string) *run.FileJournal {
	t.Helper()
	j, err := run.OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// write makes a finished and an unfinished run and returns the journal's bytes.
func write(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	l := run.Loop[int, int]{Act: act, Durable: durable(j)}
	if err := l.Run(t.Context(), "finished", "four", &counter{n: 4}); err != nil {
		t.Fatal(err)
	}
	cut := errors.New("cut")
	l.Act = func(ctx context.Context, d int) (int, error) {
		if d == 4 {
			return 0, cut
		}
		return act(ctx, d)
	}
	if err := l.Run(t.Context(), "größe\n", "", &counter{n: 4}); !errors.Is(err, cut) {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFinishedRunIsReplayedWithoutActing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	l := run.Loop[int, int]{Act: act, Durable: durable(j)}
	first := &counter{n: 8}
	if err := l.Run(t.Context(), "a", "x", first); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}

	j = open(t, path)
	again := &counter{n: 8}
	l = run.Loop[int, int]{Durable: durable(j), Act: func(ctx context.Context, d int) (int, error) {
		if d%3 != 0 {
			t.Errorf("effect %d was carried out again", d)
		}
		return act(ctx, d)
	}}
	if err := l.Run(t.Context(), "a", "x", again); err != nil {
		t.Fatal(err)
	}
	if again.sum != first.sum || j.Syncs() != 0 {
		t.Errorf("replayed to %d with %d syncs, want %d without any", again.sum, j.Syncs(), first.sum)
	}
	if err := l.Run(t.Context(), "a", "y", &counter{n: 8}); fault.Of(err) != run.OtherRun {
		t.Errorf("a run about something else: %v", err)
	}
	if err := l.Run(t.Context(), "a", "x", &counter{n: 10}); fault.Of(err) != run.Diverged {
		t.Errorf("a longer machine on a finished run: %v", err)
	}
	if err := l.Run(t.Context(), "a", "x", &counter{n: 7}); fault.Of(err) != run.Diverged {
		t.Errorf("a shorter machine on a finished run: %v", err)
	}
}

func TestIntentWithoutResultIsLookedUp(t *testing.T) {
	for _, c := range []struct {
		name        string
		known       run.Known
		sum, doubts int
	}{
		{"found", run.Found, 1000 + 10*(1+2+3+5), 0}, {"unknown", run.Unknown, 10 * (1 + 2 + 3 + 5), 1},
		{"absent", run.Absent, 10 * (1 + 2 + 3 + 4 + 5), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal")
			j := open(t, path)
			cut := errors.New("cut")
			l := run.Loop[int, int]{Durable: durable(j), Act: func(ctx context.Context, d int) (int, error) {
				if d == 4 {
					return 0, cut
				}
				return act(ctx, d)
			}}
			if err := l.Run(t.Context(), "a", "", &counter{n: 5}); !errors.Is(err, cut) {
				t.Fatal(err)
			}
			want := []run.Status{{Run: "a", Records: 6, Doubtful: "effect/4"}}
			if diff := cmp.Diff(want, j.Runs()); diff != "" {
				t.Error(diff)
			}
			l.Durable.Lookup = func(_ context.Context, key string) (int, run.Known, error) {
				if key != "effect/4" {
					t.Errorf("looked up %q", key)
				}
				return 1000, c.known, nil
			}
			began := 0
			l.Act = func(ctx context.Context, d int) (int, error) {
				if d == 4 {
					began++
				}
				return act(ctx, d)
			}
			for range 2 { // the second time, the journal remembers how the doubt ended
				m := &counter{n: 5}
				if err := l.Run(t.Context(), "a", "", m); err != nil {
					t.Fatal(err)
				}
				if m.sum != c.sum || m.doubts != c.doubts {
					t.Errorf("sum %d with %d doubts, want %d with %d", m.sum, m.doubts, c.sum, c.doubts)
				}
				l.Durable.Lookup = nil
			}
			if want := map[bool]int{true: 1}[c.known == run.Absent]; began != want {
				t.Errorf("the effect began %d times after the crash, want %d", began, want)
			}
		})
	}
}

func TestFailedLookupLeavesTheRunAsItWas(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	cut := errors.New("cut")
	l := run.Loop[int, int]{Durable: durable(j), Act: func(context.Context, int) (int, error) { return 0, cut }}
	l.Durable.Lookup = func(context.Context, string) (int, run.Known, error) { return 0, run.Unknown, cut }
	for range 3 {
		if err := l.Run(t.Context(), "a", "", &counter{n: 1}); !errors.Is(err, cut) {
			t.Fatal(err)
		}
	}
	if got := j.Runs()[0]; got.Records != 2 || got.Doubtful != "effect/1" {
		t.Errorf("status %+v", got)
	}
}

func TestKeysAreNotReused(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	l := run.Loop[int, int]{Act: act, Durable: durable(j)}
	l.Durable.Key = func(int) string { return "same" }
	if err := l.Run(t.Context(), "a", "", &counter{n: 2}); fault.Of(err) != run.KeyReused {
		t.Errorf("Run = %v", err)
	}
}

func TestRunIsDrivenOnce(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	l := run.Loop[int, int]{Durable: durable(j)}
	l.Act = func(ctx context.Context, d int) (int, error) {
		inner := run.Loop[int, int]{Act: act, Durable: durable(j)}
		if err := inner.Run(ctx, "a", "", &counter{n: 1}); fault.Of(err) != run.Busy {
			t.Errorf("a second driver: %v", err)
		}
		return act(ctx, d)
	}
	if err := l.Run(t.Context(), "a", "", &counter{n: 2}); err != nil {
		t.Fatal(err)
	}
}

func TestJournalIsHeldByOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	open(t, path)
	if _, err := run.OpenJournal(path); fault.Of(err) != run.Locked {
		t.Errorf("a second opening: %v", err)
	}
}

func TestWhatIsNoRegularFileIsNotOpened(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "journal")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, filepath.Dir(pipe), os.DevNull} {
		if _, err := run.OpenJournal(path); fault.Of(err) != run.NotJournal || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestForeignFileIsLeftAlone(t *testing.T) {
	for name, text := range map[string]string{
		"one line of JSON": `{"a":1}` + "\n", "an unended object": `{"a":1`, "text": "hello", "lines": "a\nb\n", "zeros before text": "\x00\x00x",
		"another version": `{"journal":"assay/2","chain":"00"}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := run.OpenJournal(path); fault.Of(err) != run.NotJournal {
				t.Errorf("OpenJournal = %v", err)
			}
			if got, _ := os.ReadFile(path); string(got) != text {
				t.Errorf("the file became %q", got)
			}
		})
	}
}

func TestRecordsThatCannotBeReadBackAreRefused(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	if _, err := j.Enter("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(run.Record{Run: "a", Kind: run.Begin, Key: "k"}); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 513)
	for name, c := range map[string]struct {
		r    run.Record
		want fault.Code
	}{
		"no run":               {run.Record{Kind: run.Intent, Key: "k"}, run.BadRecord},
		"a run not entered":    {run.Record{Run: "b", Kind: run.Begin}, run.Misplaced},
		"a long key":           {run.Record{Run: "a", Kind: run.Intent, Key: long}, run.BadRecord},
		"a key not in UTF-8":   {run.Record{Run: "a", Kind: run.Intent, Key: "\xff"}, run.BadRecord},
		"an unknown kind":      {run.Record{Run: "a", Kind: "other", Key: "k"}, run.BadRecord},
		"an intent with event": {run.Record{Run: "a", Kind: run.Intent, Key: "k", Event: []byte("1")}, run.BadRecord},
		"a result without":     {run.Record{Run: "a", Kind: run.Result, Key: "k"}, run.BadRecord},
		"an event of two":      {run.Record{Run: "a", Kind: run.Result, Key: "k", Event: []byte("1 2")}, run.BadRecord},
		"an event with blank":  {run.Record{Run: "a", Kind: run.Result, Key: "k", Event: []byte("1 ")}, run.BadRecord},
		"an event of lines":    {run.Record{Run: "a", Kind: run.Result, Key: "k", Event: []byte("[1,\n2]")}, run.BadRecord},
		"a second begin":       {run.Record{Run: "a", Kind: run.Begin, Key: "k"}, run.Misplaced},
		"a doubt of nothing":   {run.Record{Run: "a", Kind: run.Doubt, Key: "k", Event: []byte("1")}, run.Misplaced},
		"too large": {run.Record{Run: "a", Kind: run.Result, Key: "k", Event: []byte(`"` + strings.Repeat("x", 16<<20) + `"`)},
			run.TooLarge},
	} {
		if _, err := j.Append(c.r); fault.Of(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want.Name())
		}
	}
	if got := j.Runs()[0].Records; got != 1 {
		t.Errorf("%d records after refusals, want 1", got)
	}
	if err := j.Sync(9); fault.Of(err) != run.Misplaced {
		t.Errorf("waiting for a record that was never written: %v", err)
	}
}

func TestFailedDiskStopsTheJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	full := errors.New("disk full")
	run.SetFsync(j, func(*os.File) error { return full })
	acted := false
	l := run.Loop[int, int]{Durable: durable(j), Act: func(ctx context.Context, d int) (int, error) {
		acted = true
		return act(ctx, d)
	}}
	if err := l.Run(t.Context(), "a", "", &counter{n: 1}); fault.Of(err) != run.Broken || !errors.Is(err, full) {
		t.Errorf("Run = %v", err)
	}
	if acted {
		t.Error("the effect began although its intent is not on disk")
	}
	run.SetFsync(j, (*os.File).Sync)
	if err := l.Run(t.Context(), "b", "", &counter{n: 1}); fault.Of(err) != run.Broken {
		t.Errorf("a later run: %v", err)
	}
}

// While one fsync is under way, fifteen appenders gather: they must share the next one.
func TestAppendersShareOneFsync(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	entered, release := make(chan bool), make(chan bool)
	var once sync.Once
	run.SetFsync(j, func(f *os.File) error {
		once.Do(func() { close(entered); <-release })
		return f.Sync()
	})
	if _, err := j.Enter("a"); err != nil {
		t.Fatal(err)
	}
	add := func(r run.Record) int64 {
		pos, err := j.Append(r)
		if err != nil {
			t.Fatal(err)
		}
		return pos
	}
	var wg sync.WaitGroup
	wait := func(pos int64) {
		wg.Go(func() {
			if err := j.Sync(pos); err != nil {
				t.Error(err)
			}
		})
	}
	wait(add(run.Record{Run: "a", Kind: run.Begin}))
	<-entered
	for range 15 {
		wait(add(run.Record{Run: "a", Kind: run.Result, Key: "k", Event: []byte("1")}))
	}
	close(release)
	wg.Wait()
	if got := j.Syncs(); got != 2 {
		t.Errorf("16 appenders needed %d fsyncs, want 2", got)
	}
}

func TestManyRunsShareAJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	l := run.Loop[int, int]{Act: act, Durable: durable(j)}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			if err := l.Run(t.Context(), string(rune('a'+i)), "", &counter{n: 4 + i}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	runs := j.Runs()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path).Runs()
	if diff := cmp.Diff(runs, again); diff != "" || len(again) != 16 {
		t.Errorf("%d runs after opening again: %s", len(again), diff)
	}
	for _, s := range again {
		if !s.Finished || s.Doubtful != "" {
			t.Errorf("%+v", s)
		}
	}
}

// Wherever a write is cut off, opening drops the cut line and keeps every whole one.
func TestTornTailIsDropped(t *testing.T) {
	text := write(t)
	path := filepath.Join(t.TempDir(), "journal")
	for _, zeros := range []int{0, 5} {
		for cut := range len(text) {
			torn := append(bytes.Clone(text[:cut]), make([]byte, zeros)...)
			if err := os.WriteFile(path, torn, 0o600); err != nil {
				t.Fatal(err)
			}
			if zeros > 0 && (cut%5 != 0 || cut > 0 && text[cut] == '\n') {
				continue // a whole line with zeros in place of its line end is damage, see below
			}
			j, err := run.OpenJournal(path)
			if err != nil {
				t.Fatalf("cut at byte %d: %v", cut, err)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			whole := max(bytes.LastIndexByte(text[:cut], '\n'), bytes.IndexByte(text, '\n'))
			if text[cut] == '\n' {
				whole = cut
			}
			if !bytes.Equal(got, text[:whole+1]) {
				t.Fatalf("cut at byte %d: kept %d bytes, want %d", cut, len(got), whole+1)
			}
		}
	}
}

// No flipped bit is read past: whatever it hits, opening is refused and the file stays as it is.
func TestFlippedBitIsRefused(t *testing.T) {
	text := write(t)
	path := filepath.Join(t.TempDir(), "journal")
	for at := range text {
		for _, bit := range []byte{1 << (at % 8), 1 << ((at + 3) % 8)} {
			bad := bytes.Clone(text)
			bad[at] ^= bit
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := run.OpenJournal(path)
			want := run.Damaged
			if at <= bytes.IndexByte(text, '\n') {
				want = run.NotJournal
			}
			if fault.Of(err) != want {
				t.Fatalf("bit %08b of byte %d: %v, want %s", bit, at, err, want.Name())
			}
			if got, _ := os.ReadFile(path); !bytes.Equal(got, bad) {
				t.Fatalf("byte %d: the refused file was changed", at)
			}
		}
	}
}

func TestDamageNamesItsLine(t *testing.T) {
	text := write(t)
	lines := bytes.SplitAfter(text, []byte("\n"))
	for name, c := range map[string]struct {
		lines [][]byte
		want  string
	}{
		"a line is gone":       {append(append([][]byte{}, lines[:3]...), lines[4:]...), "line 4"},
		"two lines changed":    {append(append([][]byte{}, lines[0], lines[1], lines[3], lines[2]), lines[4:]...), "line 3"},
		"a line stands twice":  {append(append([][]byte{}, lines[:3]...), lines[2:]...), "line 4"},
		"an empty line inside": {append(append([][]byte{}, lines[:5]...), append([][]byte{[]byte("\n")}, lines[5:]...)...), "line 6"},
	} {
		path := filepath.Join(t.TempDir(), "journal")
		if err := os.WriteFile(path, bytes.Join(c.lines, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := run.OpenJournal(path)
		if fault.Of(err) != run.Damaged || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want damage in %s", name, err, c.want)
		}
	}
}

// The specification's example is a journal: whoever writes another reader starts from it.
func TestExampleOfTheSpecificationIsAJournal(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "spec", "journal.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```json\n")
	example, _, _ = strings.Cut(example, "```")
	var kinds []run.Kind
	torn, err := run.ReadAll(strings.NewReader(example), func(r run.Record) { kinds = append(kinds, r.Kind) })
	want := []run.Kind{run.Begin, run.Intent, run.Result, run.End}
	if diff := cmp.Diff(want, kinds); err != nil || torn || diff != "" {
		t.Errorf("%v %v %s", err, torn, diff)
	}
}
