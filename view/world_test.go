package view_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"assay/conductor/world"
	"assay/view"
)

func worldOf(t *testing.T, tasks, outcomes string) view.World {
	t.Helper()
	fsys := fstest.MapFS{
		"models.json": {Data: []byte(`[{"id": "me/b", "price_in_per_mtok": 1, "price_out_per_mtok": 2, "context_length": 100}]`)},
		"tasks.jsonl": {Data: []byte(tasks)},
	}
	if outcomes != "" {
		fsys["outcomes.jsonl"] = &fstest.MapFile{Data: []byte(outcomes)}
	}
	w, defects := world.Read(fsys)
	if len(defects) > 0 {
		t.Fatal(defects)
	}
	return view.WorldOf("w", w)
}

const task = `{"task_id": "t1", "benchmark": "b", "prompt": "p", "reference": "C", "metric": "mcq_accuracy"}` + "\n"

func TestWorldShowsWhatARunWouldCount(t *testing.T) {
	for name, c := range map[string]struct {
		tasks, outcomes string
		mean, recorded  float64 // below zero: null
		text            []string
	}{
		"no score is recorded":       {task, `{"task_id": "t1", "model": "me/b", "output": "C"}`, 1, -1, []string{"1.0000", "1 cost estimated", "1 task, 1 benchmark, 1 model"}},
		"another score was recorded": {task, `{"task_id": "t1", "model": "me/b", "output": "C", "score": 0, "cost_usd": 0}`, 1, 0, []string{"1.0000", "recorded score 0.0000"}},
		"no outcome is recorded":     {task, "", -1, -1, []string{"  -  ", "workers are called live"}},
		"a worker failed":            {task, `{"task_id": "t1", "model": "me/b", "ok": false}`, 0, 0, []string{"0.0000", "1 failed outcome"}},
		"a reference does not fit": {
			task + strings.NewReplacer("t1", "t2", `"C"`, `"ZZ"`).Replace(task),
			`{"task_id": "t1", "model": "me/b", "output": "C", "score": 1}` + "\n" + `{"task_id": "t2", "model": "me/b", "output": "C", "score": 0.5}`,
			0.75, 0.75, []string{"1 computed here, 1 scored as recorded", "2 tasks", `note: tasks.jsonl:2: reference "ZZ"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := worldOf(t, c.tasks, c.outcomes)
			for what, x := range map[string]struct {
				got  *float64
				want float64
			}{"mean": {s.Models[0].Mean, c.mean}, "recorded mean": {s.Models[0].Recorded, c.recorded}} {
				if (x.got == nil) != (x.want < 0) || x.got != nil && *x.got != x.want {
					t.Errorf("%s: %v, want %v", what, x.got, x.want)
				}
			}
			if (s.Models[0].TotalUSD == nil) != (c.outcomes == "") {
				t.Errorf("total %v", s.Models[0].TotalUSD)
			}
			var b strings.Builder
			if err := s.WriteText(&b); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.text {
				if !strings.Contains(b.String(), want) {
					t.Errorf("%q is not in:\n%s", want, b.String())
				}
			}
		})
	}
}
