package world_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"assay/conductor/world"
)

func told(defects []world.Defect) []string {
	var list []string
	for _, d := range defects {
		list = append(list, d.String())
	}
	return list
}

const (
	oneModel = `[{"id": "me/b", "price_in_per_mtok": 1, "price_out_per_mtok": 2, "context_length": 100}]`
	oneTask  = `{"task_id": "t1", "benchmark": "b", "prompt": "p", "reference": "C", "metric": "mcq_accuracy"}` + "\n"
)

// one makes a world of one model and one task, in which pairs replace files.
func one(pairs ...string) fstest.MapFS {
	return files(append([]string{"models.json", oneModel, "tasks.jsonl", oneTask, "outcomes.jsonl", ""}, pairs...)...)
}

func TestEveryDefectOfARowIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		fsys fs.FS
		want []string
	}{
		"a wrong type hides no duplicate id": {
			one("tasks.jsonl", oneTask+strings.Replace(oneTask, `"p"`, "7", 1)),
			[]string{`tasks.jsonl:2: field "prompt" must be a string, is a number`, `tasks.jsonl:2: duplicate task id "t1"`},
		},
		"a context length hides neither id nor price": {
			one("models.json", `[{"id": "", "price_in_per_mtok": 1, "context_length": "long"}]`),
			[]string{`models.json:1: field "context_length" must be a whole number, is a string`, "models.json:1: model without an id", "models.json:1: the model has no output price"},
		},
		"a duplicate model's price": {
			one("models.json", "[{\"id\": \"a\", \"price_in_per_mtok\": 1, \"price_out_per_mtok\": 1, \"context_length\": 1},\n{\"id\": \"a\"}]"),
			[]string{`models.json:2: duplicate model id "a"`, `models.json:2: model "a" has no input price`, `models.json:2: model "a" has no output price`, `models.json:2: model "a" has no context length`},
		},
		"a missing prompt hides no bad reference": {
			one("tasks.jsonl", strings.Replace(strings.Replace(oneTask, `"p"`, `""`, 1), `"C"`, `"ZZ"`, 1)),
			[]string{`tasks.jsonl:1: task "t1" has no prompt`, `tasks.jsonl:1: reference "ZZ" of task "t1" does not fit the metric mcq_accuracy`},
		},
		"all types at once": {
			one("tasks.jsonl", `{"task_id": "t1", "benchmark": 1, "prompt": ["p"], "tools": ["READ", 2], "reference": {}, "metric": true}`),
			[]string{
				`tasks.jsonl:1: field "benchmark" must be a string, is a number`, `tasks.jsonl:1: field "prompt" must be a string, is a list`,
				`tasks.jsonl:1: field "tools/1" must be a string, is a number`, `tasks.jsonl:1: field "reference" must be a string, is an object`,
				`tasks.jsonl:1: field "metric" must be a string, is true or false`,
			},
		},
		"types and values of an outcome": {
			one("outcomes.jsonl", `{"task_id": "t1", "model": "me/b", "output": 3, "score": 2, "cost_usd": "0.1", "input_tokens": -1, "output_tokens": 1e30, "ok": "yes"}`),
			[]string{
				`outcomes.jsonl:1: field "output" must be a string, is a number`, `outcomes.jsonl:1: field "cost_usd" must be a number, is a string`,
				`outcomes.jsonl:1: field "output_tokens" must be a whole number, is 1e30`, `outcomes.jsonl:1: field "ok" must be true or false, is a string`,
				`outcomes.jsonl:1: score 2 of "me/b" lies outside zero to one`, "outcomes.jsonl:1: -1 input tokens",
			},
		},
		"a key twice in an object that nobody reads": {
			one("tasks.jsonl", strings.Replace(oneTask, "}", `, "more": {"k": 1, "k": 2}, "prompt": 5}`, 1)),
			[]string{`tasks.jsonl:1: duplicate key "k"`, `tasks.jsonl:1: duplicate key "prompt"`},
		},
		"a row that is no object": {
			one("tasks.jsonl", oneTask+"[1]\n"),
			[]string{"tasks.jsonl:2: the value must be an object, is a list"},
		},
		"a model over several lines": {
			one("models.json", "[\n {\n  \"id\": \"a\",\n  \"price_in_per_mtok\": 1,\n  \"price_out_per_mtok\": \"2\",\n  \"context_length\": 5\n }\n]"),
			[]string{`models.json:5: field "price_out_per_mtok" must be a number, is a string`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, defects := world.Read(c.fsys)
			if d := cmp.Diff(c.want, told(defects)); d != "" || w != nil {
				t.Error(d)
			}
		})
	}
}

