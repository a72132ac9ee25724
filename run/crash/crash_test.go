package crash_test

import (
	"errors"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Without the tag a binary has the empty Point only; with it, the armed one only.
func TestNormalBinariesHoldNoCrash(t *testing.T) {
	for _, c := range []struct {
		tags []string
		want map[string]bool
	}{{nil, map[string]bool{"crash.go": true, "armed.go": false}}, {[]string{"crash"}, map[string]bool{"crash.go": false, "armed.go": true}}} {
		ctx := build.Default
		ctx.BuildTags = c.tags
		for name, want := range c.want {
			if got, err := ctx.MatchFile(".", name); err != nil || got != want {
				t.Errorf("tags %v: %s is built: %v, want %v (%v)", c.tags, name, got, want, err)
			}
		}
	}
	text, err := os.ReadFile("crash.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(text), "func Point(name string) {}\n") || strings.Contains(string(text), "import") {
		t.Error("the point of a normal binary does something")
	}
}

// program builds testdata/NAME.go.txt with the tag and returns the binary. It is built from outside the tree, by its file, so
// that nobody takes it for a package of ours.
func program(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a program; run without -short")
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs the go command to build a program with the tag")
	}
	text, err := os.ReadFile(filepath.Join("testdata", name+".go.txt"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source, bin := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), tool, "build", "-tags", "crash", "-o", bin, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

// start runs a program that is to be killed at a point, 0 for never, and returns what it said, how many points it passed,
// whether it was killed, and its last words.
func start(t *testing.T, at int, bin string, args ...string) (out string, passed int, killed bool, words string) {
	t.Helper()
	count := filepath.Join(t.TempDir(), "count")
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Env = append(os.Environ(), "ASSAY_CRASH_AT="+strconv.Itoa(at), "ASSAY_CRASH_COUNT="+count)
	said, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		killed, words = exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL, string(exit.Stderr)
	}
	if err != nil && !killed {
		t.Fatalf("killed at point %d: %v: %s", at, err, words)
	}
	text, err := os.ReadFile(count)
	if errors.Is(err, os.ErrNotExist) {
		return string(said), 0, killed, words // it met no point
	}
	if err != nil {
		t.Fatal(err)
	}
	passed, err = strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return string(said), passed, killed, words
}

func TestProcessEndsAtItsPoint(t *testing.T) {
	bin := program(t, "points")
	for _, c := range []struct {
		at, passed int
		out, words string
		killed     bool
	}{{0, 5, "done\ndeferred\n", "", false}, {3, 3, "", "crash: ended at point 3, p3\n", true}, {6, 5, "done\ndeferred\n", "", false}} {
		out, passed, killed, words := start(t, c.at, bin)
		if out != c.out || passed != c.passed || killed != c.killed || words != c.words {
			t.Errorf("killed at %d: said %q, passed %d, killed %v, last words %q", c.at, out, passed, killed, words)
		}
	}
}

// An arm is killed at each of its points, and once more on its way back; then it finishes. Nothing is paid twice, no result is
// lost or doubled, and the journal stays small.
func TestArmSurvivesEveryPoint(t *testing.T) {
	bin := program(t, "arm")
	_, points, _, _ := start(t, 0, bin, t.TempDir())
	met := map[string]bool{}
	for at := 1; at <= points; at++ {
		dir := t.TempDir()
		_, _, killed, words := start(t, at, bin, dir)
		if !killed {
			t.Fatalf("point %d of %d was not met", at, points)
		}
		_, name, _ := strings.Cut(strings.TrimSpace(words), ", ")
		met[name] = true
		if at%3 == 0 {
			start(t, 1+at%7, bin, dir)
		}
		start(t, 0, bin, dir)
		checkArm(t, dir, at, name)
	}
	for _, name := range []string{
		"journal: before a write", "journal: between write and fsync", "journal: after an fsync", "journal: before a compaction",
		"journal: the new file is written", "journal: the new file is on disk", "journal: the new file has the name",
		"journal: after a compaction", "lines: before a write", "lines: between write and fsync", "lines: after an fsync",
	} {
		if !met[name] {
			t.Errorf("no process was killed at %q", name)
		}
	}
}

func checkArm(t *testing.T, dir string, at int, name string) {
	t.Helper()
	read := func(file string) string {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	paid := map[string]int{}
	for line := range strings.Lines(read("paid")) {
		if paid[line]++; paid[line] > 1 {
			t.Errorf("killed at %d, %s: %q was paid again", at, name, line)
		}
	}
	results := strings.Split(strings.TrimSpace(read("results")), "\n")[1:]
	for i, line := range results {
		doubts := !strings.HasSuffix(line, " 0")
		if want := "run" + strconv.Itoa(i) + " "; !strings.HasPrefix(line[9:], want) || !doubts && line[9:] != want+"3 0" {
			t.Errorf("killed at %d, %s: result %d is %q", at, name, i, line)
		}
	}
	if len(results) != 9 || len(paid) < 16 {
		t.Errorf("killed at %d, %s: %d results of %d payments", at, name, len(results), len(paid))
	}
	if n := len(read("journal")); n > 5000 {
		t.Errorf("killed at %d, %s: the journal has %d bytes", at, name, n)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.compacting")); len(left) > 0 {
		t.Errorf("killed at %d, %s: %v stayed", at, name, left)
	}
}
