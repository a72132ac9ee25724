package snapshot_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/conductor"
	"assay/conductor/profile"
	"assay/conductor/reading"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/fault"
	"assay/flow/conductor/play"
	"assay/flow/conductor/snapshot"
)

var _ play.Inspector = (*snapshot.Inspector)(nil)

// lay writes a repository "repo" beside a secret and a sibling with the same beginning, and returns its path.
// "name -> target" is a link.
func lay(t testing.TB, files map[string]string) string {
	t.Helper()
	base := t.TempDir()
	root := filepath.Join(base, "repo")
	must(t, os.MkdirAll(filepath.Join(base, "repo-evil"), 0o755))
	must(t, os.WriteFile(filepath.Join(base, "repo-evil", "x"), []byte("SECRET"), 0o644))
	must(t, os.WriteFile(filepath.Join(base, "secret"), []byte("SECRET"), 0o644))
	must(t, os.MkdirAll(root, 0o755))
	for name, data := range files {
		link, target, is := strings.Cut(name, " -> ")
		path := filepath.Join(root, link)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if is {
			must(t, os.Symlink(target, path))
		} else {
			must(t, os.WriteFile(path, []byte(data), 0o644))
		}
	}
	return root
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, root string) *snapshot.Dir {
	t.Helper()
	d, err := snapshot.Open(root)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

func call(t testing.TB, line string) reading.Call {
	t.Helper()
	c, ok := reading.Parse(line, profile.Strict)
	if !ok {
		t.Fatalf("%q is no call", line)
	}
	return c
}

func shows(t *testing.T, root, line, want string) {
	t.Helper()
	out, _, err := reading.Inspect(open(t, root).FS(t.Context()), call(t, line), profile.Strict, reading.Budget{})
	if err != nil || out != want {
		t.Errorf("%s shows %q, %v, want %q", line, out, err, want)
	}
}

func take(t testing.TB, root string) reading.Snapshot {
	t.Helper()
	s, err := open(t, root).Take(t.Context(), reading.Budget{}, nil)
	must(t, err)
	return s
}

func pinned(t testing.TB, id string, tools ...string) task.Pinned {
	t.Helper()
	if tools == nil {
		tools = []string{reading.Read}
	}
	slice, err := window.Slice("n", []task.Spec{{ID: id, Benchmark: "b", Tools: tools}})
	must(t, err)
	return slice[0]
}

func TestLinksOnDiskLeadNowhereElse(t *testing.T) {
	root := lay(t, map[string]string{
		"f": "text", "d/g": "deep", "in -> d/g": "", "dir -> d": "", "out -> ../secret": "", "evil -> ../repo-evil": "", "abs -> /etc": "",
		"l1 -> l2": "", "l2 -> l1": "", "self -> self/x": "", "gone -> none": "", "back -> d/../f": "",
	})
	shows(t, root, "READ in", "     1\tdeep")
	shows(t, root, "READ dir/g", "     1\tdeep")
	shows(t, root, "READ back", "     1\ttext")
	for _, arg := range []string{"out", "evil/x", "abs/passwd", "abs/none"} {
		shows(t, root, "READ "+arg, "error: "+arg+" is outside the repository root")
	}
	for _, arg := range []string{"l1", "self", "gone", "d", "f/x", "l1/x"} {
		shows(t, root, "READ "+arg, "error: "+arg+" is not a file")
	}
	shows(t, root, "FIND SECRET", "")
	shows(t, root, "FIND deep", "in:1:deep\nd/g:1:deep")
}

func TestMetadataOnDiskIsHiddenAndRefused(t *testing.T) {
	for _, files := range []map[string]string{{".git/HEAD": "SECRET"}, {".git": "SECRET"}, {".git -> ../secret": ""}, {"sub/.git/HEAD": "SECRET"}} {
		files["f"] = "SECRE"
		root := lay(t, files)
		shows(t, root, "FIND SECRE", "f:1:SECRE")
		if _, err := open(t, root).Take(t.Context(), reading.Budget{}, nil); fault.Of(err) != conductor.VCSData {
			t.Errorf("%v: %v", files, err)
		}
	}
}

// A pipe without a writer would be waited for without end.
func TestAPipeIsNeverWaitedFor(t *testing.T) {
	root := lay(t, map[string]string{"f": "x", "link -> pipe": ""})
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644); err != nil {
		t.Skipf("this file system has no pipes: %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		shows(t, root, "READ pipe", "error: pipe is not a file")
		shows(t, root, "READ link", "error: link is not a file")
		shows(t, root, "FIND x", "f:1:x")
		if _, err := open(t, root).Take(t.Context(), reading.Budget{}, nil); fault.Of(err) != conductor.BadTree {
			t.Errorf("a tree with a pipe: %v", err)
		}
		f, err := open(t, root).FS(t.Context()).Open("pipe") // as when a file is swapped for a pipe after it was looked at
		if err == nil {
			f.Close()
		}
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the pipe is waited for")
	}
}

func TestAFileThatMayNotBeRead(t *testing.T) {
	root := lay(t, map[string]string{"f": "x", "g": "x"})
	must(t, os.Chmod(filepath.Join(root, "g"), 0))
	if _, err := os.ReadFile(filepath.Join(root, "g")); err == nil {
		t.Skip("this user may read every file: run as another to see the refusal")
	}
	shows(t, root, "READ g", "error: g is not a file")
	shows(t, root, "FIND x", "f:1:x")
	if _, err := open(t, root).Take(t.Context(), reading.Budget{}, nil); fault.Of(err) != conductor.BadTree {
		t.Errorf("%v", err)
	}
}

func TestFault22_AHugeLineOnDisk(t *testing.T) {
	root := lay(t, map[string]string{"f": strings.Repeat("a", 3<<20) + "\nTARGET\n"})
	shows(t, root, "FIND TARGET", "f:2:TARGET")
	shows(t, root, "READ f 2", "     2\tTARGET")
}

// The example of the specification, digested by another program.
func TestTheDigestOfTheExample(t *testing.T) {
	s := take(t, lay(t, map[string]string{"src/main.go": "package main\n", "src/old.go -> main.go": ""}))
	if want := (reading.Snapshot{Digest: "a5195d0fc5a67540b6e11bcadd517e8f7c753adfe06973ec971c54e6ba37ee49", Files: 3, Bytes: 13}); s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
}

func TestTheDigestIsOfWhatIsShown(t *testing.T) {
	files := map[string]string{"a/b": "x", "a.c": "y", "l -> a/b": "", "z": ""}
	base := take(t, lay(t, files))
	if again := take(t, lay(t, files)); again != base {
		t.Errorf("two copies: %v and %v", base, again)
	}
	if base.Files != 5 || base.Bytes != 2 {
		t.Errorf("%+v", base)
	}
	seen := map[string]bool{base.Digest: true}
	for name, change := range map[string]func(map[string]string){
		"text": func(m map[string]string) { m["a/b"] = "X" }, "name": func(m map[string]string) { delete(m, "z"); m["y"] = "" },
		"target":         func(m map[string]string) { delete(m, "l -> a/b"); m["l -> a.c"] = "" },
		"link to file":   func(m map[string]string) { delete(m, "l -> a/b"); m["l"] = "a/b" },
		"more":           func(m map[string]string) { m["new"] = "" },
		"file to folder": func(m map[string]string) { delete(m, "z"); m["z/z"] = "" },
	} {
		m := map[string]string{}
		for k, v := range files {
			m[k] = v
		}
		change(m)
		if s := take(t, lay(t, m)); seen[s.Digest] {
			t.Errorf("%s does not move the digest", name)
		} else {
			seen[s.Digest] = true
		}
	}
}

func TestAnInspectorServesTheRecordedTreeOnly(t *testing.T) {
	root := lay(t, map[string]string{"f": "text"})
	sum := take(t, root).Digest
	i := snapshot.NewInspector(map[string]snapshot.Source{
		"good": {root, sum}, "shared": {root, sum}, "other": {root, strings.Repeat("0", 64)}, "gone": {root + "-none", sum},
	}, profile.Strict, reading.Budget{})
	reads := 0
	must(t, i.Prepare(t.Context(), []task.Pinned{pinned(t, "good"), pinned(t, "shared"), pinned(t, "none", "bash")}, func(string, reading.Snapshot) { reads++ }))
	if reads != 1 {
		t.Errorf("a shared repository of one file was read %d times", reads)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			out, more, err := i.Inspect(t.Context(), pinned(t, "good"), call(t, "READ f"))
			if out != "     1\ttext" || more || err != nil {
				t.Errorf("%q, %v", out, err)
			}
		})
	}
	wg.Wait()
	for id, want := range map[string]fault.Code{"other": conductor.SnapshotChanged, "gone": conductor.NoSnapshot, "none": conductor.NoSnapshot} {
		if out, _, err := i.Inspect(t.Context(), pinned(t, id), call(t, "READ f")); fault.Of(err) != want || out != "" {
			t.Errorf("%s: %q, %v", id, out, err)
		}
	}
	if err := i.Prepare(t.Context(), []task.Pinned{pinned(t, "other")}, nil); fault.Of(err) != conductor.SnapshotChanged {
		t.Errorf("prepared: %v", err)
	}
	must(t, i.Close())
	if _, _, err := i.Inspect(t.Context(), pinned(t, "good"), call(t, "READ f")); fault.Of(err) != conductor.NoSnapshot {
		t.Errorf("after the end: %v", err)
	}
}

