package play_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/profile"
	"assay/conductor/worker"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/secret"
	"assay/flow/conductor/play"
	"assay/llm"
	"assay/llm/scripted"
	"assay/run"
)

func journal(tb testing.TB) (open func() *run.FileJournal) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "journal")
	return func() *run.FileJournal {
		j, err := run.OpenJournal(path)
		if err != nil {
			tb.Fatal(err)
		}
		return j
	}
}

func closeJournal(tb testing.TB, j *run.FileJournal) {
	tb.Helper()
	if err := j.Close(); err != nil {
		tb.Fatal(err)
	}
}

func TestDrainedArmRecordsWhatWasUnderWay(t *testing.T) {
	defer goleak.VerifyNone(t)
	s, sh, arm := market(t, 6)
	open := journal(t)
	j := open()
	a := arm(j, 3)
	drain, arrived := make(chan struct{}), make(chan struct{}, 99)
	release := make(chan struct{})
	a.Drain = drain
	a.Workers = calls(func(ctx context.Context, r worker.Request) (episode.Event, error) {
		arrived <- struct{}{}
		<-release
		return sh.Call(ctx, r)
	})
	go func() {
		for range 3 { // all three episodes are in a call
			<-arrived
		}
		close(drain)
		close(release)
	}()
	if _, err := a.Run(t.Context(), s.slice); !errors.Is(err, play.ErrDrained) {
		t.Fatalf("error %v, want the arm drained", err)
	}
	if sh.n != 3 {
		t.Errorf("%d calls, want the three that were under way", sh.n)
	}
	closeJournal(t, j)
	j = open()
	defer closeJournal(t, j)
	results := played(t, arm(j, 3), s.slice)
	if n := settled(t, "drained", s, sh, results); n != 0 {
		t.Errorf("%d calls are uncertain: their answers came and were not recorded", n)
	}
}

// till is a worker that says when a call begins although the allowance is spent.
type till struct {
	mu        sync.Mutex
	spent     money.Pico
	allowance money.Pico
	late      int
	calls     int
}

func (w *till) Call(context.Context, worker.Request) (episode.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.spent >= w.allowance {
		w.late++
	}
	w.calls++
	cost := money.Dollar / 2
	if w.calls == 1 {
		cost = money.Dollar / 1000 // a cheap first episode makes the batch wide
	}
	w.spent += cost
	return episode.Event{Told: episode.Answered, Text: "half", Cost: cost}, nil
}

func TestPaidEpisodesMeetAtOneAllowance(t *testing.T) {
	s := newStage(t, 40, 2)
	w := &till{allowance: money.Dollar}
	a := s.arm(says(func(a play.Ask) string {
		if a.Step == 1 || a.Step <= 6 && a.TaskID != s.slice[0].ID() {
			return "DELEGATE " + s.snapshot.At(0).ID
		}
		return "STOP"
	}), 16)
	a.Workers, a.Grader, a.Limited, a.Allowance, a.Paid = w, scores{"half": .5}, true, money.Dollar, true
	results := played(t, a, s.slice)
	if w.late > 15 { // those that were under way when it ran out
		t.Errorf("%d calls were made after the allowance was spent", w.late)
	}
	var reported money.Pico
	refused := 0
	for _, r := range results {
		reported += r.Spent
		for _, st := range r.Steps {
			if st.Refused {
				refused++
				if st.Failure != play.NoAllowance || st.Cost != 0 {
					t.Errorf("a refused step says %q and costs %v", st.Failure, st.Cost)
				}
			}
		}
	}
	if reported != w.spent {
		t.Errorf("the arm reports %v, the workers were paid %v", reported, w.spent)
	}
	if refused == 0 {
		t.Error("no call was refused: the batch was not wide enough to show anything")
	}
	if last := results[len(results)-1]; last.Ending != ending.BudgetExhausted {
		t.Errorf("the last task ended as %s", last.Ending)
	}
}

