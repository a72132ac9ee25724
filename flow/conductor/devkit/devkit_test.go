package devkit_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"assay/conductor/grade"
	"assay/conductor/policy"
	"assay/conductor/profile"
	"assay/conductor/score"
	"assay/conductor/world"
	"assay/core/money"
	"assay/flow/conductor/devkit"
	"assay/flow/conductor/play"
	"assay/view"
)

// mockModels are the mock world's workers: price in, price out, context, strength, cost of a call.
var mockModels = []struct {
	id             string
	in, out        float64
	context, power int
	cost           float64
}{{"cheap", .10, .40, 128000, 1, .01}, {"mid", .60, 2.40, 200000, 2, .05}, {"strong", 3, 12, 400000, 3, .20}}

// mockWorld is the reference's mock world with its answers recorded: two benchmarks of six tasks, graded by subgoals.
func mockWorld(t *testing.T) *world.World {
	t.Helper()
	strengths := map[string]int{}
	var models []string
	for _, m := range mockModels {
		strengths[m.id] = m.power
		models = append(models, fmt.Sprintf(`{"id":%q,"price_in_per_mtok":%g,"price_out_per_mtok":%g,"context_length":%d}`, m.id, m.in, m.out, m.context))
	}
	var tasks, outcomes strings.Builder
	for _, b := range []grade.Mock{
		{Name: "terminal-bench", Seed: "mock", Low: 1, High: 2, Subgoals: 4, Strengths: strengths},
		{Name: "cybergym", Seed: "mock", Low: 1, High: 3, Subgoals: 4, Strengths: strengths},
	} {
		for i := range 6 {
			id := fmt.Sprintf("%s-%04d", b.Name, i)
			fmt.Fprintf(&tasks, `{"task_id":%q,"benchmark":%q,"prompt":"Solve %s.","tools":["bash","editor"],"reference":"","metric":"mock"}`+"\n", id, b.Name, id)
			for _, m := range mockModels {
				answer := grade.MockAnswer + m.id
				g, err := b.Grade(id, answer)
				if err != nil {
					t.Fatal(err)
				}
				s, err := g.Score()
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&outcomes, `{"task_id":%q,"model":%q,"output":%q,"score":%g,"cost_usd":%g,"input_tokens":10,"output_tokens":10}`+"\n", id, m.id, answer, s, m.cost)
			}
		}
	}
	w, defects := world.Read(fstest.MapFS{
		"models.json":    {Data: []byte("[" + strings.Join(models, ",") + "]")},
		"tasks.jsonl":    {Data: []byte(tasks.String())},
		"outcomes.jsonl": {Data: []byte(outcomes.String())},
	})
	if len(defects) > 0 {
		t.Fatal(defects)
	}
	return w
}

// says is a Conductor that always says the same.
type says string

func (s says) Turn(context.Context, play.Ask) (play.Said, error) {
	return play.Said{Text: string(s), Tokens: -1}, nil
}

