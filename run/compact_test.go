package run_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/core/fault"
	"assay/run"
)

// play drives a run of four effects to its end.
func play(t testing.TB, j *run.FileJournal, id string) {
	t.Helper()
	l := run.Loop[int, int]{Act: act, Durable: durable(j)}
	c := &counter{n: 4}
	if err := l.Run(t.Context(), id, "four", c); err != nil {
		t.Fatal(err)
	}
	if c.sum != 100 {
		t.Fatalf("%s ended with %d", id, c.sum)
	}
}

func size(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestForgottenRunsLeaveTheJournal(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "journal"), filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	j := open(t, link)
	j.KeepForgotten(4 << 10)
	cut := errors.New("cut")
	l := run.Loop[int, int]{Durable: durable(j), Act: func(ctx context.Context, d int) (int, error) {
		if d == 4 {
			return 0, cut
		}
		return act(ctx, d)
	}}
	if err := l.Run(t.Context(), "half", "five", &counter{n: 5}); !errors.Is(err, cut) {
		t.Fatal(err)
	}
	play(t, j, "stays")
	largest := int64(0)
	for i := range 200 {
		id := fmt.Sprint("w/", i)
		play(t, j, id)
		if err := j.Forget(id); err != nil {
			t.Fatal(err)
		}
		if err := j.Forget(id); err != nil {
			t.Errorf("forgetting twice: %v", err)
		}
		largest = max(largest, size(t, path))
	}
	if living := int64(3 << 10); largest > living+4<<10+2<<10 {
		t.Errorf("the journal grew to %d bytes", largest)
	}
	if _, err := j.Enter("w/0"); fault.Of(err) != run.Forgotten {
		t.Errorf("a forgotten run is entered: %v", err)
	}
	want := []run.Status{{Run: "half", About: "five", Records: 6, Doubtful: "effect/4"}, {Run: "stays", About: "four", Finished: true, Records: 8}}
	if d := cmp.Diff(want, j.Runs()); d != "" {
		t.Error(d)
	}
	if _, err := run.OpenJournal(path); fault.Of(err) != run.Locked {
		t.Errorf("the lock was lost: %v", err)
	}
	play(t, j, "later")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, link)
	for _, s := range j.Runs() { // those that were forgotten since the last compaction are forgotten again
		if s.Run[0] == 'w' {
			if err := j.Forget(s.Run); err != nil {
				t.Fatal(err)
			}
		}
	}
	if d := cmp.Diff(append(want, run.Status{Run: "later", About: "four", Finished: true, Records: 8}), j.Runs()); d != "" {
		t.Error(d)
	}
	l = run.Loop[int, int]{Act: act, Durable: durable(j)}
	m := &counter{n: 5}
	if err := l.Run(t.Context(), "half", "five", m); err != nil || m.doubts != 1 || m.sum != 110 {
		t.Errorf("the unfinished run ended with %d and %d doubts: %v", m.sum, m.doubts, err)
	}
}

func TestOnlyFinishedRunsAreForgotten(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	if _, err := j.Enter("a"); err != nil {
		t.Fatal(err)
	}
	if err := j.Forget("a"); fault.Of(err) != run.Busy {
		t.Errorf("a run that is driven: %v", err)
	}
	if _, err := j.Append(run.Record{Run: "a", Kind: run.Begin}); err != nil {
		t.Fatal(err)
	}
	j.Leave("a")
	if err := j.Forget("a"); fault.Of(err) != run.Unfinished {
		t.Errorf("an unfinished run: %v", err)
	}
	if err := j.Forget("never seen"); err != nil {
		t.Error(err)
	}
	if _, err := j.Enter("never seen"); fault.Of(err) != run.Forgotten {
		t.Errorf("Enter = %v", err)
	}
}

// A run that goes on while the file is replaced under it finds its records, and positions from before count on.
func TestCompactionUnderRunsUnderWay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	j.KeepForgotten(0)
	if _, err := j.Enter("open"); err != nil {
		t.Fatal(err)
	}
	add := func(r run.Record) int64 {
		r.Run = "open"
		pos, err := j.Append(r)
		if err != nil {
			t.Fatal(err)
		}
		return pos
	}
	pos := []int64{add(run.Record{Kind: run.Begin}), add(run.Record{Kind: run.Intent, Key: "1"})}
	for i := range 20 {
		id := fmt.Sprint("w/", i)
		play(t, j, id)
		if err := j.Forget(id); err != nil {
			t.Fatal(err)
		}
	}
	pos = append(pos, add(run.Record{Kind: run.Result, Key: "1", Event: []byte("10")}), add(run.Record{Kind: run.End}))
	for i, p := range pos {
		if i > 0 && p <= pos[i-1] {
			t.Errorf("positions %v do not rise", pos)
		}
		if err := j.Sync(p); err != nil {
			t.Error(err)
		}
	}
	j.Leave("open")
	past, err := j.Enter("open")
	if err != nil || len(past) != 4 || past[2].Key != "1" || string(past[2].Event) != "10" {
		t.Errorf("the run holds %v: %v", past, err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if got := open(t, path).Runs()[0]; got.Run != "open" || !got.Finished || got.Records != 4 {
		t.Errorf("opened again: %+v", got)
	}
}

// A compaction that cannot be carried out loses nothing, and the journal goes on.
func TestFailedCompactionLeavesTheJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	j.KeepForgotten(0)
	if err := os.MkdirAll(filepath.Join(path+".compacting", "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	play(t, j, "a")
	if err := j.Forget("a"); err == nil {
		t.Error("nothing is said of a compaction that failed")
	}
	play(t, j, "b")
	if err := os.RemoveAll(path + ".compacting"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".compacting", []byte("half"), 0o600); err != nil { // as a crash leaves it
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if got := open(t, path).Runs(); len(got) != 2 || !got[1].Finished {
		t.Errorf("opened again: %+v", got)
	}
	if _, err := os.Stat(path + ".compacting"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the half-written file stayed: %v", err)
	}
}

// Damage that came after opening is not copied into a new file with good checksums.
func TestCompactionRefusesDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	j.KeepForgotten(0)
	play(t, j, "stays")
	play(t, j, "goes")
	play(t, j, "goes too")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.Replace(text, []byte(`"event":10,`), []byte(`"event":90,`), 1)
	if err := os.WriteFile(path, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Forget("goes"), j.Forget("goes too")); fault.Of(err) != run.Damaged {
		t.Errorf("Forget = %v", err)
	}
	if got, _ := os.ReadFile(path); !bytes.Equal(got, bad) {
		t.Error("the file was replaced")
	}
}