func TestWhatFollowsFromARefusedRowIsNotTold(t *testing.T) {
	const good = `{"task_id": "t1", "model": "me/b", "output": "C", "score": 1}`
	for name, c := range map[string]struct {
		fsys fs.FS
		want []string
	}{
		"an outcome with a wrong type is there": {
			one("outcomes.jsonl", strings.Replace(good, `"C"`, "3", 1)),
			[]string{`outcomes.jsonl:1: field "output" must be a string, is a number`},
		},
		"an outcome that is no JSON is there": {
			one("outcomes.jsonl", strings.Replace(good, "}", ",}", 1)),
			[]string{"outcomes.jsonl:1: not JSON: a comma before the closing } at byte 61"},
		},
		"an outcome of which nothing can be read may be the missing one": {
			one("outcomes.jsonl", "nonsense"), []string{`outcomes.jsonl:1: not JSON: unexpected "nonsense" at byte 1`},
		},
		"a task with a wrong type has outcomes": {
			one("tasks.jsonl", strings.Replace(oneTask, `"p"`, "7", 1), "outcomes.jsonl", good),
			[]string{`tasks.jsonl:1: field "prompt" must be a string, is a number`},
		},
		"a task without a readable id may be the outcome's": {
			one("tasks.jsonl", strings.Replace(oneTask, "t1", "t0", 1)+strings.Replace(oneTask, `"t1"`, "1", 1),
				"outcomes.jsonl", good+"\n"+strings.Replace(good, "t1", "t0", 1)),
			[]string{`tasks.jsonl:2: field "task_id" must be a string, is a number`},
		},
		"a model without a price has outcomes": {
			one("models.json", strings.Replace(oneModel, "1,", `"1",`, 1), "outcomes.jsonl", good),
			[]string{`models.json:1: field "price_in_per_mtok" must be a number, is a string`},
		},
		"what is refused for a wrong score lacks none": {
			one("outcomes.jsonl", strings.Replace(good, "1}", `"1"}`, 1), "tasks.jsonl", strings.Replace(oneTask, "mcq_accuracy", "mine", 1)),
			[]string{`outcomes.jsonl:1: field "score" must be a number, is a string`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, defects := world.Read(c.fsys)
			if d := cmp.Diff(c.want, told(defects)); d != "" || w != nil {
				t.Error(d)
			}
		})
	}
}

func TestWhatIsNoJSONIsToldWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		`{"task_id": "t", }`:           "tasks.jsonl:1: not JSON: a comma before the closing } at byte 16",
		`{"tools": ["READ",]}`:         "tasks.jsonl:1: not JSON: a comma before the closing ] at byte 18",
		`{"task_id": 't'}`:             `tasks.jsonl:1: not JSON: unexpected "'" at byte 13`,
		`{"task_id" "t"}`:              `tasks.jsonl:1: not JSON: unexpected "\"" at byte 12`,
		`{"task_id": "t" "x": 1}`:      `tasks.jsonl:1: not JSON: unexpected "\"" at byte 17`,
		`{"task_id": "t"`:              "tasks.jsonl:1: not JSON: the text ends in the middle",
		`{"task_id": "\ud800"}`:        "tasks.jsonl:1: not UTF-8, or half of a surrogate pair, at byte 14",
		`{"task_id": "a` + "\t" + `"}`: `tasks.jsonl:1: not JSON: unexpected "\t" at byte 15`,
		`{"task_id": "t"}}`:            "tasks.jsonl:1: not one JSON value: text behind it at byte 17",
		`{task_id: "t"}`:               `tasks.jsonl:1: not JSON: unexpected "task_id" at byte 2`,
	} {
		_, defects := world.Read(one("tasks.jsonl", text))
		if len(defects) == 0 || defects[0].String() != want {
			t.Errorf("%s: %v, want %s", text, defects, want)
		}
		for _, d := range defects {
			if d.Detail == "" {
				t.Errorf("%s: a defect without a detail", text)
			}
		}
	}
}

func TestLineEndsAndMarks(t *testing.T) {
	const outcome = `{"task_id": "t1", "model": "me/b", "output": "C"}` + "\n"
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	for name, fsys := range map[string]fs.FS{
		"lines end with CR LF":     one("models.json", crlf(oneModel+"\n"), "tasks.jsonl", crlf("\n"+oneTask), "outcomes.jsonl", crlf(outcome)),
		"a mark heads every file":  one("models.json", "\ufeff"+oneModel, "tasks.jsonl", "\ufeff"+oneTask, "outcomes.jsonl", "\ufeff"+outcome),
		"a mark in a packed file":  one("tasks.jsonl", "", "tasks.jsonl.gz", pack("\ufeff"+oneTask), "outcomes.jsonl", outcome),
		"no end of the last line":  one("tasks.jsonl", strings.TrimSpace(oneTask), "outcomes.jsonl", strings.TrimSpace(outcome)),
		"members cut within lines": one("tasks.jsonl", "", "tasks.jsonl.gz", pack(oneTask[:9])+pack("")+pack(oneTask[9:]), "outcomes.jsonl", outcome),
	} {
		if w, defects := world.Read(fsys); w == nil {
			t.Errorf("%s: %v", name, defects)
		} else if w.Tasks[0].ID != "t1" || w.Outcome(0, 0).Text != "C" {
			t.Errorf("%s: %v", name, w.Tasks)
		}
	}
	for _, text := range []string{oneTask + "\ufeff" + strings.Replace(oneTask, "t1", "t2", 1), "\ufeff\ufeff" + oneTask} {
		if w, _ := world.Read(one("tasks.jsonl", text)); w != nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestOnlyRegularFilesAreRead(t *testing.T) {
	fsys := one()
	fsys["models.json"] = &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte("other.json")}
	fsys["other.json"] = &fstest.MapFile{Data: []byte(oneModel)}
	fsys["tasks.jsonl"] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
	fsys["outcomes.jsonl"] = &fstest.MapFile{Mode: fs.ModeNamedPipe}
	_, defects := world.Read(fsys)
	want := []string{"models.json: a link, not a regular file", "tasks.jsonl: a folder, not a regular file", "outcomes.jsonl: a pipe, not a regular file"}
	if d := cmp.Diff(want, told(defects)); d != "" {
		t.Error(d)
	}
	t.Run("a link in a real folder", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "models.json")); err != nil {
			t.Skipf("this file system has no links: %v", err)
		}
		_, defects := world.Read(os.DirFS(dir))
		if len(defects) == 0 || defects[0].String() != "models.json: a link, not a regular file" {
			t.Error(defects)
		}
	})
}
