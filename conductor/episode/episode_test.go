package episode_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/conductor"
	"assay/conductor/action"
	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/reading"
	"assay/conductor/trace"
	"assay/core/fault"
	"assay/core/money"
)

// ends says how an episode ended: with what ending, score, spend and number of steps.
func ends(t *testing.T, r *episode.Result, how ending.Ending, score float64, spent money.Pico, steps int) {
	t.Helper()
	if r.Ending != how || r.Score != score || r.Spent != spent || len(r.Steps) != steps {
		t.Errorf("ended %s with score %g, %v, %d steps; want %s, %g, %v, %d", r.Ending, r.Score, r.Spent, len(r.Steps), how, score, spent, steps)
	}
}

func calls(s *script) int {
	n := 0
	for _, c := range s.calls {
		n += c
	}
	return n
}

var oneCent = map[string]reply{cheap: {text: "c", usd: .01}, mid: {text: "m", usd: .05}, strong: {text: "s", usd: .2}}

func TestBehaviourS1_AlwaysDelegating(t *testing.T) {
	s := script{turns: []string{"DELEGATE " + cheap}, workers: oneCent}
	ends(t, s.must(t, newStage(t)), ending.MaxSteps, 0, usd(t, "0.12"), 12)
	if calls(&s) != 12 {
		t.Errorf("%d calls", calls(&s))
	}
}

func TestBehaviourS2_DelegateThenStop(t *testing.T) {
	s := script{turns: []string{"DELEGATE " + cheap, "STOP"}, workers: oneCent, grades: map[string]float64{"c": 1}}
	r := s.must(t, newStage(t))
	ends(t, r, ending.Stop, 1, usd(t, "0.01"), 2)
	if stop := r.Steps[1]; stop.Kind != action.Stop || stop.Cost != 0 || stop.Success || stop.Model != "" || stop.Attempt != 0 {
		t.Errorf("the STOP is recorded as %+v", stop)
	}
	if d := r.Steps[0]; d.Kind != action.Delegate || !d.Success || d.Model != cheap || d.Attempt != 1 || d.Raw != "DELEGATE "+cheap {
		t.Errorf("the delegate is recorded as %+v", d)
	}
}

func TestBehaviourS3_AlwaysUnparseable(t *testing.T) {
	s := script{turns: []string{"I would rather not"}, workers: oneCent}
	r := s.must(t, newStage(t))
	ends(t, r, ending.ParseFailures, 0, 0, 3)
	if calls(&s) != 0 {
		t.Errorf("%d calls", calls(&s))
	}
	for i, st := range r.Steps {
		if st.Kind != action.None || st.ParseFailure != action.NotAction || st.Model != "" || st.Raw != "I would rather not" {
			t.Errorf("step %d is recorded as %+v", i, st)
		}
	}
}

func TestBehaviourS4_FumblesThatRecover(t *testing.T) {
	s := script{turns: []string{"?", "?", "DELEGATE " + cheap, "?", "?", "STOP"}, workers: oneCent}
	ends(t, s.must(t, newStage(t)), ending.Stop, 0, usd(t, "0.01"), 6)
	// Refused turns use steps up: eleven of them in pairs leave one delegate and no STOP.
	long := script{turns: []string{"?", "?", "DELEGATE " + cheap, "?", "?", "DELEGATE " + cheap, "?", "?", "DELEGATE " + cheap, "?", "?", "DELEGATE " + cheap}, workers: oneCent}
	ends(t, long.must(t, newStage(t)), ending.MaxSteps, 0, usd(t, "0.04"), 12)
	last := script{turns: []string{"DELEGATE " + cheap, "DELEGATE " + cheap, "DELEGATE " + cheap, "DELEGATE " + cheap, "DELEGATE " + cheap, "DELEGATE " + cheap,
		"DELEGATE " + cheap, "DELEGATE " + cheap, "DELEGATE " + cheap, "DELEGATE " + cheap, "?", "?"}, workers: oneCent}
	ends(t, last.must(t, newStage(t)), ending.MaxSteps, 0, usd(t, "0.1"), 12)
}

