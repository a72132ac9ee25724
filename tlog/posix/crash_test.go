package posix_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"assay/core/fault"
	"assay/tlog"
	"assay/tlog/posix"
)

// What a child process is told: the folder to write, and the step at which it kills itself.
const childDir, childStep = "TLOG_TEST_DIR", "TLOG_TEST_STEP"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// script is the sizes at which a run publishes: partial tiles that stay, that are replaced, and full ones.
var script = []int{1, 3, 257, 520}

// play appends what the script still lacks.
func play(dir string, hook func(string)) error {
	l, err := posix.Open(dir, signer, origin, posix.Options{Hook: hook})
	if err != nil {
		return err
	}
	for _, size := range script {
		if at := int(l.Size()); at < size {
			if _, err := l.AppendAll(ctx, leaves(at, size)); err != nil {
				return err
			}
		}
	}
	return l.Close()
}

func child(dir string) error {
	at, err := strconv.Atoi(os.Getenv(childStep))
	if err != nil {
		return err
	}
	var mu sync.Mutex
	return play(dir, func(string) {
		mu.Lock()
		defer mu.Unlock()
		if at--; at == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
}

// whole is what the script leaves behind when nothing happens to it.
func whole(t *testing.T) map[string]string {
	t.Helper()
	dir := filepath.Join(scratch(t), "log")
	if err := play(dir, nil); err != nil {
		t.Fatal(err)
	}
	check(t, dir, script[len(script)-1])
	return folder(t, dir)
}

// readable checks that whatever the checkpoint covers can be proven, whatever else lies in the folder.
func readable(t *testing.T, dir string) {
	t.Helper()
	r, err := tlog.OpenReader(os.DirFS(dir), pinned, tlog.Limits{})
	if fault.Of(err) == tlog.NoCheckpoint { // killed before there was a log
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	size := r.Signed().Checkpoint().Size
	for i := int64(0); i < size; i += max(1, size/7) {
		if data, err := r.Entry(i); err != nil || string(data) != string(leaf(int(i))) {
			t.Fatalf("entry %d of %d: %q, %v", i, size, data, err)
		}
	}
}

// At every step of a whole run the folder is copied as a crash would leave it; from each copy the run ends with the same bytes.
func TestARunThatDiesAnywhereEndsWithTheSameBytes(t *testing.T) {
	want := whole(t)
	base := scratch(t)
	dir := filepath.Join(base, "log")
	var mu sync.Mutex
	var copies []string
	names := map[string]bool{}
	if err := play(dir, func(step string) {
		mu.Lock()
		defer mu.Unlock()
		names[step] = true
		to := filepath.Join(base, fmt.Sprintf("%d after %s", len(copies), filepath.Base(step)))
		if err := copyFolder(to, dir); err != nil {
			t.Error(err)
		}
		copies = append(copies, to)
	}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"tlog/written", "tlog/temp", "tlog/tile", "tlog/folders", "tlog/checkpoint", "tlog/prune"} {
		if !names[step] {
			t.Errorf("no step %s", step)
		}
	}
	for _, at := range copies {
		readable(t, at)
		l := open(t, at) // opening alone leaves nothing in the folder but the log
		size := int(l.Size())
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		check(t, at, size)
		if err := play(at, nil); err != nil {
			t.Fatalf("%s: %v", filepath.Base(at), err)
		}
		if d := cmp.Diff(want, folder(t, at)); d != "" {
			t.Fatalf("%s: %s", filepath.Base(at), d)
		}
	}
}

// What a batch that was never published left behind does not stand in the way of other leaves.
func TestAnUnfinishedBatchMayBeFollowedByAnother(t *testing.T) {
	dir := scratch(t)
	l := open(t, dir)
	add(t, l, 0, 3)
	unfinished := filepath.Join(scratch(t), "log")
	l.FailAt(func(step string) error {
		if step == "tlog/folders" {
			return copyFolder(unfinished, dir)
		}
		return nil
	})
	add(t, l, 3, 700)
	l = open(t, unfinished)
	if l.Size() != 3 {
		t.Fatalf("size %d", l.Size())
	}
	if _, err := l.AppendAll(ctx, leaves(0, 697)); err != nil { // as many as before, and others
		t.Fatal(err)
	}
	if _, err := tlog.Check(os.DirFS(unfinished), pinned, tlog.CheckOptions{}); err != nil {
		t.Error(err)
	}
}

// copyFolder copies a folder that others are writing: what has gone since it was listed is left out.
func copyFolder(to, from string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, name)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		data, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o644)
	})
}

// A process that is killed again and again, a little later each time, gets there in the end.
func TestAProcessThatIsKilledAgainAndAgainEndsWithTheSameBytes(t *testing.T) {
	want := whole(t)
	dir := filepath.Join(scratch(t), "log")
	killed := 0
	for step := 1; ; step += 5 {
		if step > 1000 {
			t.Fatal("it never ends")
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childDir+"="+dir, childStep+"="+strconv.Itoa(step))
		out, err := cmd.CombinedOutput()
		if err == nil {
			break
		}
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
			t.Fatalf("%v: %s", err, out)
		}
		killed++
		readable(t, dir)
	}
	if killed < 5 {
		t.Errorf("it was killed %d times", killed)
	}
	if d := cmp.Diff(want, folder(t, dir)); d != "" {
		t.Error(d)
	}
}

func TestPartialTilesStayUntilTheFullOneIsThere(t *testing.T) {
	dir := scratch(t)
	l := open(t, dir)
	has := func(name string) bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
	add(t, l, 0, 10)
	add(t, l, 10, 255)
	for _, name := range []string{"tile/entries/000.p/10", "tile/0/000.p/10", "tile/entries/000.p/255", "tile/0/000.p/255"} {
		if !has(name) {
			t.Errorf("%s is gone while its checkpoint may be in use", name)
		}
	}
	add(t, l, 255, 257)
	for _, name := range []string{"tile/entries/000.p", "tile/0/000.p"} {
		if has(name) {
			t.Errorf("%s is there beside the full tile", name)
		}
	}
	for _, name := range []string{"tile/entries/000", "tile/0/000", "tile/1/000.p/1", "tile/entries/001.p/1", "tile/0/001.p/1"} {
		if !has(name) {
			t.Errorf("%s is missing", name)
		}
	}
}
