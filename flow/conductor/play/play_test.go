package play_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/reading"
	"assay/conductor/task"
	"assay/conductor/trace"
	"assay/conductor/worker"
	"assay/core/money"
	"assay/flow/conductor/play"
	"assay/flow/conductor/table"
	"assay/run"
)

// Behaviours O9 (the table in a file) and the drift retest are tested where tables are kept in files.

// says answers every prompt with a function of task and step.
type says func(a play.Ask) string

func (f says) Turn(_ context.Context, a play.Ask) (play.Said, error) {
	return play.Said{Text: f(a), Tokens: -1}, nil
}

// calls answers worker requests.
type calls func(ctx context.Context, r worker.Request) (episode.Event, error)

func (f calls) Call(ctx context.Context, r worker.Request) (episode.Event, error) { return f(ctx, r) }

// scores grades by the answer's text.
type scores map[string]float64

func (s scores) Grade(_ context.Context, _ worker.Request, answer string) (float64, error) {
	return s[answer], nil
}

// at is a clock that stands still.
func at(t time.Time) func() time.Time { return func() time.Time { return t } }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func lines(results []*episode.Result) (out []string) {
	for _, r := range results {
		out = append(out, string(trace.Append(nil, r)))
	}
	return out
}

func endings(results []*episode.Result) (out []ending.Ending) {
	for _, r := range results {
		out = append(out, r.Ending)
	}
	return out
}

func played(t *testing.T, a *play.Arm, slice []task.Pinned) []*episode.Result {
	t.Helper()
	results, err := a.Run(t.Context(), slice)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// errInterrupted is why a person stops a run.
var errInterrupted = errors.New("interrupted")

func TestResultsDoNotDependOnTheConcurrency(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newStage(t, 120, 5)
	var want []string
	for _, width := range []int{1, 2, 16, 500} {
		a := s.arm(s.talker(), width)
		var mu sync.Mutex
		told := map[int]int{}
		a.Finished = func(i int, _ *episode.Result) error {
			mu.Lock()
			told[i]++
			mu.Unlock()
			return nil
		}
		results := played(t, a, s.slice)
		got := lines(results)
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("width %d gives other results than a serial run", width)
		}
		for i, r := range results {
			if r.Task.ID() != s.slice[i].ID() || told[i] != 1 {
				t.Fatalf("width %d: place %d holds %s, told %d times", width, i, r.Task.ID(), told[i])
			}
		}
	}
}

// priced is an arm whose every delegate costs the same and solves nothing; it delegates once and stops.
func priced(s *stage, usd float64, allowance string, width int, tb testing.TB) *play.Arm {
	left, err := money.Parse(allowance)
	if err != nil {
		tb.Fatal(err)
	}
	cost, err := money.FromFloat(usd)
	if err != nil {
		tb.Fatal(err)
	}
	a := s.arm(says(func(a play.Ask) string {
		if a.Step == 1 {
			return "DELEGATE " + s.snapshot.At(0).ID
		}
		return "STOP"
	}), width)
	a.Workers = calls(func(context.Context, worker.Request) (episode.Event, error) {
		return episode.Event{Told: episode.Answered, Text: "half", Cost: cost}, nil
	})
	a.Grader, a.Limited, a.Allowance, a.Now = scores{"half": .5}, true, left, at(noon)
	return a
}

func TestBehaviourS5_AnAllowanceThatRunsOut(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newStage(t, 5, 2)
	results := played(t, priced(s, .4, "1.0", 1, t), s.slice)
	b := ending.BudgetExhausted
	if got := endings(results); !slices.Equal(got, []ending.Ending{"stop", "stop", b, b, b}) {
		t.Fatalf("endings %v", got)
	}
	if third := results[2]; third.Score != .5 || third.Spent != 400*money.Dollar/1000 || len(third.Steps) != 1 {
		t.Errorf("the third keeps %g and spent %v", third.Score, third.Spent)
	}
	t.Run("S7 the zeroed tail", func(t *testing.T) {
		for _, r := range results[3:] {
			if r.Score != 0 || r.Spent != 0 || len(r.Steps) != 0 {
				t.Errorf("%+v", r)
			}
		}
	})
}

