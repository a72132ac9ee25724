package play_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/conductor/worker"
	"assay/core/money"
	"assay/flow/conductor/play"
	"assay/flow/conductor/table"
	"assay/run"
)

var errKilled = errors.New("killed")

// memory is a journal whose disk is a slice. It dies at a given touch, and every touch behind that fails as well.
type memory struct {
	mu      sync.Mutex
	records []run.Record
	synced  int
	taken   map[string]bool
	points  int
	killAt  int // 0 is never
	dead    bool
}

// touch is a moment at which the process may end. The caller holds mu.
func (m *memory) touch() error {
	m.points++
	if m.dead = m.dead || m.points == m.killAt; m.dead {
		return errKilled
	}
	return nil
}

func (m *memory) Enter(id string) ([]run.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.taken[id] {
		return nil, run.Busy.With()
	}
	if m.taken == nil {
		m.taken = map[string]bool{}
	}
	m.taken[id] = true
	var past []run.Record
	for _, r := range m.records {
		if r.Run == id {
			past = append(past, r)
		}
	}
	return past, nil
}

func (m *memory) Append(r run.Record) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.touch(); err != nil {
		return 0, err
	}
	r.Event = bytes.Clone(r.Event)
	m.records = append(m.records, r)
	return int64(len(m.records)), m.touch() // it may also die with the record written
}

func (m *memory) Sync(position int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.touch(); err != nil {
		return err
	}
	m.synced = max(m.synced, int(position))
	return m.touch()
}

func (m *memory) Leave(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.taken, id)
}

// restart is the disk as the next process finds it.
func (m *memory) restart(powerCut bool) *memory {
	records := m.records
	if powerCut {
		records = records[:m.synced]
	}
	return &memory{records: slices.Clone(records), synced: len(records)}
}

// shop is what outlives the process: who was called how often, and the price of it.
type shop struct {
	mu    sync.Mutex
	calls map[string]int // by task, model and number of observations
	dies  int            // the call at which the process ends, before its answer is told; 0 is never
	n     int
	clock atomic.Int64 // nanoseconds
	takes time.Duration
}

func (s *shop) Call(_ context.Context, r worker.Request) (episode.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[fmt.Sprintf("%s %s %d", r.Task().ID(), r.Model(), len(r.Observations()))]++
	s.clock.Add(int64(s.takes))
	if s.n++; s.n == s.dies {
		return episode.Event{}, errKilled
	}
	e := episode.Event{Told: episode.Answered, Text: "an answer", Cost: money.Dollar / 100, TokensIn: 10, TokensOut: 2, Served: "x", Provider: "y"}
	if len(r.Observations()) == 0 {
		e.Text = "READ a"
	}
	return e, nil
}

// market is a stage whose tasks declare a read, an arm that asks every model once, and its shop.
func market(tb testing.TB, tasks int) (*stage, *shop, func(j run.Journal, width int) *play.Arm) {
	tb.Helper()
	s := newStage(tb, tasks, 3)
	specs := make([]task.Spec, tasks)
	for i, t := range s.world.Tasks {
		specs[i] = t.Spec()
		specs[i].Tools = []string{"READ"}
	}
	var err error
	if s.slice, err = window.Slice("n", specs); err != nil {
		tb.Fatal(err)
	}
	sh := &shop{calls: map[string]int{}}
	var inspected atomic.Int64
	return s, sh, func(j run.Journal, width int) *play.Arm {
		a := s.arm(says(func(a play.Ask) string {
			if a.Step > 3 {
				return "STOP"
			}
			return "DELEGATE " + s.snapshot.At(a.Step-1).ID
		}), width)
		a.Workers, a.Grader, a.Inspector = sh, scores{"an answer": .5}, reads{&inspected}
		a.Journal, a.ID, a.Paid = j, "w1-king", true
		a.Now = func() time.Time { return noon.Add(time.Duration(sh.clock.Load())) }
		return a
	}
}

// settled says that every paid call was made once at most, and that one whose answer is not recorded shows as uncertain.
func settled(t *testing.T, plan string, s *stage, sh *shop, results []*episode.Result) (uncertain int) {
	t.Helper()
	for key, n := range sh.calls {
		if n > 1 {
			t.Errorf("%s: %s was called %d times", plan, key, n)
		}
	}
	for _, r := range results {
		if r.Ending != ending.Stop || len(r.Steps) != 4 {
			t.Errorf("%s: task %s ended as %s after %d steps", plan, r.Task.ID(), r.Ending, len(r.Steps))
			continue
		}
		for i, st := range r.Steps[:3] {
			told := 1 + len(st.Observations) // calls whose answers the machine was told
			if st.Failed {
				uncertain++
				told--
				if st.Failure != play.UncertainCall || st.Success || st.Refused {
					t.Errorf("%s: a call whose answer was lost is recorded as %+v", plan, st)
				}
			} else if len(st.Observations) != 1 || st.Score != .5 {
				t.Errorf("%s: step %d is recorded as %+v", plan, i, st)
			}
			for n := range told {
				if key := fmt.Sprintf("%s %s %d", r.Task.ID(), st.Model, n); sh.calls[key] != 1 {
					t.Errorf("%s: %s is recorded and was called %d times", plan, key, sh.calls[key])
				}
			}
			if want := int64(told) * 10_000_000_000; int64(st.Cost) != want {
				t.Errorf("%s: step %d cost %v with %d answers", plan, i, st.Cost, told)
			}
		}
	}
	return uncertain
}

