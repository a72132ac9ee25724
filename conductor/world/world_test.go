package world_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"assay/conductor"
	"assay/conductor/world"
	"assay/core/fault"
	"assay/core/money"
)

const (
	models = `[
 {"id": "a/cheap", "price_in_per_mtok": 0.1, "price_out_per_mtok": 0.4, "context_length": 32768},
 {"id": "b/dear", "price_in_per_mtok": 3, "price_out_per_mtok": 15, "context_length": 200000}
]
`
	tasks = `{"task_id": "t1", "benchmark": "sums", "prompt": "What is 2+2?", "reference": "4", "metric": "number"}
{"task_id": "t2", "benchmark": "songs", "prompt": "Sing.", "reference": "x", "metric": "meteor_score", "tools": ["READ"], "group": "g"}
`
	outcomes = `{"task_id": "t1", "model": "a/cheap", "output": "5", "score": 0}
{"task_id": "t1", "model": "b/dear", "output": "It is 4.", "cost_usd": 0.000125, "input_tokens": 7, "output_tokens": 9}
{"task_id": "t2", "model": "a/cheap", "output": "la", "score": 0.25, "extracted": "la", "cost_usd": 0}
{"task_id": "t2", "model": "b/dear", "output": "", "ok": false, "failure": "status 503"}
`
)

// files makes a world's folder; a later pair replaces an earlier one, and empty content removes the file.
func files(pairs ...string) fstest.MapFS {
	all := append([]string{"models.json", models, "tasks.jsonl", tasks, "outcomes.jsonl", outcomes}, pairs...)
	fsys := fstest.MapFS{}
	for i := 0; i < len(all); i += 2 {
		if all[i+1] == "" {
			delete(fsys, all[i])
			continue
		}
		fsys[all[i]] = &fstest.MapFile{Data: []byte(all[i+1])}
	}
	return fsys
}

func pack(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return b.String()
}

