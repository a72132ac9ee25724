package play_test

import (
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"testing/fstest"

	"assay/conductor/duel"
	"assay/conductor/policy"
	"assay/conductor/score"
	"assay/conductor/world"
	"assay/flow/conductor/play"
)

// recorded is a small world in which price buys quality: three benchmarks, three models, each right on its share of the tasks.
func recorded(tb testing.TB) *stage {
	tb.Helper()
	models := []struct {
		id    string
		right uint32 // of a hundred
		usd   float64
	}{{"v/small", 40, .002}, {"v/middle", 65, .01}, {"v/large", 90, .05}}
	var tasks, outcomes, list strings.Builder
	for i, m := range models {
		fmt.Fprintf(&list, `%s{"id":%q,"price_in_per_mtok":%g,"price_out_per_mtok":%g,"context_length":1000}`, map[bool]string{true: ",", false: "["}[i > 0], m.id, m.usd*100, m.usd*400)
	}
	for b := range 3 {
		for t := range 40 {
			id := fmt.Sprintf("b%d-%d", b, t)
			fmt.Fprintf(&tasks, `{"task_id":%q,"benchmark":"bench-%d","prompt":"Question %s","reference":"C","metric":"mcq_accuracy"}`+"\n", id, b, id)
			for _, m := range models {
				h := fnv.New32a()
				_, _ = h.Write([]byte(id + m.id))
				answer := "A"
				if h.Sum32()%100 < m.right {
					answer = "C"
				}
				fmt.Fprintf(&outcomes, `{"task_id":%q,"model":%q,"output":"Answer: %s","cost_usd":%g,"input_tokens":1,"output_tokens":1,"ok":true}`+"\n", id, m.id, answer, m.usd)
			}
		}
	}
	w, defects := world.Read(fstest.MapFS{
		"models.json": {Data: []byte(list.String() + "]")}, "tasks.jsonl": {Data: []byte(tasks.String())}, "outcomes.jsonl": {Data: []byte(outcomes.String())},
	})
	if len(defects) > 0 {
		tb.Fatal(defects[0])
	}
	return stageOf(tb, w)
}

func (s *stage) rows(t *testing.T, c play.Conductor) []score.Row {
	t.Helper()
	var rows []score.Row
	for _, r := range played(t, s.arm(c, 4), s.slice) {
		rows = append(rows, r.Row())
	}
	return rows
}

func (s *stage) fixed(t *testing.T, name string) play.Conductor {
	t.Helper()
	p, err := policy.New(name, "goodhart", s.snapshot)
	if err != nil {
		t.Fatal(err)
	}
	return play.Fixed{Policy: p}
}

func judged(t *testing.T, king, challenger []score.Row, ex score.Exchange) duel.Result {
	t.Helper()
	pairs, err := duel.Match(king, challenger)
	if err != nil {
		t.Fatal(err)
	}
	r, err := duel.Run(pairs, ex, duel.Standard("goodhart"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFault76_ADegenerateConductorDethronesNoSoundKing(t *testing.T) {
	s := recorded(t)
	arms := map[string][]score.Row{}
	for _, name := range []string{policy.Cheapest, policy.Strongest, policy.Cascade} {
		arms[name] = s.rows(t, s.fixed(t, name))
	}
	pool, err := score.FitPool(arms)
	if err != nil || pool.KingZero != policy.Cascade {
		t.Fatalf("the king is %s, %v", pool.KingZero, err)
	}
	king := arms[pool.KingZero]
	all := []string{s.snapshot.At(0).ID, s.snapshot.At(1).ID, s.snapshot.At(2).ID}
	degenerate := map[string]play.Conductor{
		"always STOP":               says(func(play.Ask) string { return "STOP" }),
		"always the cheapest":       s.fixed(t, policy.Cheapest),
		"always the dearest":        s.fixed(t, policy.Strongest),
		"always REASON":             says(func(play.Ask) string { return "REASON let me think about it" }),
		"silence":                   says(func(play.Ask) string { return "" }),
		"filler":                    says(func(play.Ask) string { return "The answer is C." }),
		"random":                    s.fixed(t, policy.Random),
		"twelve delegates to all":   says(func(a play.Ask) string { return "DELEGATE " + all[a.Step%3] }),
		"twelve to the cheapest":    says(func(play.Ask) string { return "DELEGATE " + all[0] }),
		"a model that is not there": says(func(play.Ask) string { return "DELEGATE v/none" }),
		"fumble, then STOP":         says(func(a play.Ask) string { return []string{"?", "?", "STOP"}[min(a.Step, 3)-1] }),
	}
	for name, c := range degenerate {
		t.Run(name, func(t *testing.T) {
			if r := judged(t, king, s.rows(t, c), pool.Exchange); r.Wins() {
				t.Errorf("it wins by %.3f with a lower bound of %.3f", r.Delta, r.LCB)
			}
		})
	}
	t.Run("a Conductor that knows which model is right wins", func(t *testing.T) { // so the duels above could have been lost
		knows := says(func(a play.Ask) string {
			at, _ := s.world.Task(a.TaskID)
			for m := range s.world.Models {
				if a.Step == 1 && s.world.Outcome(at, m).Text == "Answer: C" {
					return "DELEGATE " + s.world.Models[m].ID
				}
			}
			return "STOP"
		})
		r := judged(t, king, s.rows(t, knows), pool.Exchange)
		if !r.Wins() {
			t.Errorf("delta %.3f, lower bound %.3f, refused for %v", r.Delta, r.LCB, r.Conditions.Refused())
		}
	})
}
