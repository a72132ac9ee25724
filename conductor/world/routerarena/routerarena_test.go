package routerarena_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"assay/conductor/world"
	"assay/conductor/world/routerarena"
)

const (
	prices = `{"small-1": {"input_token_price_per_million": 0.1, "output_token_price_per_million": 0.4},
 "large-2": {"input_token_price_per_million": 2, "output_token_price_per_million": 8}, "unused": {}}`
	small = `{"global_index": "Tiny_Sums_1", "question": "1+1?", "llm_selected": "small-1", "generated_answer": "\\boxed{B}", "token_usage": {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13}, "success": true, "provider": "p", "error": null, "evaluation_result": {"extracted_answer": "B", "ground_truth": "1", "score": 1.0, "metric": "mcq_accuracy", "inference_cost": 2.5e-06}, "run_number": 1}
{"global_index": "Tiny_Sums_1", "question": "1+1?", "llm_selected": "small-1", "generated_answer": "again", "success": true, "evaluation_result": {"ground_truth": "1", "score": 0.0, "metric": "mcq_accuracy"}, "run_number": 2}
{"global_index": "Code_7", "question": "Write it.", "llm_selected": "small-1", "generated_answer": "def", "token_usage": {"input_tokens": 5, "output_tokens": 1}, "success": true, "evaluation_result": {"ground_truth": {"tests": [1]}, "score": 0.0, "metric": "code_accuracy", "inference_cost": 9e-07}}
{"global_index": "Only_1", "question": "Alone?", "llm_selected": "small-1", "generated_answer": "yes", "success": true, "evaluation_result": {"ground_truth": "yes", "score": 1.0, "metric": "exact_match", "inference_cost": 1e-06}}
`
	large = `{"global_index": "Code_7", "question": "Write it.", "llm_selected": "large-2", "generated_answer": "def f(): pass", "token_usage": {"input_tokens": 5, "output_tokens": 6}, "success": true, "evaluation_result": {"ground_truth": {"tests": [1]}, "score": 1.0, "metric": "code_accuracy", "inference_cost": 5.8e-05}}
{"global_index": "Tiny_Sums_1", "question": "1+1?", "llm_selected": "large-2", "generated_answer": null, "token_usage": {}, "success": false, "error": "HTTP 503", "evaluation_result": {"ground_truth": "1", "score": 0.0, "metric": "mcq_accuracy", "inference_cost": 0}}
`
)

func project(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	all := append([]string{
		"model_cost/model_cost.json", prices, "cached_results/small-1.jsonl", small, "cached_results/large-2.jsonl", large,
		"cached_results/README.md", "not answers",
	}, pairs...)
	for i := 0; i < len(all); i += 2 {
		fsys[all[i]] = &fstest.MapFile{Data: []byte(all[i+1])}
	}
	return fsys
}

func TestImport(t *testing.T) {
	w, defects := routerarena.Import(project(), routerarena.Options{
		Models:  map[string]string{"small-1": "acme/small-1", "large-2": "acme/large-2"},
		Context: map[string]int64{"acme/large-2": 200000},
	})
	if len(defects) > 0 {
		t.Fatal(defects)
	}
	if d := cmp.Diff([]world.Model{{ID: "acme/large-2", In: 2, Out: 8, Context: 200000}, {ID: "acme/small-1", In: 0.1, Out: 0.4, Context: routerarena.DefaultContext}}, w.Models); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]world.Task{
		{ID: "Code_7", Benchmark: "Code", Prompt: "Write it.", Metric: "code_accuracy"},
		{ID: "Tiny_Sums_1", Benchmark: "Tiny_Sums", Prompt: "1+1?", Reference: "1", Metric: "mcq_accuracy"},
	}, w.Tasks); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(world.Outcome{Failure: "HTTP 503"}, *w.Outcome(1, 0)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(world.Outcome{Text: `\boxed{B}`, Score: 1, HasScore: true, OK: true, TokensIn: 9, TokensOut: 4, Cost: 2_500_000}, *w.Outcome(1, 1)); d != "" {
		t.Error(d)
	}
	if len(w.Notes) != 0 {
		t.Errorf("notes %v: the first model answered no task that another did not", w.Notes)
	}
	fsys := fstest.MapFS{}
	for name, text := range world.Write(w) {
		fsys[name] = &fstest.MapFile{Data: text}
	}
	if _, defects := world.Read(fsys); len(defects) > 0 {
		t.Errorf("what was imported does not read: %v", defects)
	}
}