func open(t *testing.T, w *world.World) *devkit.Stage {
	t.Helper()
	st, err := devkit.Open(devkit.Settings{World: w, Name: "mock", Profile: profile.Strict, Nonce: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func report(t *testing.T, st *devkit.Stage, a devkit.Arm) *view.DevKit {
	t.Helper()
	a.Concurrency, a.Now, a.Decisions = 16, time.Now, -1
	r, err := st.Run(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func text(t *testing.T, r *view.DevKit) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func mustHold(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(out, p) {
			t.Errorf("the report lacks %q:\n%s", p, out)
		}
	}
}

func TestBehaviourY3_WithoutAConductorTheCheapestPolicyStandsIn(t *testing.T) {
	r := report(t, open(t, mockWorld(t)), devkit.Arm{})
	mustHold(t, text(t, r), "the cheapest policy stands in")
	if r.Costs[0].Calls != 12 || r.Costs[1].Calls+r.Costs[2].Calls != 0 {
		t.Errorf("calls %+v, want the cheapest model twelve times", r.Costs)
	}
}

func TestBehaviourY4_NeverStopping(t *testing.T) {
	r := report(t, open(t, mockWorld(t)), devkit.Arm{Conductor: says("DELEGATE cheap"), Name: "never stops"})
	if r.Failures.Turns != 12*12 {
		t.Errorf("%d turns, want twelve for each of twelve tasks", r.Failures.Turns)
	}
	mustHold(t, text(t, r), "max_steps=12")
}

func TestBehaviourY5_Gibberish(t *testing.T) {
	r := report(t, open(t, mockWorld(t)), devkit.Arm{Conductor: says("blah blah"), Name: "gibberish"})
	mustHold(t, text(t, r), "parse failures: 36 of 36 turns (100.0%)", "not_action=36", "parse_failures=12")
}

func TestBehaviourY6_BudgetCutsTheTail(t *testing.T) {
	budget := money.Dollar * 35 / 1000
	r := report(t, open(t, mockWorld(t)), devkit.Arm{Budget: &budget})
	mustHold(t, text(t, r), "stop=3 ", "budget_exhausted=9", "(never reached)")
}

func TestBehaviourY7_TwoRungCascade(t *testing.T) {
	st := open(t, mockWorld(t))
	p, err := policy.NewCascade(2, st.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	r := report(t, st, devkit.Arm{Conductor: play.Fixed{Policy: p}, Name: "two rungs"})
	mustHold(t, text(t, r), "cybergym-0003 [cybergym] score 1.000 $0.210000 ended=stop")
}

func TestBehaviourY8_EveryEndingIsPrinted(t *testing.T) {
	r := report(t, open(t, mockWorld(t)), devkit.Arm{})
	mustHold(t, text(t, r), "stop=12 max_steps=0 parse_failures=0 wall_clock=0 duel_wall_clock=0 budget_exhausted=0 futile=0 excluded=0")
}

func TestBehaviourY9_TheTableIsTheScorers(t *testing.T) {
	st := open(t, mockWorld(t))
	p, err := policy.New(policy.Cascade, "dev", st.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	r := report(t, st, devkit.Arm{Conductor: play.Fixed{Policy: p}, Name: "cascade"})
	var rows []score.Row
	for _, d := range r.Decisions {
		rows = append(rows, score.Row{TaskID: d.TaskID, Benchmark: d.Benchmark, Score: d.Score, Spend: d.USD})
	}
	arms := map[string][]score.Row{}
	for _, name := range []string{policy.Cheapest, policy.Strongest} {
		a := report(t, st, devkit.Arm{Conductor: fixed(t, st, name), Name: name})
		for _, d := range a.Decisions {
			arms[name] = append(arms[name], score.Row{TaskID: d.TaskID, Benchmark: d.Benchmark, Score: d.Score, Spend: d.USD})
		}
	}
	arms[policy.Cascade] = rows
	pool, err := score.FitPool(arms)
	if err != nil {
		t.Fatal(err)
	}
	card, err := score.Of(rows, pool.Exchange)
	if err != nil {
		t.Fatal(err)
	}
	if r.Score.Final == nil || math.Abs(*r.Score.Final-card.Final) > 1e-12 {
		t.Errorf("final %v, the scorer says %v", r.Score.Final, card.Final)
	}
	for i, l := range card.Lines {
		got := r.Score.Lines[i]
		if got.Benchmark != l.Benchmark || got.N != l.N || math.Abs(got.Quality-l.Quality) > 1e-12 || math.Abs(got.USD-l.Spend) > 1e-12 {
			t.Errorf("line %+v, the scorer says %+v", got, l)
		}
	}
}

func fixed(t *testing.T, st *devkit.Stage, name string) play.Conductor {
	t.Helper()
	p, err := policy.New(name, st.Nonce, st.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	return play.Fixed{Policy: p}
}

func TestFailureModesStandBeforeScores(t *testing.T) {
	out := text(t, report(t, open(t, mockWorld(t)), devkit.Arm{}))
	at := -1
	for _, h := range []string{"# FAILURE MODES", "# SCORE", "# COST PER MODEL", "# DUELS", "# DECISIONS"} {
		i := strings.Index(out, h)
		if i <= at {
			t.Fatalf("%s stands at %d, after %d", h, i, at)
		}
		at = i
	}
}

func TestUnknownIDGetsAHintAndNoCall(t *testing.T) {
	r := report(t, open(t, mockWorld(t)), devkit.Arm{Conductor: says("DELEGATE chaep"), Name: "misspelt"})
	if r.Failures.Calls != 0 || r.Decisions[0].Steps[0].Nearest != "" && r.Decisions[0].Steps[0].Nearest != "cheap" {
		t.Errorf("calls %d, step %+v", r.Failures.Calls, r.Decisions[0].Steps[0])
	}
	r = report(t, open(t, mockWorld(t)), devkit.Arm{Conductor: says("DELEGATE strongg"), Name: "misspelt"})
	mustHold(t, text(t, r), "unknown_id; the nearest id is strong")
}

func TestOneBenchmarkHasNoDuel(t *testing.T) {
	files := fstest.MapFS{
		"models.json":    {Data: []byte(`[{"id":"a","price_in_per_mtok":1,"price_out_per_mtok":1,"context_length":10},{"id":"b","price_in_per_mtok":2,"price_out_per_mtok":2,"context_length":10}]`)},
		"tasks.jsonl":    {Data: []byte(`{"task_id":"t","benchmark":"one","prompt":"p","reference":"A","metric":"mcq_accuracy"}` + "\n")},
		"outcomes.jsonl": {Data: []byte(`{"task_id":"t","model":"a","output":"Answer: B","score":0,"cost_usd":0.1}` + "\n" + `{"task_id":"t","model":"b","output":"Answer: A","score":1,"cost_usd":0.2}` + "\n")},
	}
	w, defects := world.Read(files)
	if len(defects) > 0 {
		t.Fatal(defects)
	}
	r := report(t, open(t, w), devkit.Arm{})
	mustHold(t, text(t, r), "no duel: breadth needs two benchmarks\n")
}
