package commit_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"assay/run/commit"
)

func group(t *testing.T) (*commit.Group, *os.File) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return commit.New("test", f, 0, 0), f
}

func adding(text []byte) func([]byte, int64) ([]byte, error) {
	return func(dst []byte, _ int64) ([]byte, error) { return append(dst, text...), nil }
}

func TestWhatIsRefusedAddsNothing(t *testing.T) {
	g, f := group(t)
	no := errors.New("no")
	if _, err := g.Append(func(dst []byte, at int64) ([]byte, error) { return append(dst, "lost"...), no }); !errors.Is(err, no) {
		t.Errorf("Append = %v", err)
	}
	if pos, err := g.Append(adding([]byte("a"))); pos != 1 || err != nil {
		t.Errorf("position %d: %v", pos, err)
	}
	if err := g.Sync(2); !errors.Is(err, commit.ErrAhead) {
		t.Errorf("waiting for what nobody appended: %v", err)
	}
	if err := g.Flush(); err != nil || g.Last() != 1 {
		t.Errorf("Flush = %v, last %d", err, g.Last())
	}
	if got, _ := os.ReadFile(f.Name()); string(got) != "a" {
		t.Errorf("the file holds %q", got)
	}
}

// Who appends much and never waits does not fill the memory.
func TestPendingBytesAreBounded(t *testing.T) {
	g, f := group(t)
	block := bytes.Repeat([]byte("x"), 1<<20)
	for range 20 {
		if _, err := g.Append(adding(block)); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := f.Stat(); err != nil || info.Size() < 8<<20 || g.Syncs() != 2 {
		t.Errorf("%d bytes after 20 MiB, with %d syncs (%v)", info.Size(), g.Syncs(), err)
	}
}

func TestReplacedFileGoesOn(t *testing.T) {
	g, old := group(t)
	next, err := os.Create(filepath.Join(t.TempDir(), "next"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Append(adding([]byte("old"))); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a file is replaced while bytes for it are pending")
			}
		}()
		g.Replace(next, 0)
	}()
	if err := g.Flush(); err != nil {
		t.Fatal(err)
	}
	g.Replace(next, 0)
	if pos, err := g.Append(adding([]byte("new"))); pos != 2 || err != nil {
		t.Errorf("position %d: %v", pos, err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	var broken *commit.Broken
	if err := g.Flush(); err != nil {
		t.Errorf("nothing is pending, and Flush = %v", err)
	}
	if _, err := g.Append(adding(nil)); !errors.As(err, &broken) || !errors.Is(err, os.ErrClosed) {
		t.Errorf("Append to a closed file = %v", err)
	}
	for name, want := range map[string]string{old.Name(): "old", next.Name(): "new"} {
		if got, _ := os.ReadFile(name); string(got) != want {
			t.Errorf("%s holds %q", filepath.Base(name), got)
		}
	}
}