func TestReadsPlainAndCompressedAlike(t *testing.T) {
	packed := files("models.json", "", "models.json.gz", pack(models), "tasks.jsonl", "", "tasks.jsonl.gz", pack(tasks),
		"outcomes.jsonl", "", "outcomes.jsonl.gz", pack(outcomes[:40])+pack(outcomes[40:]))
	for name, fsys := range map[string]fs.FS{"plain": files(), "compressed": packed} {
		w, defects := world.Read(fsys)
		if len(defects) > 0 {
			t.Fatalf("%s: %v", name, defects)
		}
		if d := cmp.Diff([]world.Model{{ID: "a/cheap", In: 0.1, Out: 0.4, Context: 32768}, {ID: "b/dear", In: 3, Out: 15, Context: 200000}}, w.Models); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if d := cmp.Diff(world.Task{ID: "t2", Benchmark: "songs", Prompt: "Sing.", Tools: []string{"READ"}, Group: "g", Reference: "x", Metric: "meteor_score"}, w.Tasks[1]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		want := []world.Outcome{
			{Text: "5", HasScore: true, OK: true, Estimated: true, TokensIn: 3, TokensOut: 1, Cost: 700_000},
			{Text: "It is 4.", OK: true, TokensIn: 7, TokensOut: 9, Cost: 125_000_000},
			{Text: "la", Score: 0.25, HasScore: true, OK: true, TokensIn: 2, TokensOut: 1},
			{Failure: "status 503"},
		}
		for i, o := range want {
			if d := cmp.Diff(o, *w.Outcome(i/2, i%2)); d != "" {
				t.Errorf("%s: outcome %d: %s", name, i, d)
			}
		}
		if i, ok := w.Task("t2"); i != 1 || !ok {
			t.Errorf("%s: task t2 is at %d, %v", name, i, ok)
		}
		if _, ok := w.Model("c"); ok {
			t.Errorf("%s: there is a model c", name)
		}
	}
}

func TestDefects(t *testing.T) {
	const t3 = `{"task_id": "t3", "benchmark": "b", "prompt": "p", "reference": "1", "metric": "number"}` + "\n"
	row := func(fields string) string { return outcomes + fields + "\n" }
	for _, c := range []struct {
		name string
		fsys fs.FS
		want []string
	}{
		{"no models", files("models.json", ""), []string{"models.json: neither models.json nor models.json.gz is there"}},
		{"no tasks", files("tasks.jsonl", ""), []string{"tasks.jsonl: neither tasks.jsonl nor tasks.jsonl.gz is there"}},
		{"both forms", files("tasks.jsonl.gz", pack(tasks)), []string{"tasks.jsonl: tasks.jsonl and tasks.jsonl.gz are both there"}},
		{"empty list", files("models.json", "[]"), []string{"models.json: no model"}},
		{"blank tasks", files("tasks.jsonl", "\n\r\n"), []string{"tasks.jsonl: no task"}},
		{"models not a list", files("models.json", "{}"), []string{"models.json: not a list of models"}},
		{"models cut", files("models.json", models[:120]), []string{
			"models.json:3: not JSON: the text ends in the middle"}},
		{"text behind models", files("models.json", models+"x"), []string{"models.json: text behind the list of models"}},
		{"not JSON", files("tasks.jsonl", tasks+"nonsense\n"), []string{`tasks.jsonl:3: not JSON: unexpected "nonsense" at byte 1`}},
		{"two values", files("tasks.jsonl", tasks+"{} {}\n"), []string{"tasks.jsonl:3: not one JSON value: text behind it at byte 4"}},
		{"bad UTF-8", files("tasks.jsonl", tasks+"{\"task_id\": \"\xff\"}\n"), []string{"tasks.jsonl:3: not UTF-8, or half of a surrogate pair, at byte 14"}},
		{"duplicate key", files("tasks.jsonl", tasks+`{"task_id": "t3", "task_id": "t4"}`), []string{`tasks.jsonl:3: duplicate key "task_id"`, "tasks.jsonl:3: the task has no benchmark", "tasks.jsonl:3: the task has no prompt"}},
		{"wrong type", files("tasks.jsonl", tasks+`{"task_id": 3}`), []string{`tasks.jsonl:3: field "task_id" must be a string, is a number`, "tasks.jsonl:3: the task has no benchmark", "tasks.jsonl:3: the task has no prompt"}},
		{"duplicate task", files("tasks.jsonl", tasks+tasks[:strings.IndexByte(tasks, '\n')]), []string{`tasks.jsonl:3: duplicate task id "t1"`}},
		{"empty fields", files("outcomes.jsonl", "", "tasks.jsonl", strings.Replace(t3, `"b"`, `""`, 1)+strings.Replace(t3, `"t3"`, `""`, 1)+
			strings.Replace(strings.Replace(t3, "t3", "t4", 1), `"p"`, `""`, 1)),
			[]string{`tasks.jsonl:1: task "t3" has no benchmark`, "tasks.jsonl:2: task without an id", `tasks.jsonl:3: task "t4" has no prompt`}},
		{"no grader", files("outcomes.jsonl", ""), []string{`tasks.jsonl:2: metric "meteor_score" of task "t2" is not recomputed and no outcomes are recorded`}},
		{"reference that does not fit", files("outcomes.jsonl", "", "tasks.jsonl", strings.Replace(t3, `"1"`, `"one"`, 1)),
			[]string{`tasks.jsonl:1: reference "one" of task "t3" does not fit the metric number`}},
		{"unmarked answer", files("outcomes.jsonl", strings.Replace(outcomes, `"score": 0.25, `, "", 1)),
			[]string{`outcomes.jsonl:3: no score, and the metric "meteor_score" of task "t2" is not recomputed`}},
		{"duplicate model", files("models.json", strings.Replace(models, "b/dear", "a/cheap", 1), "outcomes.jsonl", "", "tasks.jsonl", t3),
			[]string{`models.json:3: duplicate model id "a/cheap"`}},
		{"negative price", files("models.json", strings.Replace(models, "15", "-15", 1)), []string{`models.json:3: model "b/dear" has an output price of -15`}},
		{"price that is no number", files("models.json", strings.Replace(models, "15", "NaN", 1), "outcomes.jsonl", "", "tasks.jsonl", t3),
			[]string{"models.json:3: not JSON: NaN and Infinity are no JSON numbers"}},
		{"price beyond accounts", files("models.json", strings.Replace(models, "15", "1e300", 1)),
			[]string{`models.json:3: model "b/dear" has an output price of 1e+300, beyond all accounts`}},
		{"no context", files("models.json", strings.Replace(models, "32768", "0", 1)), []string{`models.json:2: model "a/cheap" has a context length of 0`}},
		{"negative cost", files("outcomes.jsonl", strings.Replace(outcomes, "0.000125", "-1", 1)), []string{"outcomes.jsonl:2: cost of -1 dollars"}},
		{"cost that is no number", files("outcomes.jsonl", strings.Replace(outcomes, "0.000125", "NaN", 1)),
			[]string{"outcomes.jsonl:2: not JSON: NaN and Infinity are no JSON numbers"}},
		{"huge cost", files("outcomes.jsonl", strings.Replace(outcomes, "0.000125", "1e9", 1)), []string{"outcomes.jsonl:2: cost of 1e+09 dollars"}},
		{"negative tokens", files("outcomes.jsonl", strings.Replace(outcomes, ": 9", ": -9", 1)), []string{"outcomes.jsonl:2: -9 output tokens"}},
		{"half a token", files("outcomes.jsonl", strings.Replace(outcomes, ": 9", ": 9.5", 1)), []string{
			`outcomes.jsonl:2: field "output_tokens" must be a whole number, is 9.5`}},
		{"score beyond one", files("outcomes.jsonl", strings.Replace(outcomes, "0.25", "1.25", 1)),
			[]string{`outcomes.jsonl:3: score 1.25 of "a/cheap" lies outside zero to one`}},
		{"failure with a score", files("outcomes.jsonl", strings.Replace(outcomes, `"ok": false`, `"ok": false, "score": 1`, 1)),
			[]string{"outcomes.jsonl:4: score 1 for a call that failed"}},
		{"unknown task and model", files("outcomes.jsonl", row(`{"task_id": "t9", "model": "z", "output": ""}`)),
			[]string{`outcomes.jsonl:5: no task "t9"`, `outcomes.jsonl:5: no model "z"`}},
		{"nameless outcome", files("outcomes.jsonl", row(`{"output": ""}`)),
			[]string{"outcomes.jsonl:5: outcome without a task id", "outcomes.jsonl:5: outcome without a model"}},
		{"second outcome", files("outcomes.jsonl", row(`{"task_id": "t1", "model": "b/dear", "output": "5"}`)),
			[]string{`outcomes.jsonl:5: second outcome of "b/dear" for task "t1"`}},
		{"outcome missing", files("outcomes.jsonl", outcomes[:strings.Index(outcomes, `{"task_id": "t2"`)]),
			[]string{`outcomes.jsonl: no outcome of "a/cheap" for task "t2"`, `outcomes.jsonl: no outcome of "b/dear" for task "t2"`}},
		{"many at once", files("models.json", strings.Replace(models, "0.1", "-1", 1), "tasks.jsonl", tasks+"x\n", "outcomes.jsonl", strings.Replace(outcomes, "0.25", "7", 1)),
			[]string{`models.json:2: model "a/cheap" has an input price of -1`, `tasks.jsonl:3: not JSON: unexpected "x" at byte 1`, `outcomes.jsonl:3: score 7 of "a/cheap" lies outside zero to one`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, defects := world.Read(c.fsys)
			if w != nil {
				t.Error("a defective world was read")
			}
			var got []string
			for _, d := range defects {
				got = append(got, d.String())
				if d.Code == (fault.Code{}) {
					t.Errorf("%s has no code", d)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if err := world.Err(defects); fault.Of(err) != conductor.BadWorld || !strings.HasSuffix(err.Error(), fmt.Sprint(" ", len(defects))) {
				t.Errorf("as an error: %v", err)
			}
		})
	}
}

// damage changes the checksum at the end of a gzip file.
func damage(s string) string {
	b := []byte(s)
	b[len(b)-8] ^= 1
	return string(b)
}

func TestPenalisedScoreBelowZeroCountsAsZeroAndIsNoted(t *testing.T) {
	w, defects := world.Read(files("outcomes.jsonl", strings.Replace(outcomes, "0.25", "-0.03", 1)))
	if len(defects) > 0 {
		t.Fatal(defects)
	}
	if o := w.Outcome(1, 0); o.Score != 0 || !o.HasScore || len(w.Notes) != 1 || w.Notes[0].Line != 3 {
		t.Errorf("outcome %+v, notes %v", o, w.Notes)
	}
	for _, text := range []string{strings.Replace(outcomes, "0.25", "-1.5", 1), strings.Replace(outcomes, `"score": 0}`, `"score": -0.03}`, 1)} {
		if _, defects := world.Read(files("outcomes.jsonl", text)); len(defects) != 1 || defects[0].Code != world.BadScore {
			t.Errorf("defects %v", defects)
		}
	}
}

func TestFault11_ModelWithoutPriceIsRefusedByName(t *testing.T) {
	const unpriced = `[{"id": "acme/unpriced", "context_length": 1000}, {"id": "acme/half", "price_in_per_mtok": 1, "price_out_per_mtok": null, "context_length": 1000}]`
	w, defects := world.Read(files("models.json", unpriced, "outcomes.jsonl", "", "tasks.jsonl", tasks[:strings.IndexByte(tasks, '\n')]))
	var got []string
	for _, d := range defects {
		got = append(got, d.Code.Name()+" "+d.Detail)
	}
	want := []string{
		`world.bad_price model "acme/unpriced" has no input price`, `world.bad_price model "acme/unpriced" has no output price`,
		`world.bad_price model "acme/half" has no output price`,
	}
	if d := cmp.Diff(want, got); w != nil || d != "" {
		t.Error(d)
	}
}

func TestBoundsHold(t *testing.T) {
	t.Run("a long line is told and passed over", func(t *testing.T) {
		long := `{"task_id": "` + strings.Repeat("x", world.MaxLine) + `"}` + "\n"
		_, defects := world.Read(files("tasks.jsonl", long+tasks+"x\n", "outcomes.jsonl", outcomes))
		if len(defects) != 2 || defects[0].Code != world.TooLarge || defects[0].Line != 1 || defects[1].Line != 4 {
			t.Errorf("defects %v", defects)
		}
	})
	t.Run("a bomb stops at the bound", func(t *testing.T) {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		chunk := append(bytes.Repeat([]byte(" "), 1<<20-1), '\n')
		for range world.MaxFile>>20 + 1 {
			z.Write(chunk)
		}
		z.Close()
		_, defects := world.Read(files("tasks.jsonl", "", "tasks.jsonl.gz", b.String()))
		if len(defects) != 1 || defects[0].Code != world.TooLarge {
			t.Errorf("defects %v", defects)
		}
	})
	t.Run("a file of nothing but lines stops at the bound", func(t *testing.T) {
		_, defects := world.Read(files("tasks.jsonl", strings.Repeat("\n", world.MaxRows+10)))
		if len(defects) != 1 || defects[0].Code != world.TooLarge {
			t.Errorf("defects %v", defects)
		}
	})
	t.Run("defects are listed up to a bound", func(t *testing.T) {
		_, defects := world.Read(files("tasks.jsonl", strings.Repeat("x\n", 5*world.MaxDefects)))
		if len(defects) != world.MaxDefects+1 || defects[world.MaxDefects].Code != world.More {
			t.Errorf("%d defects, the last is %v", len(defects), defects[len(defects)-1])
		}
	})
	t.Run("models are told up to a bound, each once", func(t *testing.T) {
		var list strings.Builder
		for i := range world.MaxModels + 3 {
			fmt.Fprintf(&list, ",\n{\"id\": \"m%d\", \"price_in_per_mtok\": 1, \"price_out_per_mtok\": 1, \"context_length\": 1}", i)
		}
		_, defects := world.Read(files("models.json", "["+list.String()[1:]+"]", "tasks.jsonl", tasks[:strings.IndexByte(tasks, '\n')], "outcomes.jsonl", ""))
		if len(defects) != 1 || defects[0].String() != fmt.Sprintf("models.json:%d: more than 100000 models", world.MaxModels+2) {
			t.Errorf("defects %v", defects)
		}
	})
	t.Run("an id of a task is as long as a record's name may be", func(t *testing.T) {
		for n, want := range map[int]int{world.MaxTaskID: 0, world.MaxTaskID + 1: 1} {
			id := strings.Repeat("x", n)
			_, defects := world.Read(files("tasks.jsonl", strings.Replace(tasks, "t1", id, 1), "outcomes.jsonl", strings.ReplaceAll(outcomes, "t1", id)))
			if len(defects) != want || want > 0 && (defects[0].Code != world.BadID || defects[0].Line != 1) {
				t.Errorf("%d bytes: %v", n, defects)
			}
		}
	})
	t.Run("reading ends where nothing more would be listed", func(t *testing.T) {
		defective := strings.Repeat("\"k\": 1,\n", 5*world.MaxDefects)
		for file, text := range map[string]string{
			"models.json": "[" + strings.Repeat("[],\n", 5*world.MaxDefects) + "]", "models.json ": "[{" + defective + "\"k\": 1}]",
			"tasks.jsonl": "{" + strings.ReplaceAll(defective, "\n", "") + "\"k\": 1}\n", "outcomes.jsonl": strings.Repeat("{}\n", 5*world.MaxDefects),
		} {
			file = strings.TrimSpace(file)
			_, defects := world.Read(files(file, text))
			last := defects[len(defects)-1]
			if len(defects) != world.MaxDefects+1 || last.Code != world.More || last.File != file {
				t.Errorf("%s: %d defects, the last is %v", file, len(defects), last)
			}
			if line := defects[len(defects)-2].Line; file == "models.json" && (line < world.MaxDefects/5 || line > world.MaxDefects+2) {
				t.Errorf("the last defect of %s stands in line %d", file, line)
			}
		}
	})
	t.Run("foreign text is clipped", func(t *testing.T) {
		_, defects := world.Read(files("outcomes.jsonl", outcomes+`{"task_id": "`+strings.Repeat("y", 5000)+`", "model": "a/cheap"}`))
		if len(defects) != 1 || len(defects[0].String()) > 200 {
			t.Errorf("defects %v", defects)
		}
	})
}

func TestAModelThatNoStrictWindowTakesIsNoted(t *testing.T) {
	for id, want := range map[string]string{
		"a/cheap": "", "größe": "", "%s$(x)": "", strings.Repeat("m", 256): "",
		strings.Repeat("m", 257): "is longer than 256 bytes", "a b": "holds white space", "a\u00a0b": "holds white space",
		"a\nb": "holds a line end", "a\u2028b": "holds a line end", "a\x1b[31m": "holds a control character", "a\u009b": "holds a control character",
		"a\u202eb": "holds an invisible character", "a\u200bb": "holds an invisible character", "a\U000e0041": "holds an invisible character",
	} {
		quoted, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		rename := strings.NewReplacer(`"a/cheap"`, string(quoted))
		w, defects := world.Read(files("models.json", rename.Replace(models), "outcomes.jsonl", rename.Replace(outcomes)))
		if len(defects) > 0 {
			t.Fatalf("%q: %v", id, defects)
		}
		var notes []string
		for _, n := range w.Notes {
			if n.Code == world.BadID {
				notes = append(notes, n.String())
			}
		}
		if want == "" && notes == nil {
			continue
		}
		if full := "models.json:2: no strict window takes model " + world.Quote(id) + ": its id " + want; len(notes) != 1 || notes[0] != full {
			t.Errorf("%q: noted %q, want %q", id, notes, full)
		}
	}
}

func TestWrittenWorldReadsBackTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for name, write := range map[string]func(*world.World) map[string][]byte{"plain": world.Plain, "compressed": world.Write} {
			fsys := fstest.MapFS{}
			for file, text := range write(w) {
				fsys[file] = &fstest.MapFile{Data: text}
			}
			again, defects := world.Read(fsys)
			if len(defects) > 0 {
				t.Fatalf("%s: %v", name, defects)
			}
			if d := cmp.Diff(w, again, cmp.AllowUnexported(world.World{}), cmpopts.IgnoreFields(world.World{}, "Notes")); d != "" {
				t.Fatalf("%s: %s", name, d)
			}
			if d := cmp.Diff(write(w), write(again)); d != "" {
				t.Fatalf("%s: other bytes: %s", name, d)
			}
		}
	})
}