func TestBehaviourB12_VerbsAndRepositoriesStandTogether(t *testing.T) {
	root := lay(t, map[string]string{"f": "text"})
	i := snapshot.NewInspector(map[string]snapshot.Source{"t": {root, take(t, root).Digest}}, profile.Strict, reading.Budget{})
	defer i.Close()
	for _, bad := range []task.Pinned{pinned(t, "other"), pinned(t, "t", "bash")} {
		if err := i.Prepare(t.Context(), []task.Pinned{pinned(t, "t"), bad}, nil); fault.Of(err) != conductor.VerbsWithoutEnvironment {
			t.Errorf("%s with %v: %v", bad.ID(), bad.Tools(), err)
		}
	}
}

func TestAnInspectionEndsWithItsContext(t *testing.T) {
	root := lay(t, map[string]string{"f": "text"})
	i := snapshot.NewInspector(map[string]snapshot.Source{"t": {root, take(t, root).Digest}}, profile.Strict, reading.Budget{})
	defer i.Close()
	ctx, cancel := context.WithCancel(t.Context())
	must(t, i.Prepare(ctx, []task.Pinned{pinned(t, "t")}, nil))
	cancel()
	for _, line := range []string{"READ f", "LIST .", "FIND x"} {
		out, _, err := i.Inspect(ctx, pinned(t, "t"), call(t, line))
		if fault.Of(err) != conductor.InspectionFailed || !errors.Is(err, context.Canceled) || out != "" {
			t.Errorf("%s: %q, %v", line, out, err)
		}
	}
	if _, err := open(t, root).Take(ctx, reading.Budget{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("taken: %v", err)
	}
}

func TestPublishedObservationsAreReplayed(t *testing.T) {
	root := lay(t, map[string]string{"f": "text\nmore\n"})
	sum := take(t, root).Digest
	o := reading.Observation{Call: call(t, "READ f 2"), Output: "     2\tmore"}
	must(t, snapshot.Replay(t.Context(), root, sum, o, profile.Strict))
	forged := o
	forged.Output = "     2\tmost"
	err := snapshot.Replay(t.Context(), root, sum, forged, profile.Strict)
	if fault.Of(err) != conductor.ObservationDiffers || !strings.Contains(err.Error(), "byte 9") {
		t.Errorf("another output: %v", err)
	}
	cut := o
	cut.Truncated = true
	if err := snapshot.Replay(t.Context(), root, sum, cut, profile.Strict); fault.Of(err) != conductor.ObservationDiffers {
		t.Errorf("another truncation: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(root, "f"), []byte("text\nmost\n"), 0o644))
	if err := snapshot.Replay(t.Context(), root, sum, forged, profile.Strict); fault.Of(err) != conductor.SnapshotChanged {
		t.Errorf("a changed tree: %v", err)
	}
	if err := snapshot.Replay(t.Context(), root+"-none", sum, o, profile.Strict); fault.Of(err) != conductor.NoSnapshot {
		t.Errorf("no tree: %v", err)
	}
}

// While names are swapped between a folder and a link out of the repository, nothing from outside is ever shown.
func TestFault23_ASwappedLinkDoesNotEscape(t *testing.T) {
	root := lay(t, map[string]string{"d/secret": "inside", "d/x": "inside", "evil -> ../repo-evil": "", "up -> ..": ""})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		d, link, kept := filepath.Join(root, "d"), filepath.Join(root, "up"), filepath.Join(root, "kept")
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(d, kept)
			_ = os.Rename(link, d)
			_ = os.Rename(d, link)
			_ = os.Rename(kept, d)
		}
	})
	fsys := open(t, root).FS(t.Context())
	for range 3000 {
		for _, line := range []string{"READ d/secret", "READ evil/x", "FIND SECRET"} {
			out, _, err := reading.Inspect(fsys, call(t, line), profile.Strict, reading.Budget{})
			if err == nil && strings.Contains(out, "SECRET") {
				t.Errorf("%s shows %q", line, out)
			}
		}
	}
	close(stop)
	wg.Wait()
}
