package league_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/conductor/policy"
)

// small is the league that is killed at every write: two tasks of six benchmarks.
var small = form{
	perBenchmark: 2, minimum: 2, seed: "small-51", kingZero: policy.Strongest,
	benchmarks: "MMLUPro_business,MMLUPro_computer science,MMLUPro_engineering,MathQA,MedMCQA,NarrativeQA",
}

// snapshot copies the league's folder.
func (s *stage) snapshot(to string) {
	s.t.Helper()
	must(s.t, os.RemoveAll(to))
	must(s.t, os.CopyFS(to, os.DirFS(s.dir)))
	// CopyFS keeps no modes, and a key that others may read is refused.
	for _, k := range []string{"owner/owner.seed", "owner/gateway.seed", "owner/identity.age"} {
		must(s.t, os.Chmod(filepath.Join(to, k), 0o600))
	}
}

// published reads every file of a publication.
func published(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	root := os.DirFS(filepath.Join(dir, "owner", "public"))
	must(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[path], err = fs.ReadFile(root, path)
		return err
	}))
	return files
}

// differ says in what two publications differ, "" for nothing.
func differ(want, got map[string][]byte) string {
	for name, text := range want {
		if !bytes.Equal(got[name], text) {
			return fmt.Sprintf("%s differs (%d bytes, not %d)", name, len(got[name]), len(text))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			return name + " should not be there"
		}
	}
	return ""
}

// TestKilledAtEveryWrite kills the owner at its n-th write, lets it go on, and compares what it publishes. Without
// ASSAY_CRASH_ALL it takes as many points as fit into ASSAY_CRASH_SECONDS (40), spread evenly; "make crash" takes all, or all from
// ASSAY_CRASH_FROM on.
func TestKilledAtEveryWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("killing at every write takes a minute: run without -short")
	}
	s := newStage(t, build(t, "crash"), small)
	for i, m := range cast {
		s.submit(i, m)
	}
	s.head(220)
	template := t.TempDir()
	s.snapshot(template)
	run := []string{"conductor", "window", "run", "owner", "--until", "3"}
	count := filepath.Join(t.TempDir(), "count")
	began := time.Now()
	out, err := s.run([]string{"ASSAY_CRASH_COUNT=" + count}, run...)
	must(t, err)
	took := time.Since(began)
	want := published(t, s.dir)
	text, err := os.ReadFile(count)
	must(t, err)
	points, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	billed, again := s.provider.paid()
	crowned := strings.Count(out, "crowned ")
	t.Logf("one run passes %d points in %v; %d calls billed, %d asked again, %d crowns", points, took, billed, again, crowned)
	if crowned == 0 || again != 0 || s.provider.unnamed != 0 {
		t.Fatalf("the small league crowns nobody, or asks again: %s", out)
	}
	killed, short, deadline := 0, 0, time.Now().Add(seconds(t))
	step := 1
	if os.Getenv("ASSAY_CRASH_ALL") == "" {
		step = max(1, int(time.Duration(points)*(3*took/2)/seconds(t)))
	}
	asked, paidTwice := 0, 0
	first := 1 + int(time.Now().Unix())%step // another comb each time
	if n, err := strconv.Atoi(os.Getenv("ASSAY_CRASH_FROM")); err == nil {
		first = n
	}
	for at := first; at <= points; at += step {
		if os.Getenv("ASSAY_CRASH_ALL") == "" && time.Now().After(deadline) {
			break
		}
		s.restore(template)
		s.provider.reset()
		_, err := s.run([]string{"ASSAY_CRASH_AT=" + strconv.Itoa(at)}, run...)
		switch {
		case wasKilled(err):
			killed++
		case err == nil && at > points*4/5:
			short++ // records that meet share a write, so that runs differ in how many they make; this one ended before its moment
		default:
			t.Fatalf("point %d: the process was not killed: %v", at, err)
		}
		if out, err := s.run(nil, run...); err != nil {
			t.Fatalf("point %d: going on: %v\n%s", at, err, out)
		}
		if d := differ(want, published(t, s.dir)); d != "" {
			t.Fatalf("point %d: %s", at, d)
		}
		b, a := s.provider.paid()
		asked += a
		if b != billed || s.provider.unnamed != 0 {
			paidTwice++
			t.Errorf("point %d: %d calls billed, not %d; %d without a key", at, b, billed, s.provider.unnamed)
		}
	}
	t.Logf("killed at %d of %d writes (%d runs made fewer): %d publications equal byte for byte; calls paid twice: %d; answers fetched again from the provider's record: %d",
		killed, points, short, killed+short, paidTwice, asked)
	if killed == 0 {
		t.Error("nothing was killed")
	}
}

func seconds(t testing.TB) time.Duration {
	n, err := strconv.Atoi(os.Getenv("ASSAY_CRASH_SECONDS"))
	if err != nil {
		n = 40
	}
	return time.Duration(n) * time.Second
}

// restore puts the league back to where its windows begin.
func (s *stage) restore(template string) {
	s.t.Helper()
	for _, d := range []string{"owner", "chain.json"} {
		must(s.t, os.RemoveAll(filepath.Join(s.dir, d)))
	}
	must(s.t, os.CopyFS(filepath.Join(s.dir, "owner"), os.DirFS(filepath.Join(template, "owner"))))
	text, err := os.ReadFile(filepath.Join(template, "chain.json"))
	must(s.t, err)
	must(s.t, os.WriteFile(filepath.Join(s.dir, "chain.json"), text, 0o600))
	for _, k := range []string{"owner.seed", "gateway.seed", "identity.age"} {
		must(s.t, os.Chmod(filepath.Join(s.dir, "owner", k), 0o600))
	}
}

func wasKilled(err error) bool {
	var e *exec.ExitError
	if !errors.As(err, &e) {
		return false
	}
	status, ok := e.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