func TestBehaviourS6_BudgetReachedMidEpisode(t *testing.T) {
	s := script{turns: []string{"DELEGATE " + cheap, "RETRY " + mid, "STOP"}, workers: oneCent, grades: map[string]float64{"c": .25, "m": .5},
		settings: episode.Settings{Limited: true, Budget: usd(t, "0.06")}}
	ends(t, s.must(t, newStage(t)), ending.BudgetExhausted, .5, usd(t, "0.06"), 2) // at the limit counts
	s.settings.Budget++
	ends(t, s.must(t, newStage(t)), ending.Stop, .5, usd(t, "0.06"), 3)
	s.settings.Budget = 1 // the test is before a turn: one delegate may overshoot
	ends(t, s.must(t, newStage(t)), ending.BudgetExhausted, .25, usd(t, "0.01"), 1)
	s.settings.Budget = 0
	ends(t, s.must(t, newStage(t)), ending.BudgetExhausted, 0, 0, 0)
}

func TestBehaviourS8_TheClockZeroesAResult(t *testing.T) {
	s := script{turns: []string{"DELEGATE " + cheap}, workers: map[string]reply{cheap: {text: "c", usd: .01, takes: 450 * time.Second}}, grades: map[string]float64{"c": 1}}
	ends(t, s.must(t, newStage(t)), ending.WallClock, 0, usd(t, "0.02"), 2)
	almost := script{turns: []string{"DELEGATE " + cheap, "STOP"}, workers: map[string]reply{cheap: {text: "c", usd: .01, takes: episode.Clock - 1}}, grades: map[string]float64{"c": 1}}
	ends(t, almost.must(t, newStage(t)), ending.Stop, 1, usd(t, "0.01"), 2)
	// The clock is tested before the allowance, and not after the last step.
	both := script{turns: []string{"DELEGATE " + cheap}, workers: map[string]reply{cheap: {text: "c", usd: .01, takes: episode.Clock}},
		settings: episode.Settings{Limited: true, Budget: 1}}
	ends(t, both.must(t, newStage(t)), ending.WallClock, 0, usd(t, "0.01"), 1)
	last := script{turns: []string{"DELEGATE " + cheap}, workers: map[string]reply{cheap: {text: "c", usd: .01}, cheap + "#12": {text: "c", usd: .01, takes: episode.Clock}},
		grades: map[string]float64{"c": 1}}
	ends(t, last.must(t, newStage(t)), ending.MaxSteps, 1, usd(t, "0.12"), 12)
}

func TestBehaviourS11_TheBestResultCounts(t *testing.T) {
	s := script{turns: []string{"DELEGATE " + cheap, "DELEGATE " + mid, "STOP"}, workers: oneCent, grades: map[string]float64{"c": .5, "m": .25}}
	ends(t, s.must(t, newStage(t)), ending.Stop, .5, usd(t, "0.06"), 3)
}

func TestBehaviourS12_SuccessIsAFullScore(t *testing.T) {
	for grade, want := range map[float64]bool{1: true, .999999: false, .5: false, 0: false} {
		s := script{turns: []string{"DELEGATE " + cheap, "STOP"}, workers: oneCent, grades: map[string]float64{"c": grade}}
		r := s.must(t, newStage(t))
		if r.Steps[0].Success != want || r.Score != grade || r.Steps[0].Score != grade {
			t.Errorf("grade %g: success %v, score %g", grade, r.Steps[0].Success, r.Score)
		}
	}
}

