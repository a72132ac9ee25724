package conformance_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"assay/core/canon"
	"assay/verify/conformance"
)

// shared opens a folder of vectors that lies beside the repository, or skips.
func shared(t testing.TB, set string) fs.FS {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for up := ""; up != dir; up, dir = dir, filepath.Dir(dir) {
		vectors := filepath.Join(dir, "..", "shared", "vectors", set)
		if _, err := os.Stat(vectors); err == nil {
			return os.DirFS(vectors)
		}
	}
	t.Skipf("the vectors of %s are not beside this repository: nothing is compared with them here", set)
	return nil
}

// lines is how many lines each known group has, as the vectors' own tables say.
var lines = map[string]map[string]int{
	"conductor": {
		"parse": 600, "tracker": 80, "render": 200, "catalog_snapshot": 220, "freeze_digest": 60, "canonical_json": 200,
		"task_order": 80, "draw": 60, "worker_request": 120, "parse_tool": 200, "completion": 125, "episode": 130,
		"window_run": 22, "score_arm": 80, "exchange": 90, "exclude": 60, "bootstrap_rng": 60, "duel": 156,
		"adjudicate": 60, "emissions": 60, "graders": 190, "admission": 112, "window_build": 54, "observe": 90,
	},
	"proof": {"canonical_p": 614, "canonical_r": 330, "float_repr": 1000},
}

func TestEveryLineOfEveryKnownGroupPasses(t *testing.T) {
	for set, want := range lines {
		t.Run(set, func(t *testing.T) {
			groups, err := conformance.Run(shared(t, set), nil)
			if err != nil {
				t.Fatal(err)
			}
			passed := map[string]int{}
			for _, g := range groups {
				if g.Known {
					passed[g.Name] = g.Passed
				} else {
					t.Logf("unknown: %s (%d lines)", g.Name, g.Lines)
				}
				for _, f := range g.Failed {
					t.Errorf("%s: %s", f.ID, f.Why)
				}
			}
			if diff := cmp.Diff(want, passed); diff != "" {
				t.Errorf("passed lines by group (-want +got):\n%s", diff)
			}
		})
	}
	known := 0
	for _, set := range lines {
		known += len(set)
	}
	if n := len(conformance.Groups()); n != known {
		t.Errorf("%d groups are known, %d are counted here", n, known)
	}
}

// run runs lines as the file of one group.
func run(t *testing.T, group string, text ...string) conformance.Group {
	t.Helper()
	groups, err := conformance.Run(fstest.MapFS{group + ".jsonl": {Data: []byte(strings.Join(text, "\n"))}}, nil)
	if err != nil || len(groups) != 1 {
		t.Fatalf("%d groups, %v", len(groups), err)
	}
	return groups[0]
}

// TestEveryPlantedErrorIsReported changes one value of what each line wants, and wants the line to fail for it.
func TestEveryPlantedErrorIsReported(t *testing.T) {
	for set, want := range lines {
		t.Run(set, func(t *testing.T) {
			tree := shared(t, set)
			for group, n := range want {
				text, err := fs.ReadFile(tree, group+".jsonl")
				if err != nil {
					t.Fatal(err)
				}
				planted := []string{}
				for line := range strings.Lines(string(text)) {
					planted = append(planted, plant(t, line, len(planted)))
				}
				if g := run(t, group, planted...); len(g.Failed) != n || g.Passed != 0 {
					t.Errorf("%s: of %d planted errors %d are reported", group, n, len(g.Failed))
				}
			}
		})
	}
}

