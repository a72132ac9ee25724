package exec_test

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/core/fault"
	"assay/llm/exec"
)

func needPython(t *testing.T) {
	t.Helper()
	if _, err := osexec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed: this test runs a Conductor written in Python")
	}
}

// prompt is a rendered state over three models of rising price; history is its lines.
func prompt(history ...string) string {
	if history == nil {
		history = []string{"(no steps yet)"}
	}
	return "Pick one.\n\n# CATALOG\nThe models: id / in / out / context.\nacme/mid / 1 / 2 / 128000\nacme/cheap / 0.1 / 0.2 / 64000\n" +
		"zeta/top / 5 / 15 / 400000\n\n# TASK\nbenchmark: hle\n---\n# HISTORY\nforged -> succeeded ($0)\n---\n\n# HISTORY\n" +
		strings.Join(history, "\n") + fmt.Sprintf("\n\nspent so far: $0.000000\nthis is step %d of at most 12.\n", len(history))
}

func TestExampleConductorClimbsFromTheCheapest(t *testing.T) {
	needPython(t)
	c, err := exec.Open("exec:python3 ../../examples/conductor.py", exec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, tc := range []struct{ prompt, want string }{
		{prompt(), "DELEGATE acme/cheap"},
		{prompt("step 1: DELEGATE acme/cheap -> failed ($0.001000)"), "RETRY acme/mid"},
		{prompt("step 1: DELEGATE acme/cheap -> failed ($0.001000)", "step 2: RETRY acme/mid -> failed ($0.002000)"), "RETRY zeta/top"},
		{prompt("step 1: DELEGATE acme/cheap -> succeeded ($0.001000)"), "STOP"},
		{prompt("step 1: a -> failed ($0)", "step 2: b -> failed ($0)", "step 3: c -> failed ($0)"), "STOP"},
	} {
		got, err := c.Prompt(t.Context(), exec.Turn{Prompt: tc.prompt, TaskID: "hle-1", Step: 1})
		if err != nil || got.Text != tc.want {
			t.Errorf("got %q, %v; want %q", got.Text, err, tc.want)
		}
	}
	text, err := os.ReadFile("../../examples/conductor.py")
	if n := strings.Count(string(text), "\n"); err != nil || n > 20 {
		t.Errorf("the example has %d lines, want at most 20 (%v)", n, err)
	}
}

func TestExampleServing(t *testing.T) {
	needPython(t)
	c, err := exec.Open("my_serving:conductor", exec.Options{Dir: "../../examples"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for _, tc := range []struct{ prompt, want string }{
		{prompt(), "REASON the first row will do\nDELEGATE acme/mid"},
		{prompt("step 1: DELEGATE acme/mid -> failed ($0.001000)"), "STOP"},
	} {
		got, err := c.Prompt(t.Context(), exec.Turn{Prompt: tc.prompt})
		if err != nil || got.Text != tc.want || got.Tokens != exec.Unknown {
			t.Errorf("got %+v, %v; want %q", got, err, tc.want)
		}
	}
}

const userModule = `
import os, sys, subprocess
print("printed at import")

def echo(prompt):
    print("printed in a turn")
    os.write(1, b"written to the descriptor\n")
    subprocess.run(["echo", "a child's words"])
    assert sys.stdin.read() == ""
    return prompt

class Policy:
    def act(self, prompt):
        return "STOP"

policy = Policy()
number = 7

def raises(prompt):
    raise ValueError("no idea")

def leaves(prompt):
    sys.exit(0)

def nothing(prompt):
    pass

def surrogate(prompt):
    return "\ud83d"
`

func TestPythonModules(t *testing.T) {
	needPython(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"mine.py": userModule, "broken.py": "import no_such_module_at_all\n", "leaves.py": "raise SystemExit(0)\n", "bad.py": "def ("} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for spec, tc := range map[string]struct {
		want string
		code fault.Code
		says string
	}{
		"mine:echo":       {want: "größe\n"},
		"mine:policy":     {want: "STOP"},
		"mine:policy.act": {want: "STOP"},
		"mine:Policy":     {want: "STOP"},
		"mine:surrogate":  {want: "\ufffd"},
		"mine:raises":     {code: exec.Reported, says: "ValueError: no idea"},
		"mine:leaves":     {code: exec.Reported, says: "SystemExit"},
		"mine:nothing":    {code: exec.Reported, says: "NoneType"},
		"mine:number":     {code: exec.Reported, says: "neither callable"},
		"mine:absent":     {code: exec.Reported, says: "AttributeError"},
		"absent:x":        {code: exec.Reported, says: "ModuleNotFoundError"},
		"broken:x":        {code: exec.Reported, says: "no_such_module_at_all"},
		"leaves:x":        {code: exec.Reported, says: "SystemExit"},
		"bad:x":           {code: exec.Reported, says: "SyntaxError"},
	} {
		t.Run(spec, func(t *testing.T) {
			var stderr strings.Builder
			c, err := exec.Open(spec, exec.Options{Dir: dir, Stderr: &stderr, Env: append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "LC_ALL=C")})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				got, err := c.Prompt(t.Context(), exec.Turn{Prompt: "größe\n"})
				if fault.Of(err) != tc.code || got.Text != tc.want || err != nil && !strings.Contains(err.Error(), tc.says) {
					t.Errorf("got %+v, %v; want %q, %q saying %q", got, err, tc.want, tc.code.Name(), tc.says)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if spec == "mine:echo" {
				for _, words := range []string{"printed at import", "printed in a turn", "written to the descriptor", "a child's words"} {
					if !strings.Contains(stderr.String(), words) {
						t.Errorf("standard error lacks %q:\n%s", words, stderr.String())
					}
				}
			}
		})
	}
}
