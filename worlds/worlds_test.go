package worlds_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/conductor/duel"
	"assay/conductor/ending"
	"assay/conductor/grade"
	"assay/conductor/score"
	"assay/conductor/world"
	"assay/worlds"
	"assay/worlds/internal/atlas"
)

func read(t *testing.T) *world.World {
	t.Helper()
	w, defects := world.Read(worlds.Embedded())
	if len(defects) > 0 {
		t.Fatalf("%d defects, the first: %s", len(defects), defects[0])
	}
	return w
}

func TestEmbeddedFilesAreWhatTheGeneratorMakes(t *testing.T) {
	w, err := atlas.World()
	if err != nil {
		t.Fatal(err)
	}
	want := world.Plain(w)
	entries, err := fs.ReadDir(worlds.Embedded(), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := fs.ReadFile(worlds.Embedded(), e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != string(want[e.Name()]) {
			t.Errorf("%s differs: run go run ./worlds/gen", e.Name())
		}
	}
	if len(entries) != len(want) {
		t.Errorf("%d files are embedded, the generator makes %d", len(entries), len(want))
	}
}

func TestEveryAnswerRegradesToItsScore(t *testing.T) {
	w := read(t)
	metrics, answers, failures := map[string]int{}, 0, 0
	for i, task := range w.Tasks {
		metrics[task.Metric]++
		for m, model := range w.Models {
			o := w.Outcome(i, m)
			if !o.OK {
				failures++
				continue
			}
			answers++
			if s, ok := grade.Mark(task.Metric, task.Reference, o.Text); !ok || s != o.Score || !o.HasScore {
				t.Errorf("%s by %s: recorded %v, regraded %v, %v", task.ID, model.ID, o.Score, s, ok)
			}
			if o.Estimated || o.Cost != model.ListPrice(o.TokensIn, o.TokensOut) {
				t.Errorf("%s by %s: %s is not tokens times list price", task.ID, model.ID, o.Cost)
			}
		}
	}
	t.Logf("%d answers, %d failed calls, metrics %v", answers, failures, metrics)
	if len(metrics) != 4 || failures == 0 || answers+failures != len(w.Tasks)*len(w.Models) {
		t.Error("the world has lost a metric or its failed calls")
	}
}

func TestPromptsAreDistinctAndBenchmarksMany(t *testing.T) {
	w := read(t)
	prompts, benchmarks := map[string]string{}, map[string]int{}
	for _, task := range w.Tasks {
		if other, dup := prompts[task.Prompt]; dup {
			t.Errorf("%s and %s ask the same", task.ID, other)
		}
		prompts[task.Prompt] = task.ID
		benchmarks[task.Benchmark]++
	}
	if len(benchmarks) < 6 || len(w.Tasks) < 60 || len(w.Models) != 4 {
		t.Errorf("%d benchmarks, %d tasks, %d models", len(benchmarks), len(w.Tasks), len(w.Models))
	}
}

// The models' indices, cheapest first.
const (
	sprint = iota
	breeze
	forge
	summit
)

// aware reads benchmark and closing words and names the models to try in turn.
func aware(task world.Task) []int {
	level := 0
	switch {
	case strings.HasSuffix(task.Prompt, "one sentence."):
		level = 1
	case strings.HasSuffix(task.Prompt, "working."):
		level = 2
	}
	plan := map[string][3][]int{
		"arithmetic": {{sprint}, {sprint, forge}, {summit}},
		"ciphers":    {{breeze}, {forge}, {summit, forge}},
		"dates":      {{sprint}, {breeze}, {summit, breeze}},
		"grammar":    {{sprint, breeze}, {breeze}, {breeze}},
		"ordering":   {{sprint}, {forge}, {forge, summit}},
		"sequences":  {{sprint}, {sprint, forge}, {summit}},
		"units":      {{sprint, breeze}, {forge}, {forge, breeze, summit}},
		"words":      {{breeze}, {breeze}, {breeze, summit}},
	}[task.Benchmark]
	return plan[level]
}

// play asks the models in turn until one answer is fully right.
func play(w *world.World, policy func(world.Task) []int) []score.Row {
	var rows []score.Row
	for i, task := range w.Tasks {
		r := score.Row{TaskID: task.ID, Benchmark: task.Benchmark, Ending: ending.Stop}
		for _, m := range policy(task) {
			o := w.Outcome(i, m)
			r.Spend += o.Cost.Dollars()
			if r.Score = max(r.Score, o.Score); r.Score >= 1 {
				break
			}
		}
		rows = append(rows, r)
	}
	return rows
}

func fixed(models ...int) func(world.Task) []int { return func(world.Task) []int { return models } }

func TestAPolicyThatReadsTheTaskWins(t *testing.T) {
	w := read(t)
	arms := map[string][]score.Row{
		score.Cheapest: play(w, fixed(sprint)), score.Strongest: play(w, fixed(summit)),
		"cascade": play(w, fixed(sprint, forge, summit)), // three rungs of four, as the ladder rounds them
	}
	pool, err := score.FitPool(arms)
	if err != nil {
		t.Fatal(err)
	}
	if pool.KingZero != "cascade" {
		t.Errorf("the best fixed policy is %s, want the cascade", pool.KingZero)
	}
	for name, rate := range pool.Exchange {
		if rate.Excluded() {
			t.Errorf("%s is excluded: %v", name, rate.Flags)
		}
	}
	final := map[string]float64{}
	arms["always-breeze"], arms["aware"] = play(w, fixed(breeze)), play(w, aware)
	for name, rows := range arms {
		card, err := score.Of(rows, pool.Exchange)
		if err != nil {
			t.Fatal(err)
		}
		final[name] = card.Final
		t.Logf("%-16s quality %.4f spend $%.6f final %.4f", name, card.Quality, score.TotalSpend(rows), card.Final)
	}
	for _, other := range []string{score.Cheapest, score.Strongest, "cascade", "always-breeze"} {
		if final["aware"] <= final[other] {
			t.Errorf("the policy that reads the task (%.4f) does not beat %s (%.4f)", final["aware"], other, final[other])
		}
	}
	for _, king := range []string{score.Cheapest, score.Strongest, "cascade"} {
		verdict := fight(t, arms[king], arms["aware"], pool.Exchange)
		t.Logf("against %-16s delta %.4f lcb %.4f leave-one-out %.4f median %.4f", king, verdict.Delta, verdict.LCB, verdict.LOOMin, verdict.Median)
		for _, l := range verdict.ByBenchmark {
			t.Logf("   %-12s %+.4f", l.Benchmark, l.Delta)
		}
		if !verdict.Wins() {
			t.Errorf("it does not win against %s: refused by %v", king, verdict.Conditions.Refused())
		}
	}
	if v := fight(t, arms["cascade"], arms[score.Strongest], pool.Exchange); v.Wins() {
		t.Error("always asking the strongest wins against the cascade")
	}
}

func fight(t *testing.T, king, challenger []score.Row, e score.Exchange) duel.Result {
	t.Helper()
	pairs, err := duel.Match(king, challenger)
	if err != nil {
		t.Fatal(err)
	}
	r, err := duel.Run(pairs, e, duel.Standard("atlas"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNoModelSolvesEverythingAndTogetherTheyDo(t *testing.T) {
	w := read(t)
	onlyOne := map[int]int{}
	var unsolved []string
	for i, task := range w.Tasks {
		var by []int
		for m := range w.Models {
			if w.Outcome(i, m).Score == 1 {
				by = append(by, m)
			}
		}
		switch len(by) {
		case 0:
			unsolved = append(unsolved, task.ID)
		case 1:
			onlyOne[by[0]]++
		}
	}
	if d := cmp.Diff([]string(nil), unsolved); d != "" {
		t.Errorf("unsolved: %s", d)
	}
	for _, m := range []int{breeze, forge, summit} {
		if onlyOne[m] == 0 {
			t.Errorf("nothing is solved by %s alone", w.Models[m].ID)
		}
	}
}
