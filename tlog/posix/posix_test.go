package posix_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/core/fault"
	"assay/core/sign"
	"assay/tlog"
	"assay/tlog/posix"
)

const origin = "example.com/assay/log"

var (
	signer = sign.NewEd25519([32]byte{7})
	pinned = pin(origin, signer)
)

func pin(name string, s sign.Signer) tlog.VerifierKey {
	v, err := tlog.NewVerifierKey(name, s.Public())
	if err != nil {
		panic(err)
	}
	return v
}

// scratch returns a folder in memory where there is one: what dies with its process needs no disk, and a disk is slow.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "tlog")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func leaf(i int) []byte {
	return fmt.Appendf(nil, "windows/7/episodes/%06d.jsonl %d leaf", i/1000, i%1000+1)
}

func leaves(from, to int) (out [][]byte) {
	for i := from; i < to; i++ {
		out = append(out, leaf(i))
	}
	return out
}

func open(t *testing.T, dir string) *posix.Log {
	t.Helper()
	l, err := posix.Open(dir, signer, origin, posix.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func add(t *testing.T, l *posix.Log, from, to int) {
	t.Helper()
	first, err := l.AppendAll(t.Context(), leaves(from, to))
	if err != nil || first != int64(from) {
		t.Fatalf("first %d, %v", first, err)
	}
}

// folder returns every file of a folder, and every folder, by name.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		if err != nil || d.IsDir() {
			out[rel+"/"] = ""
			return err
		}
		data, err := os.ReadFile(name)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// check reads a whole log and compares its entries.
func check(t *testing.T, dir string, size int) {
	t.Helper()
	next := 0
	s, err := tlog.Check(os.DirFS(dir), pinned, tlog.CheckOptions{Each: func(i int64, data []byte) error {
		if i != int64(next) || string(data) != string(leaf(next)) {
			return fmt.Errorf("entry %d is %q", i, data)
		}
		next++
		return nil
	}})
	if err != nil || next != size || s.Checkpoint().Size != int64(size) {
		t.Fatalf("%d entries of %d, %v", next, size, err)
	}
}

func TestALogGrowsAndIsReadBack(t *testing.T) {
	dir := filepath.Join(scratch(t), "a", "log")
	l := open(t, dir)
	if l.Size() != 0 {
		t.Errorf("size %d of a new log", l.Size())
	}
	check(t, dir, 0)
	size := 0
	for _, step := range []int{1, 2, 253, 1, 255, 1, 300, 0, 700} {
		add(t, l, size, size+step)
		size += step
		check(t, dir, size)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(t, dir)
	add(t, l, size, size+70_000)
	check(t, dir, size+70_000)
}

func TestManyAppendAtATime(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	const writers, each = 64, 20
	got := make([]string, writers*each)
	var pool sync.WaitGroup
	for w := range writers {
		pool.Go(func() {
			for i := range each {
				data := fmt.Sprintf("%d/%d", w, i)
				at, err := l.Append(context.Background(), []byte(data))
				if err != nil {
					t.Error(err)
					return
				}
				if l.Size() <= at {
					t.Errorf("entry %d was acknowledged at size %d", at, l.Size())
				}
				got[at] = data
			}
		})
	}
	pool.Wait()
	var have []string
	if _, err := tlog.Check(os.DirFS(dir), pinned, tlog.CheckOptions{Each: func(_ int64, data []byte) error {
		have = append(have, string(data))
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got, have); d != "" {
		t.Error(d)
	}
}

func TestASecondWriterIsRefused(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	if _, err := posix.Open(dir, signer, origin, posix.Options{}); fault.Of(err) != posix.Locked {
		t.Errorf("a second writer: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), nil); fault.Of(err) != posix.Closed {
		t.Errorf("an append to a closed log: %v", err)
	}
	open(t, dir)
}