func TestBehaviourS_FailedCalls(t *testing.T) {
	for _, c := range []struct {
		name    string
		r       reply
		refused bool
		public  string
	}{
		{"S13 the worker fails", reply{text: "WorkerError: flaky/model is down", failed: true}, false, `"failure":"WorkerError: flaky/model is down"`},
		{"S14 anything else of the worker", reply{text: "TimeoutError: the provider hung up", failed: true}, false, `"failure":"TimeoutError: the provider hung up"`},
		{"S15 the meter refuses", reply{text: "no allowance left", refused: true}, true, `"failure":"refused: no allowance left"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := script{turns: []string{"DELEGATE " + cheap, "DELEGATE " + mid, "STOP"}, workers: map[string]reply{cheap: c.r, mid: {text: "m", usd: .05}},
				grades: map[string]float64{"m": 1}, settings: episode.Settings{UseTable: true}}
			r := s.must(t, newStage(t))
			ends(t, r, ending.Stop, 1, usd(t, "0.05"), 3)
			if st := r.Steps[0]; !st.Failed || st.Refused != c.refused || st.Failure != c.r.text || st.Cost != 0 || st.Success {
				t.Errorf("recorded as %+v", st)
			}
			if line := string(trace.Append(nil, r)); !strings.Contains(line, c.public) {
				t.Errorf("published as %s", line)
			}
			row, filled := s.fills[outcome.Key{Task: "t-1", Model: cheap, Attempt: 1}]
			if filled == c.refused || filled && (!row.Failed || row.Failure != c.r.text || row.Text != "") {
				t.Errorf("table row %+v, there %v", row, filled)
			}
		})
	}
}

func TestBehaviourS16_ACostThatIsNoneStopsTheRun(t *testing.T) {
	for _, cost := range []float64{-60, math.NaN(), math.Inf(1), math.Inf(-1), -1e-9} {
		for _, failed := range []bool{false, true} {
			s := script{turns: []string{"DELEGATE " + cheap}, workers: map[string]reply{cheap: {text: "c", usd: cost, failed: failed}}}
			r, err := s.play(newStage(t))
			if fault.Of(err) != conductor.BadCost || r.Spent != 0 {
				t.Errorf("cost %g, failed %v: %v, spent %v", cost, failed, err, r.Spent)
			}
		}
	}
	free := script{turns: []string{"DELEGATE " + cheap, "STOP"}, workers: map[string]reply{cheap: {text: "c"}}}
	ends(t, free.must(t, newStage(t)), ending.Stop, 0, 0, 2)
}

func TestBehaviourS17_AGradeThatIsNoneStopsTheRun(t *testing.T) {
	for _, grade := range []float64{1.7, -.5, math.NaN(), math.Inf(1), 1.0000001} {
		s := script{turns: []string{"DELEGATE " + cheap}, workers: oneCent, grades: map[string]float64{"c": grade}}
		if _, err := s.play(newStage(t)); fault.Of(err) != conductor.BadGrade {
			t.Errorf("grade %g: %v", grade, err)
		}
	}
}

// S18 by type: a request has no parameter that a caller could set, and its body is made afresh for each call, so what a worker
// does to one body reaches no other.
func TestBehaviourS18_EveryCallHasABodyOfItsOwn(t *testing.T) {
	st := newStage(t)
	m := episode.New(st.task, st.renderer, episode.Settings{})
	m.Start()
	ready, err := m.Step(episode.Event{Told: episode.Turn, Text: "DELEGATE " + cheap})
	if err != nil {
		t.Fatal(err)
	}
	body := ready.Do[0].Request.Body()
	if !strings.Contains(string(body), `"temperature":0.0,`) {
		t.Errorf("sent with %s", body)
	}
	want := string(body)
	clear(body)
	if got := string(ready.Do[0].Request.Body()); got != want {
		t.Errorf("the next body is %s", got)
	}
}

func TestBehaviourS20_RequestsAreListedInOrder(t *testing.T) {
	s := script{
		turns:    []string{"DELEGATE " + cheap, "?", "DELEGATE " + mid, "RETRY " + cheap, "STOP"},
		workers:  map[string]reply{cheap: {text: "READ a", usd: .01}, cheap + "#2": {text: "c", usd: .01}, cheap + "#3": {text: "down", failed: true}, mid: {text: "down", failed: true}},
		inspects: map[string]string{"READ a 1": "x"},
	}
	st := newStage(t, reading.Read)
	r := s.must(t, st)
	var got []string
	for q := range r.Requests(st.renderer.Snapshot()) {
		got = append(got, q.Text())
	}
	if len(got) != 4 || !slices.Equal(got, s.log) {
		t.Errorf("listed %q, sent %q", got, s.log)
	}
	for q := range r.Requests(st.renderer.Snapshot()) { // a reader may stop early
		if q.Model().String() != cheap {
			t.Errorf("the first request went to %s", q.Model())
		}
		break
	}
}

func TestBehaviourS32_TheConductorsWordsReachNoWorker(t *testing.T) {
	var want []string
	for _, words := range []string{"", "REASON tell the worker to say C\n", "reason \x00 \u2028REASON READ secret\r\n", "\n\n  "} {
		s := script{turns: []string{words + "DELEGATE " + cheap, words + "retry " + cheap, "STOP"},
			workers: map[string]reply{cheap: {text: "LIST .", usd: .01}}, inspects: map[string]string{"LIST .": "a"}}
		s.must(t, newStage(t, reading.List))
		if want == nil {
			want = s.log
		}
		if !slices.Equal(s.log, want) || len(want) != 8 {
			t.Errorf("%q changes what is sent: %q", words, s.log)
		}
	}
}

func TestBehaviourS33_AGraderThatFails(t *testing.T) {
	s := script{turns: []string{"DELEGATE " + cheap, "DELEGATE " + mid, "STOP"}, workers: oneCent, grades: map[string]float64{"m": .5}, gradeErrors: []string{"c"},
		settings: episode.Settings{UseTable: true}}
	r := s.must(t, newStage(t))
	ends(t, r, ending.Stop, .5, usd(t, "0.06"), 3)
	if r.Void != episode.VoidGrader || r.Steps[0].Failed || r.Steps[0].Score != 0 {
		t.Errorf("failed set %v, step %+v", r.Void, r.Steps[0])
	}
	t.Run("O5 the row is stored with grade 0", func(t *testing.T) { // the task leaves both arms, so it decides nothing
		if row := s.fills[outcome.Key{Task: "t-1", Model: cheap, Attempt: 1}]; row.Text != "c" || row.Grade != 0 || row.Failed {
			t.Errorf("table row %+v", row)
		}
	})
}

// S35 by type: a request is made of a catalog.ModelID, which only the snapshot makes. What is left to test is that a turn cannot
// bring another id in.
func TestBehaviourS35_AModelOutsideTheCatalogIsNeverCalled(t *testing.T) {
	s := script{turns: []string{"DELEGATE m/none", "RETRY M/CHEAP", "DELEGATE " + cheap + "x"}, workers: oneCent}
	ends(t, s.must(t, newStage(t)), ending.ParseFailures, 0, 0, 3)
	if len(s.log) != 0 {
		t.Errorf("sent %q", s.log)
	}
}

func TestAnEventThatWasNotAskedForIsRefused(t *testing.T) {
	st := newStage(t)
	for told := range 40 {
		m := episode.New(st.task, st.renderer, episode.Settings{})
		if _, err := m.Step(episode.Event{Told: episode.Told(told)}); fault.Of(err) != conductor.BadEvent {
			t.Errorf("event %d before the start: %v", told, err)
		}
		m.Start()
		_, err := m.Step(episode.Event{Told: episode.Told(told), Text: "STOP"})
		if asked := episode.Told(told) == episode.Turn; asked != (err == nil) || !asked && fault.Of(err) != conductor.BadEvent {
			t.Errorf("event %d for a turn: %v", told, err)
		}
	}
}

func TestAnEpisodeThatEndedIgnoresEvents(t *testing.T) {
	s := script{turns: []string{"STOP"}}
	st := newStage(t)
	m := episode.New(st.task, st.renderer, s.settings)
	m.Start()
	for range 3 {
		ready, err := m.Step(episode.Event{Told: episode.Turn, Text: "STOP", Now: time.Hour})
		if err != nil || !ready.Done || len(ready.Do) != 0 {
			t.Fatalf("%+v, %v", ready, err)
		}
	}
	ends(t, m.Result(), ending.Stop, 0, 0, 1)
}

func TestRowOfAnEpisode(t *testing.T) {
	st := newStage(t)
	s := script{turns: []string{"DELEGATE " + cheap, "STOP"}, workers: oneCent, grades: map[string]float64{"c": .5}}
	row := s.must(t, st).Row()
	if row.TaskID != "t-1" || row.Benchmark != "bench" || row.Score != .5 || row.Spend != .01 || row.Ending != ending.Stop {
		t.Errorf("%+v", row)
	}
	z := episode.Zeroed(st.task, ending.Futile)
	if row := z.Row(); row.TaskID != "t-1" || row.Score != 0 || row.Spend != 0 || row.Ending != ending.Futile || z.Turns() != 0 {
		t.Errorf("%+v", row)
	}
}
