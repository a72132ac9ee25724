package posix_test

import (
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
	"assay/core/sign"
	"assay/tlog"
	"assay/tlog/posix"
)

var ctx = context.Background()

// A disk that is full at one step of writing after the other: the append is refused and everything is as before.
func TestAFullDiskLeavesTheLogAsItWas(t *testing.T) {
	for _, step := range []string{"tlog/written", "tlog/temp", "tlog/tile", "tlog/folders"} {
		for nth := range 3 {
			dir := scratch(t)
			l := open(t, dir)
			add(t, l, 0, 250)
			before := folder(t, dir)
			var mu sync.Mutex
			left, full := nth, true
			l.FailAt(func(at string) error {
				mu.Lock()
				defer mu.Unlock()
				if !full || at != step {
					return nil
				}
				if left--; left < 0 || step == "tlog/folders" {
					return &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
				}
				return nil
			})
			_, err := l.AppendAll(ctx, leaves(250, 600))
			if fault.Of(err) != posix.NoSpace || !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s: %v", step, err)
			}
			if d := cmp.Diff(before, folder(t, dir)); d != "" || l.Size() != 250 {
				t.Errorf("%s: size %d, %s", step, l.Size(), d)
			}
			mu.Lock()
			full = false
			mu.Unlock()
			add(t, l, 250, 600)
			check(t, dir, 600)
		}
	}
}

// When the checkpoint was replaced and nobody knows whether that is on disk, the log takes nothing until it is opened again.
func TestAFailureBehindTheCheckpointBreaksTheLog(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	add(t, l, 0, 10)
	l.FailAt(func(step string) error {
		if step == "tlog/checkpoint" {
			return syscall.EIO
		}
		return nil
	})
	for range 2 {
		if _, err := l.Append(ctx, leaf(10)); fault.Of(err) != posix.Broken || !errors.Is(err, syscall.EIO) {
			t.Errorf("%v", err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(t, dir)
	add(t, l, int(l.Size()), 20)
	check(t, dir, 20)
}

func TestATileThatIsThereWithOtherBytesIsRefused(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	add(t, l, 0, 3)
	name := filepath.Join(dir, "tile/0/000.p/4")
	if err := os.WriteFile(name, []byte("somebody else's"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := l.Append(ctx, leaf(3))
	if fault.Of(err) != posix.OtherBytes || !strings.Contains(err.Error(), "tile/0/000.p/4") {
		t.Errorf("%v", err)
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != "somebody else's" {
		t.Errorf("the other file holds %q, %v", data, err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	add(t, l, 3, 4)
	check(t, dir, 4)
}

func TestFoldersThatAreNoLogOfOursAreLeftAlone(t *testing.T) {
	write := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	other := sign.NewEd25519([32]byte{9})
	for name, c := range map[string]struct {
		spoil  func(*testing.T, string)
		signer sign.Signer
		origin string
		code   fault.Code
	}{
		"a foreign file":         {write("notes.txt", "x"), signer, origin, tlog.Foreign},
		"a file that looks like": {write("tile/0/1", "x"), signer, origin, tlog.Foreign},
		"no checkpoint":          {remove("checkpoint"), signer, origin, posix.NotLog},
		"a broken checkpoint":    {write("checkpoint", "x"), signer, origin, tlog.BadCheckpoint},
		"an empty checkpoint":    {write("checkpoint", ""), signer, origin, tlog.NoCheckpoint},
		"another key":            {nil, other, origin, tlog.NotSigned},
		"another origin":         {nil, signer, "example.com/other", tlog.NotSigned},
		"a bad origin":           {nil, signer, "a b", tlog.BadKey},
		"a broken tile":          {write("tile/0/001.p/44", strings.Repeat("x", 44*32)), signer, origin, tlog.Damaged},
		"a short tile":           {write("tile/0/001.p/44", "x"), signer, origin, tlog.Damaged},
		"no tile":                {remove("tile/1/000.p/1"), signer, origin, tlog.Damaged},
		"a broken bundle":        {write("tile/entries/001.p/44", "x"), signer, origin, tlog.BadBundle},
		"no full tile":           {lose("tile/entries/000"), signer, origin, tlog.Damaged},
		"a link":                 {link("tile/0/999"), signer, origin, tlog.Foreign},
	} {
		dir := t.TempDir()
		l := open(t, dir)
		add(t, l, 0, 300)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if c.spoil != nil {
			c.spoil(t, dir)
		}
		before := folder(t, dir)
		if _, err := posix.Open(dir, c.signer, c.origin, posix.Options{}); fault.Of(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code.Name())
		}
		if d := cmp.Diff(before, folder(t, dir)); d != "" {
			t.Errorf("%s: it was changed: %s", name, d)
		}
	}
}

// lose removes a full tile that a left-over partial one asks for.
func lose(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		part := filepath.Join(dir, name+".p")
		if err := errors.Join(os.Remove(filepath.Join(dir, name)), os.Mkdir(part, 0o755), os.WriteFile(filepath.Join(part, "7"), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func link(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.Symlink("000", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnAppendThatIsCancelledInTimeIsNotMade(t *testing.T) {
	gone, cancel := context.WithCancel(ctx)
	cancel()
	dir := t.TempDir()
	l := open(t, dir)
	if _, err := l.Append(gone, leaf(0)); !errors.Is(err, context.Canceled) || l.Size() != 0 {
		t.Errorf("size %d, %v", l.Size(), err)
	}
	if first, err := l.AppendAll(ctx, nil); first != 0 || err != nil {
		t.Errorf("no leaves: %d, %v", first, err)
	}
	if _, err := l.AppendAll(ctx, [][]byte{leaf(0), make([]byte, tlog.MaxLeaf+1)}); fault.Of(err) != tlog.LeafTooLarge || l.Size() != 0 {
		t.Errorf("a leaf of 65536 bytes: size %d, %v", l.Size(), err)
	}
}

// While a batch is being written, one who waits behind it may go; nobody else notices.
func TestOneWhoWaitsMayGo(t *testing.T) {
	dir := t.TempDir()
	busy, goOn := make(chan struct{}), make(chan struct{})
	l := open(t, dir)
	var once sync.Once
	l.FailAt(func(step string) error {
		if step == "tlog/folders" {
			once.Do(func() { close(busy); <-goOn })
		}
		return nil
	})
	var pool sync.WaitGroup
	pool.Go(func() {
		if _, err := l.Append(ctx, leaf(0)); err != nil {
			t.Error(err)
		}
	})
	<-busy
	later, cancel := context.WithCancel(ctx)
	done := make(chan error)
	go func() {
		_, err := l.Append(later, []byte("never"))
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(goOn)
	pool.Wait()
	add(t, l, 1, 5)
	check(t, dir, 5)
}
