package arm_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/conductor/arm"
	"assay/conductor/ending"
	"assay/core/money"
)

const cent = money.Dollar / 100

// played is what became of one task.
type played struct {
	ending ending.Ending // of a task that was cut off
	left   money.Pico    // the allowance that its episode was given
	batch  int           // which start it was part of, from 1
}

// play runs a plan: every episode of a batch costs what costs says and takes what takes says, and all of a batch run beside
// each other. widths are the sizes of the starts.
func play(tb interface{ Fatalf(string, ...any) }, n int, set arm.Settings, costs func(i int) money.Pico, takes time.Duration) (tasks []played, widths []int) {
	tasks = make([]played, n)
	a := arm.New(n, set)
	now, next := time.Duration(0), 0
	for round := 1; !a.Over(); round++ {
		if round > 2*n+2 {
			tb.Fatalf("the plan does not end")
		}
		s, c := a.Next(now)
		if c.N > 0 && (c.First != next || s.N > 0) {
			tb.Fatalf("cut %+v with start %+v at task %d", c, s, next)
		}
		for i := range c.N {
			tasks[c.First+i] = played{ending: c.Ending}
		}
		next += c.N
		if s.N > 0 {
			if s.First != next || s.N > max(1, set.Concurrency) {
				tb.Fatalf("started %+v at task %d with a width of %d", s, next, set.Concurrency)
			}
			widths = append(widths, s.N)
			now += takes
		}
		for i := range s.N {
			tasks[next+i] = played{left: s.Left, batch: round}
		}
		for i := range s.N {
			a.Done(costs(next + i))
		}
		next += s.N
	}
	return tasks, widths
}

func endings(tasks []played) []ending.Ending {
	out := make([]ending.Ending, len(tasks))
	for i, p := range tasks {
		out[i] = p.ending
	}
	return out
}

func each(p money.Pico) func(int) money.Pico { return func(int) money.Pico { return p } }

func TestBehaviourS5_FiveTasksOnOneDollar(t *testing.T) {
	tasks, _ := play(t, 5, arm.Settings{Limited: true, Allowance: money.Dollar, Concurrency: 1}, each(40*cent), 0)
	want := []played{{left: 100 * cent, batch: 1}, {left: 60 * cent, batch: 2}, {left: 20 * cent, batch: 3}, {ending: ending.BudgetExhausted}, {ending: ending.BudgetExhausted}}
	if !slices.Equal(tasks, want) {
		t.Errorf("got %+v", tasks)
	}
}

func TestBehaviourS9_TheArmsClock(t *testing.T) {
	tasks, _ := play(t, 20, arm.Settings{Concurrency: 1}, each(cent), 800*time.Second)
	for i, p := range tasks {
		if want := map[bool]ending.Ending{false: "", true: ending.DuelWallClock}[i >= 12]; p.ending != want { // ceil(9000/800)
			t.Errorf("task %d: %q, want %q", i, p.ending, want)
		}
	}
	if s, c := arm.New(3, arm.Settings{}).Next(arm.Clock - 1); s.N != 1 || c.N != 0 {
		t.Errorf("just before the clock: %+v, %+v", s, c)
	}
	if s, c := arm.New(3, arm.Settings{}).Next(arm.Clock); s.N != 0 || c.N != 3 || c.Ending != ending.DuelWallClock {
		t.Errorf("at the clock: %+v, %+v", s, c)
	}
}

func TestBehaviourS10_TheClockIsTestedBeforeTheAllowance(t *testing.T) {
	_, c := arm.New(2, arm.Settings{Limited: true}).Next(arm.Clock)
	if c.N != 2 || c.Ending != ending.DuelWallClock {
		t.Errorf("past both: %+v", c)
	}
	_, c = arm.New(2, arm.Settings{Limited: true}).Next(0)
	if c.N != 2 || c.Ending != ending.BudgetExhausted {
		t.Errorf("past the allowance: %+v", c)
	}
}

func TestBehaviourS23_TheFirstTaskOfALimitedArmRunsAlone(t *testing.T) {
	_, widths := play(t, 20, arm.Settings{Limited: true, Allowance: money.Dollar, Concurrency: 16}, each(cent), 0)
	if !slices.Equal(widths, []int{1, 16, 3}) {
		t.Errorf("widths %v", widths)
	}
	_, widths = play(t, 20, arm.Settings{Concurrency: 16}, each(cent), 0)
	if !slices.Equal(widths, []int{16, 4}) {
		t.Errorf("widths without a limit %v", widths)
	}
	_, widths = play(t, 4, arm.Settings{Limited: true, Allowance: money.Dollar, Concurrency: 16}, each(0), 0) // the mean stays unknown
	if !slices.Equal(widths, []int{1, 1, 1, 1}) {
		t.Errorf("widths while nothing costs anything %v", widths)
	}
}

