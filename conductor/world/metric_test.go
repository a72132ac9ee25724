package world_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/conductor/world"
)

func TestWorthIsComputedWhereItCanBe(t *testing.T) {
	// t1 is computed: "5" counts 0, "It is 4." counts 1 without a recorded score. t2 counts as recorded, and a failure nothing.
	w, defects := world.Read(files("outcomes.jsonl", strings.Replace(outcomes, `"5", "score": 0`, `"5", "score": 1`, 1)))
	if len(defects) > 0 {
		t.Fatal(defects)
	}
	for i, want := range []float64{0, 1, 0.25, 0} {
		if got, ok := w.Worth(i/2, i%2); got != want || !ok {
			t.Errorf("outcome %d is worth %v, %v; want %v", i, got, ok, want)
		}
	}
	if !w.Computed(0) || w.Computed(1) {
		t.Errorf("computed: %v, %v", w.Computed(0), w.Computed(1))
	}
	w, defects = world.Read(one())
	if len(defects) > 0 {
		t.Fatal(defects)
	}
	if got, ok := w.Worth(0, 0); ok || got != 0 {
		t.Errorf("in a world without outcomes an answer is worth %v", got)
	}
}

func TestReferenceThatDoesNotFitItsMetric(t *testing.T) {
	const scored, bare = `{"task_id": "t1", "model": "me/b", "output": "C", "score": 0.5}`, `{"task_id": "t1", "model": "me/b", "output": "C"}`
	for metric, reference := range map[string]string{"mcq_accuracy": "ZZ", "number": "abc", "final_number": " ", "exact_match": "_"} {
		task := strings.NewReplacer("mcq_accuracy", metric, `"C"`, `"`+reference+`"`).Replace(oneTask)
		said := `tasks.jsonl:1: reference "` + reference + `" of task "t1" does not fit the metric ` + metric
		w, defects := world.Read(one("tasks.jsonl", task, "outcomes.jsonl", scored))
		if len(defects) > 0 {
			t.Fatal(defects)
		}
		if d := cmp.Diff([]string{said + ": its recorded scores count"}, told(w.Notes)); d != "" {
			t.Error(d)
		}
		if got, ok := w.Worth(0, 0); got != 0.5 || !ok || w.Computed(0) {
			t.Errorf("%s: worth %v, %v, computed %v", metric, got, ok, w.Computed(0))
		}
		_, defects = world.Read(one("tasks.jsonl", task, "outcomes.jsonl", bare))
		if d := cmp.Diff([]string{said + ", and an answer to it has no recorded score"}, told(defects)); d != "" {
			t.Error(d)
		}
		_, defects = world.Read(one("tasks.jsonl", task))
		if d := cmp.Diff([]string{said}, told(defects)); d != "" {
			t.Error(d)
		}
	}
}

func TestSlipInAMetricIsNoted(t *testing.T) {
	const scored, bare = `{"task_id": "t1", "model": "me/b", "output": "C", "score": 0.5}`, `{"task_id": "t1", "model": "me/b", "output": "C"}`
	for metric, want := range map[string]string{
		"mcq_acuracy": "mcq_accuracy", "MCQ-Accuracy": "mcq_accuracy", "mcq": "mcq_accuracy", "final_numbr": "final_number",
		"exact match": "exact_match", "meteor_scores": "meteor_score", "recorder": "recorded",
	} {
		task := strings.Replace(oneTask, "mcq_accuracy", metric, 1)
		w, defects := world.Read(one("tasks.jsonl", task, "outcomes.jsonl", scored))
		if len(defects) > 0 {
			t.Fatal(defects)
		}
		if len(w.Notes) != 1 || !strings.HasSuffix(w.Notes[0].String(), "did you mean "+want+"?") || w.Notes[0].Line != 1 {
			t.Errorf("%s: notes %v", metric, w.Notes)
		}
		for _, o := range []string{bare, ""} { // where nothing stands in, the slip is a defect
			if _, defects := world.Read(one("tasks.jsonl", task, "outcomes.jsonl", o)); len(defects) != 1 || !strings.HasSuffix(defects[0].Detail, "did you mean "+want+"?") {
				t.Errorf("%s with outcome %q: %v", metric, o, defects)
			}
		}
	}
	for _, metric := range []string{"recorded", "meteor_score", "chess_accuracy", "my_own_metric", "f1"} {
		if w, _ := world.Read(one("tasks.jsonl", strings.Replace(oneTask, "mcq_accuracy", metric, 1), "outcomes.jsonl", scored)); len(w.Notes) != 0 {
			t.Errorf("%s: notes %v", metric, w.Notes)
		}
	}
	w, _ := world.Read(one("tasks.jsonl", strings.Replace(oneTask, "mcq_accuracy", "", 1), "outcomes.jsonl", scored))
	if len(w.Notes) != 1 || w.Notes[0].Detail != `task "t1" names no metric: its recorded scores count` {
		t.Errorf("notes %v", w.Notes)
	}
}