// plant returns the line with value number which, of those that it wants, changed.
func plant(t *testing.T, line string, which int) string {
	t.Helper()
	v, err := canon.DecodeObject([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := v["want_error"]; ok {
		v["want_error"] = "planted"
	} else {
		leaves := count(v["want"])
		v["want"] = change(v["want"], new(which%leaves))
	}
	text, err := canon.ASCII(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// count counts the values that change can change.
func count(v any) int {
	n := 0
	switch v := v.(type) {
	case canon.Object:
		for _, e := range v {
			n += count(e)
		}
	case []any:
		for _, e := range v {
			n += count(e)
		}
	}
	return max(n, 1) // an empty container is a value too
}

// change returns v with value number *at changed, by as little as must be seen.
func change(v any, at *int) any {
	switch v := v.(type) {
	case canon.Object:
		out := canon.Object{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out[k] = change(v[k], at)
		}
		if len(v) > 0 {
			return out
		}
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, change(e, at))
		}
		if len(v) > 0 {
			return out
		}
	}
	if *at--; *at != -1 {
		return v
	}
	switch v := v.(type) {
	case bool:
		return !v
	case float64:
		return v + 1e-9*max(1, v, -v)
	case canon.Int:
		return v + "1"
	case string:
		return v + "x"
	}
	return []any{"planted"}
}

func TestTheHarnessCanFail(t *testing.T) {
	const sign = `{"id":"x","op":"sign_test","in":{"deltas":[1,1,-1,1]},`
	const thin = `{"id":"x","op":"king_too_thin","in":{"results":[]},`
	const none = `{"id":"x","op":"score_arm","in":{"results":[],"exchange":{}},`
	const rate = `{"id":"x","op":"exchange","in":{"cheapest":[{"task_id":"x","benchmark":"TB","score":0.5,"spend":0.02}],"top":[{"task_id":"x","benchmark":"TB","score":0.82,"spend":0.2}]},`
	const hle = `{"id":"x","op":"hle_admit","in":{"rows":[{"id":"1","answer_type":"multipleChoice","answer":"A","image":""}]},`
	const form = `{"id":"x","op":"json","in":{"text":"\ufeff1"},`
	const turn = `{"id":"x","op":"parse","in":{"raw":"well","ids":["a/b"]},`
	for _, tt := range []struct{ name, group, line, why string }{
		{"right", "duel", sign + `"want":{"wins":3,"p":0.3125}}`, ""},
		{"a float within the tolerance", "duel", sign + `"want":{"wins":3,"p":0.3125000000000005}}`, ""},
		{"a changed float", "duel", sign + `"want":{"wins":3,"p":0.31250000001}}`, ".p: got 0.3125"},
		{"a changed integer", "duel", sign + `"want":{"wins":4,"p":0.3125}}`, ".wins: got 3"},
		{"a float where an integer is", "duel", sign + `"want":{"wins":3.0,"p":0.3125}}`, ".wins: got 3"},
		{"a missing member", "duel", sign + `"want":{"wins":3}}`, ".p: not wanted"},
		{"a member too many", "duel", sign + `"want":{"wins":3,"p":0.3125,"q":null}}`, ".q: missing"},
		{"no object", "duel", sign + `"want":[3,0.3125]}`, "got map"},
		{"nothing wanted", "duel", sign[:len(sign)-1] + `}`, "unreadable want"},
		{"a changed boolean", "adjudicate", thin + `"want":true}`, "got false"},
		{"text for a boolean", "adjudicate", thin + `"want":"false"}`, "got false"},
		{"null for a boolean", "adjudicate", thin + `"want":null}`, "got false"},
		{"a changed text", "graders", hle + `"want":["hle-2"]}`, `[0]: got "hle-1"`},
		{"a shorter list", "graders", hle + `"want":[]}`, "got [hle-1]"},
		{"a flag too many", "exchange", rate + `"want":{"TB":{"lam":0.1955555555555555,"c":0.11,"flags":["dominator"]}}}`, ".TB.flags"},
		{"refused, right word", "score_arm", none + `"want_error":"no_episodes"}`, ""},
		{"refused, wrong word", "score_arm", none + `"want_error":"no_rate"}`, "refused as conductor.no_episodes, wanted no_rate"},
		{"refused, but a value is wanted", "score_arm", none + `"want":{}}`, "refused: there are no episodes"},
		{"a value, but a refusal is wanted", "duel", sign + `"want_error":"no_rate"}`, "accepted"},
		{"refused, right kind", "canonical_p", form + `"want_error":{"status":400,"kind":"syntax"}}`, ""},
		{"refused, wrong kind", "canonical_p", form + `"want_error":{"status":400,"kind":"not_finite"}}`, "refused as canon.syntax"},
		{"refused, a number wanted", "canonical_p", form + `"want_error":400}`, "unreadable want_error"},
		{"rejected, right word", "parse", turn + `"want_error":"not_action"}`, ""},
		{"rejected, wrong word", "parse", turn + `"want_error":"unknown_id"}`, "rejected as not_action, wanted unknown_id"},
		{"rejected, but a value is wanted", "parse", turn + `"want":{"kind":"stop","model_id":null}}`, "rejected as not_action"},
		{"unknown op is no refusal", "score_arm", `{"id":"x","op":"score_leg","in":{},"want_error":"internal"}`, "failed instead of refusing"},
		{"unknown op", "score_arm", `{"id":"x","op":"score_leg","in":{},"want":{}}`, "unknown op"},
		{"unknown op of a single op's group", "emissions", `{"id":"x","op":"omissions","in":{},"want":{"weights":[[0,1.0]],"pensioners":[]}}`, "unknown op"},
		{"an input of another shape", "score_arm", `{"id":"x","op":"score_arm","in":{"results":7},"want":{}}`, "refused"},
		{"a panic", "render", `{"id":"x","op":"render","in":{"catalog":[["a"]]},"want":{}}`, "panic"},
		{"a later line runs", "duel", sign + `"want":{"wins":2,"p":0.3125},"later":true}`, ".wins"},
		{"a line that binds a compatible profile only runs", "duel", sign + `"want":{"wins":2,"p":0.3125},"quirk":"some_word"}`, ".wins"},
		{"the rule refuses what the reference reads", "canonical_p", form + `"want_error":{"status":400,"kind":"syntax"},"lenient_reference":true}`, ""},
		{"the reference's reading is wanted", "canonical_p", form + `"want":{"bytes":"31","digest":""},"lenient_reference":true}`, "refused"},
		{"the rule reads what the reference refuses", "duel", sign + `"want":{"wins":3,"p":0.3125},"strict_reference":true}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := run(t, tt.group, tt.line)
			switch {
			case !g.Known || g.Lines != 1 || g.Passed+len(g.Failed) != 1:
				t.Fatalf("the line was not run: %+v", g)
			case tt.why == "" && g.Passed != 1:
				t.Errorf("did not pass: %+v", g.Failed)
			case tt.why != "" && g.Passed == 1:
				t.Error("passed")
			case tt.why != "" && (g.Failed[0].ID != "x" || !strings.Contains(g.Failed[0].Why, tt.why)):
				t.Errorf("reported as %+v, want %q", g.Failed[0], tt.why)
			}
		})
	}
}

func TestRun(t *testing.T) {
	const good = `{"id":"a","op":"king_too_thin","in":{"results":[]},"want":false}`
	tree := fstest.MapFS{
		"b/adjudicate.jsonl": {Data: []byte(good + "\n\n" + "not json\n" + good)},
		"a/riddles.jsonl":    {Data: []byte("{}\n{}\n")},
		"a/README.md":        {Data: []byte("no vectors")},
	}
	var seen []string
	groups, err := conformance.Run(tree, func(g conformance.Group) {
		seen = append(seen, fmt.Sprint(g.Name, g.Known, g.Lines, g.Passed, len(g.Failed)))
	})
	if err != nil || len(groups) != 2 {
		t.Fatalf("%+v, %v", groups, err)
	}
	if diff := cmp.Diff([]string{"riddlesfalse 2 0 0", "adjudicatetrue 3 2 1"}, seen); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if f := groups[1].Failed[0]; f.ID != "?" || !strings.HasPrefix(f.Why, "unreadable line") {
		t.Errorf("an unreadable line is reported as %+v", f)
	}
	if _, err := conformance.Run(fstest.MapFS{"README.md": {}}, nil); err == nil {
		t.Error("a folder without vectors is accepted")
	}
	if _, err := conformance.Run(os.DirFS(filepath.Join(t.TempDir(), "gone")), nil); err == nil {
		t.Error("a folder that is not there is accepted")
	}
}

func TestWhatIsNoRegularFileIsNotOpened(t *testing.T) {
	vectors := fstest.MapFS{"parse.jsonl": {Mode: fs.ModeNamedPipe}, "draw.jsonl": {}}
	if groups, err := conformance.Run(vectors, nil); err == nil || !strings.Contains(err.Error(), `"parse.jsonl" is not a regular file`) {
		t.Errorf("a pipe: %v, %v", groups, err)
	}
	vectors = fstest.MapFS{"parse.jsonl/draw.jsonl": {}}
	if groups, err := conformance.Run(vectors, nil); err != nil || len(groups) != 1 || groups[0].Name != "draw" {
		t.Errorf("a folder named like a file: %v, %v", groups, err)
	}
}
