package crash_test

import (
	"errors"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
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

const program = `package main

import (
	"fmt"
	"os"

	"assay/run/crash"
)

func main() {
	defer func() { fmt.Println("deferred") }()
	for i := range 5 {
		crash.Point(fmt.Sprint("p", i+1))
	}
	if _, err := fmt.Println("done"); err != nil {
		os.Exit(1)
	}
}
`

func TestProcessEndsAtItsPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program; run without -short")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs the go command to build a program with the tag")
	}
	dir := t.TempDir()
	source, bin := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), goTool, "build", "-tags", "crash", "-o", bin, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range []struct {
		at, count, out string
		killed         bool
	}{{"", "5", "done\ndeferred\n", false}, {"3", "3", "", true}, {"6", "5", "done\ndeferred\n", false}} {
		count := filepath.Join(t.TempDir(), "count")
		cmd := exec.CommandContext(t.Context(), bin)
		cmd.Env = append(os.Environ(), "ASSAY_CRASH_AT="+c.at, "ASSAY_CRASH_COUNT="+count)
		out, err := cmd.Output()
		var exit *exec.ExitError
		killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		if killed != c.killed || (err != nil && !killed) || string(out) != c.out {
			t.Errorf("at %q: killed %v (%v), said %q", c.at, killed, err, out)
		}
		if killed && !strings.Contains(string(exit.Stderr), "point 3, p3") {
			t.Errorf("at %q: %q does not say where", c.at, exit.Stderr)
		}
		if text, err := os.ReadFile(count); err != nil || strings.TrimLeft(strings.TrimSpace(string(text)), "0") != c.count {
			t.Errorf("at %q: counted %q, want %s (%v)", c.at, text, c.count, err)
		}
	}
}