func drawWorld(t *rapid.T) *world.World {
	var b world.Builder
	var at world.Place
	ids := rapid.SliceOfNDistinct(rapid.StringN(1, 8, -1), 1, 3, rapid.ID[string])
	models, names := ids.Draw(t, "models"), ids.Draw(t, "tasks")
	for _, id := range models {
		in, out := rapid.Float64Range(0, 100).Draw(t, "in"), rapid.Float64Range(0, 100).Draw(t, "out")
		b.AddModel(at, id, &in, &out, rapid.Int64Range(1, 1<<40).Draw(t, "context"))
	}
	for _, id := range names {
		b.AddTask(at, world.Task{
			ID: id, Benchmark: rapid.StringN(1, 5, -1).Draw(t, "benchmark"), Prompt: rapid.StringN(1, 40, -1).Draw(t, "prompt"),
			Tools: rapid.SliceOfN(rapid.StringN(1, 5, -1), 0, 2).Draw(t, "tools"), Group: rapid.String().Draw(t, "group"), Reference: "1", Metric: "number",
		})
	}
	if rapid.Bool().Draw(t, "recorded") {
		for _, task := range names {
			for _, model := range models {
				r := world.Recorded{TaskID: task, Model: model, OK: rapid.Bool().Draw(t, "ok"), Text: rapid.String().Draw(t, "text")}
				r.Score = rapid.Ptr(rapid.Float64Range(0, 1), true).Draw(t, "score")
				if r.Score != nil && !r.OK {
					*r.Score, r.Failure = 0, rapid.String().Draw(t, "failure")
				}
				r.Cost = rapid.Ptr(rapid.Float64Range(0, 9000), true).Draw(t, "cost")
				r.TokensIn = rapid.Ptr(rapid.Int64Range(0, 1<<40), true).Draw(t, "tokens in")
				r.TokensOut = rapid.Ptr(rapid.Int64Range(0, 1<<40), true).Draw(t, "tokens out")
				b.AddOutcome(at, r)
			}
		}
	}
	w, defects := b.Done()
	if len(defects) > 0 {
		t.Fatalf("%v", defects)
	}
	return w
}