func TestAnotherArmIsRefusedBeforeItTouchesTheJournal(t *testing.T) {
	s, sh, arm := market(t, 4)
	open := journal(t)
	j := open()
	a := arm(j, 1)
	sh.dies = 5
	if _, err := a.Run(t.Context(), s.slice); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	closeJournal(t, j)
	before := sh.n
	for name, change := range map[string]func(*play.Arm){
		"another Conductor": func(a *play.Arm) { a.About = "somebody else" },
		"another allowance": func(a *play.Arm) { a.Limited, a.Allowance = true, money.Dollar },
		"another profile":   func(a *play.Arm) { a.Profile = profile.Compat },
	} {
		j = open()
		records := len(j.Runs())
		other := arm(j, 1)
		change(other)
		if _, err := other.Run(t.Context(), s.slice); fault.Of(err) != run.OtherRun {
			t.Errorf("%s: error %v, want %s", name, err, run.OtherRun.Name())
		}
		if sh.n != before || len(j.Runs()) != records {
			t.Errorf("%s: it made %d calls and %d runs", name, sh.n-before, len(j.Runs())-records)
		}
		closeJournal(t, j)
	}
	j = open()
	defer closeJournal(t, j)
	settled(t, "after strangers", s, sh, played(t, arm(j, 1), s.slice))
}

func TestSecretAcrossTheCutIsHidden(t *testing.T) {
	const key = "sk-or-v1-0123456789abcdef0123456789abcdef"
	s := newStage(t, 1, 2)
	m, _ := s.snapshot.Lookup(s.snapshot.At(0).ID)
	request := worker.NewRequest(s.slice[0], m)
	for at := range 240 {
		said := strings.Repeat("x", at) + key
		for name, line := range map[string]scripted.Line{
			"in a 200":      {Body: []byte(`{"error":{"code":500,"message":"` + said + `"}}`)},
			"served model":  {Body: []byte(`{"model":"` + said + `","choices":[{"message":{"content":"a"}}],"usage":{"cost":0.1}}`)},
			"provider":      {Body: []byte(`{"provider":"` + said + `","choices":[{"message":{"content":"a"}}],"usage":{"cost":0.1}}`)},
			"with a status": {Fail: &llm.Failure{Class: llm.Rejected, Status: 403, Message: said}},
		} {
			live := play.Live{Client: scripted.New(line), Redactor: secret.NewRedactor(secret.New(key))}
			e, err := live.Call(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{e.Text, e.Served, e.Provider} {
				if strings.Contains(text, key[:12]) {
					t.Fatalf("%s, %d bytes before the key: %q", name, at, text)
				}
			}
		}
	}
}

func TestACostThatIsNoneFailsTheStepAndNotTheRun(t *testing.T) {
	s := newStage(t, 1, 2)
	m, _ := s.snapshot.Lookup(s.snapshot.At(0).ID)
	for _, cost := range []string{"-1", "1e30", `"nan"`, `"-inf"`} {
		body := []byte(`{"choices":[{"message":{"content":"a"}}],"usage":{"cost":` + cost + `}}`)
		live := play.Live{Client: scripted.New(scripted.Line{Body: body})}
		e, err := live.Call(t.Context(), worker.NewRequest(s.slice[0], m))
		if err != nil || e.Told != episode.Failed || e.Cost != 0 || e.Text == "" {
			t.Errorf("cost %s: %+v, %v", cost, e, err)
		}
	}
}

func TestBehaviourG6_AKeyWithoutMoneyIsNoOutcomeAndForbiddenIsOne(t *testing.T) {
	s := newStage(t, 1, 2)
	m, _ := s.snapshot.Lookup(s.snapshot.At(0).ID)
	for status, want := range map[int]episode.Told{401: episode.Refused, 402: episode.Refused, 403: episode.Failed, 404: episode.Failed, 500: episode.Failed} {
		class := llm.Rejected
		switch status {
		case 401, 402:
			class = llm.Unfunded
		case 500:
			class = llm.Busy
		}
		live := play.Live{Client: scripted.New(scripted.Line{Fail: &llm.Failure{Class: class, Status: status}})}
		e, err := live.Call(t.Context(), worker.NewRequest(s.slice[0], m))
		if err != nil || e.Told != want || e.Cost != 0 {
			t.Errorf("status %d: %+v, %v, want %v", status, e, err, want)
		}
	}
}

// A request has no parameters that anybody could set: its body is made of the task, the model and the observations alone.
func TestBehaviourG7_OnlyThePinnedParametersAreSent(t *testing.T) {
	s := newStage(t, 1, 2)
	m, _ := s.snapshot.Lookup(s.snapshot.At(0).ID)
	client := scripted.New(scripted.Line{Text: "a", Cost: .1})
	r := worker.NewRequest(s.slice[0], m)
	if _, err := (play.Live{Client: client}).Call(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	sent := client.Calls()
	if len(sent) != 1 || string(sent[0].Body) != string(worker.ChatBody(m.String(), s.slice[0].Prompt(), nil)) {
		t.Errorf("sent %q", sent)
	}
}