func TestBehaviourS25_NineTasksSerialAndBeside(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newStage(t, 9, 2)
	b := ending.BudgetExhausted
	want := []ending.Ending{"stop", "stop", "stop", "stop", "stop", b, b, b, b}
	for _, width := range []int{1, 4} {
		results := played(t, priced(s, .01, "0.055", width, t), s.slice)
		if got := endings(results); !slices.Equal(got, want) {
			t.Errorf("width %d: %v", width, got)
		}
		if r := results[5]; r.Score != .5 || len(r.Steps) != 1 {
			t.Errorf("width %d: the sixth has %+v", width, r)
		}
	}
}

func TestBehaviourS9_TheArmsClockCutsATail(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newStage(t, 20, 2)
	var clock atomic.Int64
	a := priced(s, .01, "100", 1, t)
	a.Now = func() time.Time { return noon.Add(time.Duration(clock.Load())) }
	a.Workers = calls(func(context.Context, worker.Request) (episode.Event, error) {
		clock.Add(int64(800 * time.Second))
		return episode.Event{Told: episode.Answered, Text: "half", Cost: money.Dollar / 100}, nil
	})
	for i, r := range played(t, a, s.slice) {
		if want := map[bool]ending.Ending{false: ending.Stop, true: ending.DuelWallClock}[i >= 12]; r.Ending != want {
			t.Errorf("task %d ended as %s, want %s", i, r.Ending, want)
		}
	}
}

func TestBehaviourO1_TwoArmsShareATable(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newStage(t, 6, 3)
	shared := table.New()
	var live atomic.Int64
	arms := make([][]*episode.Result, 2)
	for i := range arms {
		a := s.arm(s.talker(), 4)
		recorded := a.Workers
		a.Workers = calls(func(ctx context.Context, r worker.Request) (episode.Event, error) {
			live.Add(1)
			return recorded.Call(ctx, r)
		})
		a.Table = shared
		arms[i] = played(t, a, s.slice)
	}
	if st := shared.Stats(); live.Load() != 12 || st.Rows != 12 || st.Hits != 12 {
		t.Errorf("%d live calls, %+v", live.Load(), st)
	}
	for i := range s.slice {
		if a, b := arms[0][i], arms[1][i]; a.Score != b.Score || a.Spent != b.Spent || a.Ending != b.Ending || !b.Steps[0].Replayed {
			t.Errorf("task %d: %+v and %+v", i, a, b)
		}
	}
}

func TestAServingFailureEndsTheArm(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newStage(t, 50, 3)
	broken := errors.New("connection refused")
	for _, width := range []int{1, 8} {
		var turns atomic.Int64
		a := s.arm(conductor(func(context.Context, play.Ask) (play.Said, error) {
			if turns.Add(1) > 20 {
				return play.Said{}, broken
			}
			return play.Said{Text: "STOP", Tokens: -1}, nil
		}), width)
		results, err := a.Run(t.Context(), s.slice)
		if !errors.Is(err, broken) || results != nil {
			t.Errorf("width %d: %d results, %v", width, len(results), err)
		}
		if err != nil && (!strings.Contains(err.Error(), "task ") || !strings.Contains(err.Error(), "step 1")) {
			t.Errorf("the error does not say where: %v", err)
		}
		if n := turns.Load(); n > 20+2*int64(width) {
			t.Errorf("width %d: %d turns were asked for behind the failure", width, n-20)
		}
	}
}

// conductor is a Conductor that may fail.
type conductor func(ctx context.Context, a play.Ask) (play.Said, error)

func (f conductor) Turn(ctx context.Context, a play.Ask) (play.Said, error) { return f(ctx, a) }

func TestAWorkersErrorEndsTheArm(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newStage(t, 10, 3)
	gone := errors.New("the disk is gone")
	a := s.arm(s.talker(), 4)
	a.Workers = calls(func(context.Context, worker.Request) (episode.Event, error) { return episode.Event{}, gone })
	if results, err := a.Run(t.Context(), s.slice); !errors.Is(err, gone) || results != nil {
		t.Errorf("%v, %v", results, err)
	}
}

