package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/cli"
)

// The lines of a small set of vectors: the right ones pass.
const (
	signRight = `{"id":"sign-1","op":"sign_test","in":{"deltas":[1,1,-1,1]},"want":{"wins":3,"p":0.3125}}` + "\n"
	signWrong = `{"id":"sign-2","op":"sign_test","in":{"deltas":[1,1,-1,1]},"want":{"wins":3,"p":0.3126}}` + "\n"
	thinRight = `{"id":"thin-1","op":"king_too_thin","in":{"results":[]},"want":false}` + "\n"
	thinWrong = `{"id":"thin-2","op":"king_too_thin","in":{"results":[]},"want":true}` + "\n"
)

// conform runs assay conformance on a folder with the given files.
func conform(t *testing.T, files map[string]string, flags ...string) (code int, out, errs string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return conformArgs(t, append(flags, dir)...)
}

func conformArgs(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	env := &cli.Env{In: strings.NewReader(""), Out: &o, Err: &e}
	code = cli.Run(t.Context(), env, append([]string{"assay", "conformance"}, args...))
	return code, o.String(), e.String()
}

func TestConformanceOutput(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		code  int
		out   string
		errs  []string // the ids that standard error names, in order
	}{
		{
			"every line passes, groups in path order",
			map[string]string{"duel.jsonl": signRight + signRight, "adjudicate.jsonl": thinRight, "README.md": "prose"},
			cli.ExitDone, "adjudicate 1 0\nduel 2 0\n3 passed, 0 failed\n", nil,
		}, {
			"an unknown group is named and fails nothing",
			map[string]string{"duel.jsonl": signRight, "riddles.jsonl": "{}\n\n{}\n"},
			cli.ExitDone, "duel 1 0\nunknown: riddles (2 lines)\n1 passed, 0 failed\n", nil,
		}, {
			"a folder below the folder",
			map[string]string{"one/duel.jsonl": signRight, "two/adjudicate.jsonl": thinRight},
			cli.ExitDone, "duel 1 0\nadjudicate 1 0\n2 passed, 0 failed\n", nil,
		}, {
			"one line fails",
			map[string]string{"duel.jsonl": signRight + signWrong, "adjudicate.jsonl": thinRight},
			cli.ExitFailed, "adjudicate 1 0\nduel 1 1\n2 passed, 1 failed\n", []string{"sign-2: "},
		}, {
			"the first failing lines of each group",
			map[string]string{"duel.jsonl": strings.Repeat(signWrong, 8), "adjudicate.jsonl": thinWrong + thinRight},
			cli.ExitFailed, "adjudicate 1 1\nduel 0 8\n1 passed, 9 failed\n",
			[]string{"thin-2: ", "sign-2: ", "sign-2: ", "sign-2: ", "sign-2: ", "sign-2: ", "duel: … 3 more"},
		}, {
			"a failing line of a group beside an unknown one",
			map[string]string{"adjudicate.jsonl": thinWrong, "riddles.jsonl": "{}"},
			cli.ExitFailed, "adjudicate 0 1\nunknown: riddles (1 lines)\n0 passed, 1 failed\n", []string{"thin-2: "},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, errs := conform(t, tt.files)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if diff := cmp.Diff(tt.out, out); diff != "" {
				t.Errorf("standard output (-want +got):\n%s", diff)
			}
			lines := strings.Split(strings.TrimSuffix(errs, "\n"), "\n")
			if errs == "" {
				lines = nil
			}
			if len(lines) != len(tt.errs) {
				t.Fatalf("standard error:\n%s\nwant lines that begin with %q", errs, tt.errs)
			}
			for i, want := range tt.errs {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("standard error, line %d: %q, want %q first", i+1, lines[i], want)
				}
			}
		})
	}
}

func TestConformanceSaysWhyWithoutForeignControls(t *testing.T) {
	line := `{"id":"hle-\u001b[31m1","op":"hle_option","in":{"text":"Answer: A"},"want":"\u001b[2J` + strings.Repeat("long ", 200) + `"}`
	code, out, errs := conform(t, map[string]string{"graders.jsonl": line, "x\x1b[2J.jsonl": "{}"})
	if code != cli.ExitFailed || !strings.Contains(errs, `got "a"`) {
		t.Errorf("exit code %d, standard error %q", code, errs)
	}
	if strings.ContainsRune(out+errs, '\x1b') || len(errs) > 400 {
		t.Errorf("a line's own bytes reach the terminal: %d bytes, %q, %q", len(errs), out, errs)
	}
}

func TestConformanceJSON(t *testing.T) {
	code, out, errs := conform(t, map[string]string{"duel.jsonl": signRight + signWrong, "riddles.jsonl": "{}"}, "--json")
	if code != cli.ExitFailed || errs != "" {
		t.Errorf("exit code %d, standard error %q", code, errs)
	}
	type group struct {
		Name          string
		Known         bool
		Lines, Passed int
		Failed        []struct{ ID, Why string }
	}
	var got []group
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if len(got) != 2 || got[0].Name != "duel" || got[0].Passed != 1 || len(got[0].Failed) != 1 || got[0].Failed[0].ID != "sign-2" || got[1].Known {
		t.Errorf("groups %+v", got)
	}
}

func TestConformanceRefusals(t *testing.T) {
	empty := t.TempDir()
	for _, tt := range []struct {
		name string
		args []string
		code int
		errs string
	}{
		{"no folder named", nil, cli.ExitUsage, "error: "},
		{"two folders", []string{empty, empty}, cli.ExitUsage, "error: "},
		{"no such folder", []string{filepath.Join(empty, "gone")}, cli.ExitFailed, "hint: "},
		{"no vectors in the folder", []string{empty}, cli.ExitFailed, "no vector file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, errs := conformArgs(t, tt.args...)
			if code != tt.code || out != "" || !strings.Contains(errs, tt.errs) {
				t.Errorf("exit code %d, standard output %q, standard error %q", code, out, errs)
			}
		})
	}
}