func TestAPaidArmThatIsKilledAtEveryWrite(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, width := range []int{1, 3} {
		whole := &memory{}
		s, sh, arm := market(t, 2)
		played(t, arm(whole, width), s.slice)
		settled(t, "never killed", s, sh, played(t, arm(whole.restart(false), width), s.slice))
		doubts := 0
		for _, powerCut := range []bool{false, true} {
			for kill := 1; kill <= whole.points; kill++ {
				s, sh, arm := market(t, 2)
				j := &memory{killAt: kill}
				plan := fmt.Sprintf("width %d, killed at write %d of %d, power cut %v", width, kill, whole.points, powerCut)
				results, err := arm(j, width).Run(t.Context(), s.slice)
				if j.dead && (err == nil || results != nil) {
					t.Fatalf("%s: a dead journal gave %d results, %v", plan, len(results), err)
				}
				results, err = arm(j.restart(powerCut), width).Run(t.Context(), s.slice)
				if err != nil {
					t.Fatalf("%s: resumed: %v", plan, err)
				}
				n := settled(t, plan, s, sh, results)
				if doubts += n; n > width {
					t.Errorf("%s: %d uncertain calls", plan, n)
				}
			}
		}
		if doubts == 0 {
			t.Errorf("width %d: no kill ever left a call uncertain", width)
		}
	}
}

func TestAPaidArmThatEndsInTheMiddleOfACall(t *testing.T) {
	defer goleak.VerifyNone(t)
	const inAll = 12 // two tasks, three models, two calls for each
	for dies := 1; dies <= inAll; dies++ {
		s, sh, arm := market(t, 2)
		sh.dies = dies
		j := &memory{}
		if _, err := arm(j, 1).Run(t.Context(), s.slice); !errors.Is(err, errKilled) {
			t.Fatalf("call %d: %v", dies, err)
		}
		results := played(t, arm(j.restart(true), 1), s.slice)
		if n := settled(t, fmt.Sprintf("ended in call %d", dies), s, sh, results); n != 1 {
			t.Errorf("call %d: %d uncertain calls", dies, n)
		}
		again := played(t, arm(j.restart(true), 1), s.slice) // the doubt is settled for good only in the journal that was resumed
		if len(again) != len(results) {
			t.Errorf("call %d: %d results", dies, len(again))
		}
	}
}

func TestAnEpisodesClockGoesOnWhereItStood(t *testing.T) {
	defer goleak.VerifyNone(t)
	s, sh, arm := market(t, 1)
	sh.takes, sh.dies = 200*time.Second, 4
	j := &memory{}
	if _, err := arm(j, 1).Run(t.Context(), s.slice); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	sh.clock.Add(int64(72 * time.Hour)) // the process stays away for days: they are not the episode's
	sh.takes = 100 * time.Second
	r := played(t, arm(j.restart(true), 1), s.slice)[0]
	// Recorded were three calls of 200 s; the fourth is uncertain; the third delegate takes 200 s more: 800 s, then STOP.
	if r.Ending != ending.Stop || len(r.Steps) != 4 || r.Steps[1].Failure != play.UncertainCall {
		t.Errorf("ended as %s after %d steps: %+v", r.Ending, len(r.Steps), r.Steps)
	}
	s, sh, arm = market(t, 1)
	sh.takes, sh.dies = 200*time.Second, 4
	j = &memory{}
	if _, err := arm(j, 1).Run(t.Context(), s.slice); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	sh.takes = 150 * time.Second // 600 + 300: the clock has run out
	r = played(t, arm(j.restart(true), 1), s.slice)[0]
	if r.Ending != ending.WallClock || r.Score != 0 || len(r.Steps) != 3 {
		t.Errorf("ended as %s with %g after %d steps", r.Ending, r.Score, len(r.Steps))
	}
}

func TestAFinishedArmIsReplayedWithoutACall(t *testing.T) {
	defer goleak.VerifyNone(t)
	s, sh, arm := market(t, 3)
	j := &memory{}
	want := lines(played(t, arm(j, 2), s.slice))
	n := sh.n
	again := arm(j.restart(true), 1)
	again.Conductor = says(func(play.Ask) string { t.Error("a turn was asked for"); return "STOP" })
	if got := lines(played(t, again, s.slice)); !slices.Equal(got, want) || sh.n != n {
		t.Errorf("%d further calls; results\n%s\nwant\n%s", sh.n-n, strings.Join(got, ""), strings.Join(want, ""))
	}
}

// A replayed row comes from a table that is not in the journal, so the journal keeps the row.
func TestAJournaledArmWithATable(t *testing.T) {
	defer goleak.VerifyNone(t)
	s, sh, arm := market(t, 2)
	shared := table.New()
	first := arm(nil, 1)
	first.Journal, first.Table = nil, shared
	want := played(t, first, s.slice)
	n := sh.n
	whole := &memory{}
	second := arm(whole, 1)
	second.Table = shared
	results := played(t, second, s.slice)
	if sh.n != n || shared.Stats().Hits != 6 {
		t.Errorf("%d further calls, %+v", sh.n-n, shared.Stats())
	}
	for kill := 1; kill <= whole.points; kill += 3 {
		j := &memory{killAt: kill}
		a := arm(j, 1)
		a.Table = shared
		_, _ = a.Run(t.Context(), s.slice)
		a = arm(j.restart(false), 1)
		a.Table = table.New() // even when the table itself is gone
		sh.calls = map[string]int{}
		for i, r := range played(t, a, s.slice) {
			for k, st := range r.Steps {
				if st.Replayed && (st.Score != want[i].Steps[k].Score || st.Cost != want[i].Steps[k].Cost || len(st.Observations) != len(want[i].Steps[k].Observations)) {
					t.Errorf("killed at %d: replayed as %+v, want %+v", kill, st, want[i].Steps[k])
				}
			}
		}
	}
	if got := lines(played(t, arm(whole.restart(true), 1), s.slice)); !slices.Equal(got, lines(results)) {
		t.Errorf("read back otherwise:\n%s", strings.Join(got, ""))
	}
}