func TestTasksThatNotEveryModelAnsweredAreLeftOutAndNoted(t *testing.T) {
	w, defects := routerarena.Import(project("cached_results/aaa.jsonl", strings.ReplaceAll(small, "small-1", "aaa"),
		"model_cost/model_cost.json", strings.Replace(prices, "unused\": {}", `aaa": {"input_token_price_per_million": 0, "output_token_price_per_million": 1}`, 1)), routerarena.Options{})
	if len(defects) > 0 {
		t.Fatal(defects)
	}
	if len(w.Tasks) != 2 || len(w.Notes) != 1 || !strings.Contains(w.Notes[0].String(), "tasks left out: 1;") {
		t.Errorf("%d tasks, notes %v", len(w.Tasks), w.Notes)
	}
}

func TestFault11_UnpricedModelIsRefusedByName(t *testing.T) {
	for _, table := range []string{`{"small-1": {"input_token_price_per_million": 0.1, "output_token_price_per_million": 0.4}}`,
		strings.Replace(prices, `"large-2"`, `"acme/large-2"`, 1), strings.Replace(prices, `"output_token_price_per_million": 8`, `"x": 8`, 1)} {
		w, defects := routerarena.Import(project("model_cost/model_cost.json", table), routerarena.Options{})
		if w != nil || len(defects) == 0 || defects[0].Code != world.BadPrice || !strings.Contains(defects[0].Detail, `"large-2"`) {
			t.Errorf("with %s: %v", table, defects)
		}
	}
}

func TestDefectsOfTheProjectsFiles(t *testing.T) {
	for name, c := range map[string]struct {
		fsys fstest.MapFS
		o    routerarena.Options
		want string
	}{
		"no folder":     {fstest.MapFS{"model_cost/model_cost.json": {Data: []byte(prices)}}, routerarena.Options{}, "cached_results: the folder cached_results cannot be read"},
		"bad line":      {project("cached_results/large-2.jsonl", large+"{"), routerarena.Options{}, "cached_results/large-2.jsonl:3: not JSON: the text ends in the middle"},
		"answer twice":  {project("cached_results/large-2.jsonl", large+large[:strings.IndexByte(large, '\n')]), routerarena.Options{}, `cached_results/large-2.jsonl:3: second answer of "large-2" to "Code_7"`},
		"unknown model": {project(), routerarena.Options{Models: map[string]string{"small-1": "s", "huge": "h"}}, `cached_results: no answers of "huge"`},
		"no index":      {project("cached_results/large-2.jsonl", large+`{"llm_selected": "large-2"}`), routerarena.Options{}, "cached_results/large-2.jsonl:3: row without a global_index"},
	} {
		w, defects := routerarena.Import(c.fsys, c.o)
		if w != nil || len(defects) == 0 || defects[0].String() != c.want {
			t.Errorf("%s: %v, want %s", name, defects, c.want)
		}
	}
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(prices), []byte(small), []byte(large))
	f.Add([]byte(`{"a":{}}`), []byte(`{"global_index":"x_1","llm_selected":"a","evaluation_result":{}}`), []byte("[]"))
	f.Fuzz(func(t *testing.T, p, a, b []byte) {
		w, defects := routerarena.Import(project("model_cost/model_cost.json", string(p), "cached_results/small-1.jsonl", string(a), "cached_results/large-2.jsonl", string(b)), routerarena.Options{})
		if (w == nil) == (len(defects) == 0) {
			t.Fatalf("world %v with %d defects", w != nil, len(defects))
		}
		fsys := fstest.MapFS{}
		if w == nil {
			return
		}
		for name, text := range world.Plain(w) {
			fsys[name] = &fstest.MapFile{Data: text}
		}
		if _, defects := world.Read(fsys); len(defects) > 0 {
			t.Fatalf("what was imported does not read: %v", defects)
		}
	})
}
