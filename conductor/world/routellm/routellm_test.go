package routellm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/conductor/world"
	"assay/conductor/world/routellm"
)

const table = `prompt,weak-1,strong-2,weak-1_response,strong-2_response
"What is 2+2, ""roughly""?",True,True,"4
#### 4",#### 4
What is 3*3?,False,True,8,"#### 9"
`

func options() routellm.Options {
	return routellm.Options{
		File: "sums.csv", Benchmark: "Sums", Metric: "final_number",
		Models: map[string]world.Model{
			"weak-1":   {ID: "acme/weak-1", In: 0.24, Out: 0.24, Context: 32768},
			"strong-2": {ID: "acme/strong-2", In: 10, Out: 30, Context: 128000},
		},
		References: references(`{"row": 0, "reference": "4"}` + "\n" + `{"prompt": "What is 3*3?", "reference": 9}` + "\n"),
	}
}

func references(text string) *routellm.References {
	refs, defects := routellm.ReadReferences([]byte(text), "refs.jsonl")
	if len(defects) > 0 {
		panic(defects)
	}
	return refs
}

// marks are options for tables that hold no answers.
func marks() routellm.Options {
	o := options()
	o.Metric, o.References = world.RecordedMetric, nil
	return o
}

func TestImport(t *testing.T) {
	const asJSON = `[{"prompt": "What is 2+2, \"roughly\"?", "weak-1": true, "strong-2": true, "weak-1_response": "4\n#### 4", "strong-2_response": "#### 4"},
 {"prompt": "What is 3*3?", "strong-2": "True", "weak-1": false, "weak-1_response": "8", "strong-2_response": "#### 9"}]`
	for form, text := range map[string]string{"csv": table, "csv with a mark": "\ufeff" + table, "json": asJSON} {
		w, defects := routellm.Import([]byte(text), options())
		if len(defects) > 0 {
			t.Fatal(form, defects)
		}
		if d := cmp.Diff([]world.Task{
			{ID: "sums_0000", Benchmark: "Sums", Prompt: `What is 2+2, "roughly"?`, Reference: "4", Metric: "final_number"},
			{ID: "sums_0001", Benchmark: "Sums", Prompt: "What is 3*3?", Reference: "9", Metric: "final_number"},
		}, w.Tasks); d != "" {
			t.Error(form, d)
		}
		weak, ok := w.Model("acme/weak-1")
		if !ok {
			t.Fatal(form, w.Models)
		}
		if d := cmp.Diff(world.Outcome{Text: "4\n#### 4", Score: 1, HasScore: true, OK: true, Estimated: true, TokensIn: 6, TokensOut: 2, Cost: 1_920_000}, *w.Outcome(0, weak)); d != "" {
			t.Error(form, d)
		}
		if o := w.Outcome(1, weak); o.Score != 0 || !o.HasScore {
			t.Errorf("%s: %+v", form, o)
		}
	}
}

func TestTableWithoutResponsesKeepsTheMarks(t *testing.T) {
	w, defects := routellm.Import([]byte("prompt,weak-1,strong-2\nQ?,False,True\n"), marks())
	if len(defects) > 0 {
		t.Fatal(defects)
	}
	strong, _ := w.Model("acme/strong-2")
	if o := w.Outcome(0, strong); o.Score != 1 || o.Text != "" || len(w.Notes) != 2 {
		t.Errorf("outcome %+v, notes %v", o, w.Notes)
	}
}

func TestFault11_UnpricedModelIsRefusedByName(t *testing.T) {
	o := options()
	o.Models = nil
	w, defects := routellm.Import([]byte(table), o)
	if w != nil || len(defects) != 4 || defects[0].Code != world.BadPrice || defects[0].String() != `sums.csv:1: model "weak-1" has no input price` {
		t.Error(defects)
	}
}

func TestDefectsOfATable(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "sums.csv:1: no column is called prompt",
		"question,weak-1\n":                    "sums.csv:1: no column is called prompt",
		"prompt,other\nq,1\n":                  "sums.csv:1: no column \"strong-2\"",
		"prompt,weak-1,strong-2\nq,yes,True\n": `sums.csv:2: column "weak-1" holds "yes", which is neither true, false, 1 nor 0`,
		"prompt,weak-1,strong-2\nq,True\n":     "sums.csv:2: 2 fields, the header has 3",
		"prompt,weak-1,strong-2\n\"q,True\n":   "sums.csv:2: not CSV: a quote that is never closed, found on line 2",
		"prompt,weak-1,strong-2\n":             "a world holds at least one model and one task",
		"[{}":                                  "sums.csv:1: not JSON: the text ends in the middle",
		`[{"prompt": "q", "weak-1": true, "strong-2": true}, {"prompt": "r", "weak-1": true}]`: `sums.csv: row 1 has no "strong-2"`,
	} {
		w, defects := routellm.Import([]byte(text), marks())
		if w != nil || len(defects) == 0 || defects[0].String() != want {
			t.Errorf("%q: %v, want %s", text, defects, want)
		}
	}
}

// FuzzImport feeds foreign bytes as a table: a world is whole or its defects are listed.
func FuzzImport(f *testing.F) {
	f.Add([]byte(table))
	f.Add([]byte(`[{"prompt": "q", "weak-1": true, "strong-2": false}]`))
	f.Add([]byte("prompt,weak-1,strong-2\n\xff,True,False\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		w, defects := routellm.Import(text, options())
		if (w == nil) == (len(defects) == 0) {
			t.Fatalf("world %v with %d defects", w != nil, len(defects))
		}
	})
}