func TestACancelledArmEnds(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newStage(t, 40, 3)
	for name, block := range map[string]func(a *play.Arm, hold func(context.Context)){
		"in a turn": func(a *play.Arm, hold func(context.Context)) {
			a.Conductor = conductor(func(ctx context.Context, _ play.Ask) (play.Said, error) { hold(ctx); return play.Said{}, ctx.Err() })
		},
		"in a call": func(a *play.Arm, hold func(context.Context)) {
			a.Workers = calls(func(ctx context.Context, _ worker.Request) (episode.Event, error) {
				hold(ctx)
				return episode.Event{}, ctx.Err()
			})
		},
		"in a grader": func(a *play.Arm, hold func(context.Context)) { a.Grader = held(hold) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			a := s.arm(s.talker(), 4)
			var waiting atomic.Int64
			block(a, func(ctx context.Context) {
				if waiting.Add(1) == 4 {
					cancel(errInterrupted)
				}
				<-ctx.Done()
			})
			results, err := a.Run(ctx, s.slice)
			if !errors.Is(err, errInterrupted) && !errors.Is(err, context.Canceled) || results != nil {
				t.Errorf("%d results, %v", len(results), err)
			}
			if waiting.Load() > 4 {
				t.Errorf("%d episodes were begun behind the interrupt", waiting.Load()-4)
			}
		})
	}
}

// held is a grader that holds until the context ends: an interrupt must not pass for a failed grader.
type held func(context.Context)

func (h held) Grade(ctx context.Context, _ worker.Request, _ string) (float64, error) {
	h(ctx)
	return 0, ctx.Err()
}

// The grade is the last that this episode asks for: an interrupt in it must not leave a finished episode with a failed grader.
func TestAnInterruptInTheLastGradeFinishesNothing(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newStage(t, 1, 2)
	ctx, cancel := context.WithCancelCause(t.Context())
	a := priced(s, .01, "0.005", 1, t)
	a.Grader = held(func(context.Context) { cancel(errInterrupted) })
	a.Finished = func(_ int, r *episode.Result) error {
		t.Errorf("finished as %s, void %q", r.Ending, r.Void)
		return nil
	}
	if results, err := a.Run(ctx, s.slice); !errors.Is(err, errInterrupted) || results != nil {
		t.Errorf("%v, %v", results, err)
	}
}

func TestAnArmThatIsCancelledBeforeItBegins(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newStage(t, 3, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := s.arm(says(func(play.Ask) string { t.Error("a turn was asked for"); return "STOP" }), 2)
	if results, err := a.Run(ctx, s.slice); !errors.Is(err, context.Canceled) || results != nil {
		t.Errorf("%v, %v", results, err)
	}
	if results, err := s.arm(s.talker(), 2).Run(t.Context(), nil); err != nil || len(results) != 0 {
		t.Errorf("an empty slice: %v, %v", results, err)
	}
}

func TestGraderAndInspectorFailuresAreInfrastructure(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newStage(t, 2, 2)
	a := s.arm(s.talker(), 1)
	a.Grader = failing{}
	for _, r := range played(t, a, s.slice) {
		if r.Void == "" || r.Score != 0 {
			t.Errorf("%+v", r)
		}
	}
}

type failing struct{}

func (failing) Grade(context.Context, worker.Request, string) (float64, error) {
	return 0, errors.New("no container")
}

// Text from endpoints and processes need not be UTF-8; what is recorded and published of it is.
func TestTextThatIsNotUTF8(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newStage(t, 1, 2)
	a := s.arm(says(func(a play.Ask) string {
		return []string{"REASON \xff\nDELEGATE " + s.snapshot.At(0).ID, "STOP"}[a.Step-1]
	}), 1)
	a.Workers = calls(func(context.Context, worker.Request) (episode.Event, error) {
		return episode.Event{Told: episode.Answered, Text: "\xc3", Served: "\xfe", Provider: "\xfe"}, nil
	})
	a.Grader = scores{"\ufffd": .5}
	j, err := run.OpenJournal(filepath.Join(t.TempDir(), "journal"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	a.Journal, a.ID, a.Paid = j, "arm", true
	r := played(t, a, s.slice)[0]
	line := trace.Append(nil, r)
	if _, err := trace.Parse(line); err != nil || bytes.Contains(line, []byte{0xff}) {
		t.Errorf("published as %q: %v", line, err)
	}
	if st := r.Steps[0]; st.Raw != "REASON \ufffd\nDELEGATE "+s.snapshot.At(0).ID || st.Score != .5 || st.Served != "\ufffd" {
		t.Errorf("%+v", st)
	}
}

// reads is an inspector that shows its call.
type reads struct{ n *atomic.Int64 }

func (r reads) Inspect(_ context.Context, _ task.Pinned, c reading.Call) (string, bool, error) {
	r.n.Add(1)
	return "shown: " + c.String(), false, nil
}