// shared returns the path of a folder beside the repository, or skips.
func shared(t testing.TB, rel string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		path := filepath.Join(dir, "shared", rel)
		if _, err := os.Stat(path); err == nil {
			return path
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skipf("no folder shared beside the repository holds %s: put it there to run this test", rel)
		}
		dir = up
	}
}

// TestRealWorldsHaveTheirKnownMeans reads recorded answers of real models and checks mean score and total cost.
func TestRealWorldsHaveTheirKnownMeans(t *testing.T) {
	for _, c := range []struct {
		folder, model string
		tasks         int
		mean, dollars float64 // dollars 0: not recorded
	}{
		{"routerarena", "anthropic/claude-3-haiku-20240307", 809, 0.5234, 0.142377},
		{"routerarena", "google/gemini-2.0-flash-001", 809, 0.6901, 0.038420},
		{"gsm8k", "mistralai/mixtral-8x7b-instruct", 1319, 0.6384, 0},
		{"gsm8k", "openai/gpt-4-1106-preview", 1319, 0.8567, 0},
	} {
		t.Run(fmt.Sprint(c.folder, " ", c.model), func(t *testing.T) {
			w, defects := world.Read(os.DirFS(shared(t, filepath.Join("data", c.folder))))
			if len(defects) > 0 {
				t.Fatalf("%d defects, the first: %s", len(defects), defects[0])
			}
			m, ok := w.Model(c.model)
			if !ok || len(w.Tasks) != c.tasks || len(w.Models) != 2 {
				t.Fatalf("%d tasks, models %v", len(w.Tasks), w.Models)
			}
			for _, n := range w.Notes {
				t.Logf("put right: %s", n)
			}
			var sum float64
			var cost money.Pico
			for i := range w.Tasks {
				o := w.Outcome(i, m)
				sum += o.Score
				cost = cost.Plus(o.Cost)
				if !o.HasScore || !o.OK || o.Estimated != (c.dollars == 0) || o.Cost <= 0 {
					t.Fatalf("outcome of %s: %+v", w.Tasks[i].ID, o)
				}
			}
			if mean := sum / float64(c.tasks); math.Abs(mean-c.mean) > 0.00005 {
				t.Errorf("mean score %.5f, want %.4f", mean, c.mean)
			}
			if c.dollars > 0 && math.Abs(cost.Dollars()-c.dollars) > 0.0000005 {
				t.Errorf("total cost %s, want $%.6f", cost, c.dollars)
			}
		})
	}
}

