package routellm_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/conductor/world"
	"assay/conductor/world/routellm"
)

func TestReferencesComeFromAColumn(t *testing.T) {
	o := options()
	o.References, o.ReferenceColumn = nil, "gold"
	const text = "prompt,gold,weak-1,weak-1_response,strong-2,strong-2_response,notes\r\nWhat is 3*3?,9,0,8,1,#### 9,x\r\n"
	w, defects := routellm.Import([]byte(text), o)
	if len(defects) > 0 {
		t.Fatal(defects)
	}
	if got := w.Tasks[0].Reference; got != "9" || !w.Computed(0) {
		t.Errorf("reference %q, computed %v", got, w.Computed(0))
	}
	weak, _ := w.Model("acme/weak-1")
	strong, _ := w.Model("acme/strong-2")
	lost, _ := w.Worth(0, weak)
	won, _ := w.Worth(0, strong)
	if lost != 0 || won != 1 {
		t.Errorf("the answers are worth %v and %v", lost, won)
	}
	if len(w.Notes) != 1 || w.Notes[0].Detail != `column "notes" is ignored: nothing names it` {
		t.Errorf("notes %v", w.Notes)
	}
	o.ReferenceColumn = "silver"
	if _, defects := routellm.Import([]byte(text), o); len(defects) != 1 || defects[0].String() != `sums.csv:1: no column "silver"` {
		t.Error(defects)
	}
}

func TestUnnamedModelsAreLeftOutAndNoted(t *testing.T) {
	o := options()
	delete(o.Models, "strong-2")
	w, defects := routellm.Import([]byte(table), o)
	if len(defects) > 0 {
		t.Fatal(defects)
	}
	var notes []string
	for _, n := range w.Notes {
		notes = append(notes, n.Detail)
	}
	want := []string{`column "strong-2" is ignored: nothing names it`, `column "strong-2_response" is ignored: nothing names it`}
	if d := cmp.Diff(want, notes); d != "" || len(w.Models) != 1 {
		t.Errorf("%d models, notes %s", len(w.Models), d)
	}
}

func TestMarksAreReadInAnyCaseAndAsDigits(t *testing.T) {
	for mark, want := range map[string]float64{"true": 1, "TRUE": 1, "True": 1, "1": 1, "1.0": 1, "false": 0, "FALSE": 0, "0": 0, "0.0": 0, " True ": 1} {
		w, defects := routellm.Import([]byte("prompt,weak-1,strong-2\nQ?,"+mark+",True\n"), marks())
		if len(defects) > 0 {
			t.Errorf("%q: %v", mark, defects)
			continue
		}
		weak, _ := w.Model("acme/weak-1")
		if o := w.Outcome(0, weak); o.Score != want || !o.HasScore {
			t.Errorf("%q counts %v", mark, o.Score)
		}
	}
}

// A metric that is computed would give every answer that was not recorded a zero.
func TestMetricThatIsComputedNeedsTheAnswers(t *testing.T) {
	w, defects := routellm.Import([]byte("prompt,weak-1,strong-2\nWhat is 3*3?,True,True\n"), options())
	if w != nil || len(defects) != 2 || !strings.Contains(defects[0].Detail, `no column "weak-1_response": the metric final_number needs the answers`) {
		t.Error(defects)
	}
}

func TestEveryRowNeedsItsReference(t *testing.T) {
	o := options()
	o.References = references(`{"row": 1, "reference": "9"}`)
	_, defects := routellm.Import([]byte(table), o)
	if len(defects) != 1 || defects[0].String() != `sums.csv:2: no reference for row 0, whose prompt is "What is 2+2, \"roughly\"?"` {
		t.Error(defects)
	}
}

func TestColumns(t *testing.T) {
	got, defects := routellm.Columns([]byte(table), "sums.csv")
	want := []routellm.Column{
		{Name: "prompt"}, {Name: "weak-1", Marks: true, Answers: true}, {Name: "strong-2", Marks: true, Answers: true},
		{Name: "weak-1_response"}, {Name: "strong-2_response"},
	}
	if d := cmp.Diff(want, got); d != "" || len(defects) > 0 {
		t.Error(d, defects)
	}
	if _, defects := routellm.Columns([]byte("prompt,\"a"), "sums.csv"); len(defects) != 1 {
		t.Error(defects)
	}
}

func TestTwoColumnsOfOneNameAreRefused(t *testing.T) {
	_, defects := routellm.Import([]byte("prompt,weak-1,strong-2,weak-1\nq,True,True,False\n"), marks())
	if len(defects) == 0 || defects[0].Code != world.DuplicateKey {
		t.Error(defects)
	}
}

func TestDefectsOfReferences(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "refs.jsonl: no reference",
		`{"row": 0}`:                          "refs.jsonl:1: no reference",
		"\n" + `{"reference": "4"}`:           "refs.jsonl:2: either row or prompt is needed",
		`{"row": 0, "reference": [4]}`:        "refs.jsonl:1: a reference must be a string or a number",
		`{"row": "0", "reference": "4"}`:      `refs.jsonl:1: field "row" must be a whole number, is a string`,
		`{"row": 0, "reference": "4",}`:       "refs.jsonl:1: not JSON: a comma before the closing } at byte 28",
		`{"row":1,"prompt":"","reference":1}`: "refs.jsonl:1: either row or prompt is needed",
		`{"row":1,"reference":1}` + "\n" + `{"row":1,"reference":2}`:             "refs.jsonl:2: second reference for row 1",
		`{"prompt":"p","reference":1}` + "\r\n" + `{"prompt":"p","reference":2}`: `refs.jsonl:2: another reference for the prompt "p"`,
	} {
		refs, defects := routellm.ReadReferences([]byte(text), "refs.jsonl")
		if refs != nil || len(defects) != 1 || defects[0].String() != want {
			t.Errorf("%q: %v, want %s", text, defects, want)
		}
	}
}

// FuzzReadReferences feeds foreign bytes as references: they are read, or their defects are listed.
func FuzzReadReferences(f *testing.F) {
	f.Add([]byte(`{"row": 0, "reference": "4"}`))
	f.Add([]byte("\ufeff" + `{"prompt": "p", "reference": 1e3}` + "\r\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		refs, defects := routellm.ReadReferences(text, "refs.jsonl")
		if (refs == nil) == (len(defects) == 0) {
			t.Fatalf("references %v with %d defects", refs != nil, len(defects))
		}
	})
}