func TestBehaviourS24_WidthIsWhatTheAllowanceHolds(t *testing.T) {
	for _, c := range []struct {
		allowance money.Pico
		want      []int
	}{
		{12 * cent, []int{1, 4, 4, 3}},    // 11 left, then 7, then 3
		{5*cent + cent/2, []int{1, 4, 1}}, // 4.5 left: four; then 0.5: one at least
		{3 * cent, []int{1, 2}},           // two left: two
		{money.Max, []int{1, 4, 4, 3}},    // as wide as may be
		{2*cent - 1, []int{1, 1}},         // less than one mean is left: one all the same
		{cent, []int{1}}, {cent / 2, []int{1}}, {0, nil},
	} {
		_, widths := play(t, 12, arm.Settings{Limited: true, Allowance: c.allowance, Concurrency: 4}, each(cent), 0)
		if !slices.Equal(widths, c.want) {
			t.Errorf("allowance %v: widths %v, want %v", c.allowance, widths, c.want)
		}
	}
	a := arm.New(99, arm.Settings{Limited: true, Allowance: money.Max, Concurrency: 4})
	for a.Spent() == 0 { // three episodes for one pico-dollar: their mean fits more often than an int can say
		for range 3 {
			a.Next(0)
			a.Done(0)
		}
		a.Next(0)
		a.Done(1)
	}
	if s, _ := a.Next(0); s.N != 4 {
		t.Errorf("a mean far below the allowance gives a width of %d", s.N)
	}
}

func TestBehaviourS25_NineTasksOnFiveAndAHalfCents(t *testing.T) {
	b := ending.BudgetExhausted
	want := []ending.Ending{"", "", "", "", "", "", b, b, b}
	for _, width := range []int{1, 4} {
		tasks, _ := play(t, 9, arm.Settings{Limited: true, Allowance: 5*cent + cent/2, Concurrency: width}, each(cent), 0)
		if !slices.Equal(endings(tasks), want) {
			t.Errorf("width %d: %v", width, endings(tasks))
		}
		// The sixth is given half a cent, so it begins and ends budget_exhausted with its credit.
		if tasks[5].left != cent/2 {
			t.Errorf("width %d: the sixth is given %v", width, tasks[5].left)
		}
	}
}

func TestAbandonCutsWhatHasNotBegun(t *testing.T) {
	a := arm.New(5, arm.Settings{Concurrency: 2})
	s, _ := a.Next(0)
	if c := a.Abandon(ending.Futile); s.N != 2 || c != (arm.Cut{First: 2, N: 3, Ending: ending.Futile}) {
		t.Errorf("%+v, %+v", s, c)
	}
	if a.Over() {
		t.Error("over while two are under way")
	}
	a.Done(1)
	a.Done(2)
	if !a.Over() || a.Spent() != 3 {
		t.Errorf("over %v, spent %v", a.Over(), a.Spent())
	}
	if s, c := a.Next(0); s.N != 0 || c.N != 0 {
		t.Errorf("an arm that is over starts %+v, cuts %+v", s, c)
	}
}

func TestProperty_arm_plan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(t, "tasks")
		costs := make([]money.Pico, n)
		for i := range costs {
			costs[i] = money.Pico(rapid.Int64Range(0, 30).Draw(t, "cost")) * cent
		}
		set := arm.Settings{
			Concurrency: rapid.IntRange(-1, 9).Draw(t, "width"), Limited: rapid.Bool().Draw(t, "limited"),
			Allowance: money.Pico(rapid.Int64Range(0, 300).Draw(t, "allowance")) * cent,
		}
		takes := time.Duration(rapid.IntRange(0, 2000).Draw(t, "takes")) * time.Second
		tasks, widths := play(t, n, set, func(i int) money.Pico { return costs[i] }, takes)

		cut := false // what is cut off is a tail
		var how ending.Ending
		var spent money.Pico
		for i, p := range tasks {
			if cut && p.ending != how {
				t.Fatalf("task %d of %v follows one that was cut off", i, endings(tasks))
			}
			cut, how = cut || p.ending != "", p.ending
			if p.ending == "" {
				if set.Limited && p.left <= 0 {
					t.Fatalf("task %d began with %v", i, p.left)
				}
				spent += costs[i]
			}
		}
		if how == ending.BudgetExhausted && (!set.Limited || spent < set.Allowance) {
			t.Fatalf("cut off for the allowance of %v with %v spent", set.Allowance, spent)
		}
		if how == ending.DuelWallClock && time.Duration(len(widths))*takes < arm.Clock {
			t.Fatalf("cut off for the clock after %v", time.Duration(len(widths))*takes)
		}
		if set.Concurrency <= 1 { // serial: one after the other, each with what the others have left
			left := set.Allowance
			for i, p := range tasks {
				if p.ending != "" {
					break
				}
				if p.batch == 0 || set.Limited && p.left != left {
					t.Fatalf("task %d began with %v, a serial run has %v", i, p.left, left)
				}
				left -= costs[i]
			}
		}
	})
}

// Episodes that end one at a time, in any order: never more in flight than the width, and a limited arm's batch waits for all of it.
func TestProperty_never_more_in_flight_than_the_width(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := arm.Settings{Concurrency: rapid.IntRange(1, 6).Draw(t, "width"), Limited: rapid.Bool().Draw(t, "limited"), Allowance: 100 * cent}
		a := arm.New(25, set)
		inFlight, began := 0, 0
		for range 200 {
			if a.Over() {
				return
			}
			before := inFlight
			s, c := a.Next(time.Duration(rapid.IntRange(0, 3000).Draw(t, "now")) * time.Second)
			inFlight += s.N
			if began += s.N + c.N; began > 25 || inFlight > set.Concurrency {
				t.Fatalf("%d in flight of a width of %d, %d begun", inFlight, set.Concurrency, began)
			}
			if set.Limited && before > 0 && s.N > 0 {
				t.Fatalf("%d started while %d of the batch run", s.N, before)
			}
			if inFlight > 0 {
				a.Done(cent)
				inFlight--
			}
		}
		t.Fatal("the plan does not end")
	})
}