func BenchmarkReadRouterArena(b *testing.B) { benchmarkRead(b, "routerarena") }
func BenchmarkReadGSM8K(b *testing.B)       { benchmarkRead(b, "gsm8k") }

func benchmarkRead(b *testing.B, folder string) {
	fsys := os.DirFS(shared(b, filepath.Join("data", folder)))
	b.ReportAllocs()
	for b.Loop() {
		if _, defects := world.Read(fsys); len(defects) > 0 {
			b.Fatal(defects[0])
		}
	}
}

// FuzzRead feeds foreign bytes as each file of a world: a world is whole or its defects are listed, never neither.
func FuzzRead(f *testing.F) {
	f.Add([]byte(models), []byte(tasks), []byte(outcomes), false)
	f.Add([]byte(models), []byte(pack(tasks)), []byte(pack(outcomes)), true)
	f.Add([]byte(`[{"id":1e999}]`), []byte("\xff\n{}"), []byte(`{"task_id":"t1","task_id":""}`), false)
	f.Fuzz(func(t *testing.T, m, k, o []byte, packed bool) {
		suffix := map[bool]string{true: ".gz"}[packed]
		fsys := fstest.MapFS{
			"models.json": {Data: m}, "tasks.jsonl" + suffix: {Data: k}, "outcomes.jsonl" + suffix: {Data: o},
		}
		w, defects := world.Read(fsys)
		if (w == nil) == (len(defects) == 0) || len(defects) > world.MaxDefects+1 {
			t.Fatalf("world %v with %d defects", w != nil, len(defects))
		}
		for _, d := range defects {
			if d.Detail == "" || len(d.Detail) > 1000 {
				t.Fatalf("a defect says %q", d.Detail)
			}
		}
		if w == nil {
			return
		}
		for i := range w.Tasks {
			for j := range w.Models {
				if x := w.Outcome(i, j); x.Cost < 0 || x.Score < 0 || x.Score > 1 || x.TokensIn < 0 || x.TokensOut < 0 {
					t.Fatalf("outcome %+v", x)
				}
			}
		}
	})
}
