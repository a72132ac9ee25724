// Package arm runs one Conductor over a slice: which tasks start, with how much allowance, and which are cut off.
//
// Invariants:
//   - Cut-off tasks are a contiguous tail of the nonce's order, with score and spend zero.
//   - At concurrency 1 the outcome is that of a serial run; all episodes of a batch see the allowance that stood before it.
//   - An episode that has begun is never cut off by the arm's clock.
//
// Specification: docs/spec/episode.md.
package arm

import (
	"time"

	"assay/conductor/ending"
	"assay/core/limit"
	"assay/core/money"
)

// Clock is how long an arm may take before a further task starts.
const Clock = 9000 * time.Second

// Settings of an arm.
type Settings struct {
	Concurrency int        // episodes in flight at most; below 1 counts as 1
	Allowance   money.Pico // what the arm may spend; used when Limited
	Limited     bool
	Batches     bool // nothing starts before all that is in flight has ended, so that what starts never depends on who was faster
}

// Arm decides what to start. It is pure: the caller says what time it is and what episodes have spent.
type Arm struct {
	set      Settings
	tasks    int
	started  int // tasks given out or cut off, from the front
	finished int // episodes that have spent what they spend
	ledger   *limit.Ledger
	holds    []*limit.Hold // one for each episode under way; what it will cost is not known
}

// New makes the plan of an arm over n tasks.
func New(n int, s Settings) *Arm {
	s.Concurrency = max(s.Concurrency, 1)
	allowance := s.Allowance
	if !s.Limited {
		allowance = limit.Unlimited
	}
	return &Arm{set: s, tasks: n, ledger: limit.Open(limit.MoneyOnly(allowance))}
}

// Start is what may begin now.
type Start struct {
	First, N int        // tasks First to First+N-1 of the nonce's order
	Left     money.Pico // allowance of each of their episodes, when limited
}

// Cut is a run of tasks that will not begin.
type Cut struct {
	First, N int
	Ending   ending.Ending
}

// Next returns what to start and what is cut off, given the time since the arm began. Both are empty while a batch is
// under way, and at the end. The clock is tested before the allowance.
func (a *Arm) Next(now time.Duration) (s Start, c Cut) {
	if a.started == a.tasks {
		return Start{First: a.started}, Cut{}
	}
	if (a.set.Limited || a.set.Batches) && len(a.holds) > 0 {
		return Start{First: a.started}, Cut{}
	}
	left := a.ledger.Left().Money
	switch {
	case now >= Clock:
		return Start{First: a.started}, a.cutRest(ending.DuelWallClock)
	case left <= 0:
		return Start{First: a.started}, a.cutRest(ending.BudgetExhausted)
	}
	n := min(a.width(left)-len(a.holds), a.tasks-a.started)
	s = Start{First: a.started, Left: left}
	for s.N < n {
		hold, err := a.ledger.Hold(limit.Amount{}, 0)
		if err != nil {
			panic("arm: something is left of the allowance: " + err.Error())
		}
		a.holds = append(a.holds, hold)
		s.N++
	}
	a.started += s.N
	return s, Cut{}
}

// Done notes that one episode has ended and what it spent.
func (a *Arm) Done(spent money.Pico) {
	last := len(a.holds) - 1 // holds are alike, so any stands for this episode's
	if err := a.holds[last].Settle(limit.Amount{Money: spent}); err != nil {
		panic("arm: an episode's spend is checked as it is charged: " + err.Error())
	}
	a.holds = a.holds[:last]
	a.finished++
}

// Abandon cuts off everything that has not begun.
func (a *Arm) Abandon(why ending.Ending) Cut { return a.cutRest(why) }

// Over reports whether every task has ended or is cut off.
func (a *Arm) Over() bool { return a.started == a.tasks && len(a.holds) == 0 }

// Spent returns what the ended episodes spent.
func (a *Arm) Spent() money.Pico { return a.ledger.Spent().Money }

// width returns how many episodes may be in flight: all of them without a limit, one while no mean cost is known,
// else as many mean costs as are left.
func (a *Arm) width(left money.Pico) int {
	if !a.set.Limited {
		return a.set.Concurrency
	}
	spent := a.Spent()
	if a.finished == 0 || spent <= 0 {
		return 1
	}
	mean := spent.Dollars() / float64(a.finished)
	fits := left.Dollars() / mean
	if fits >= float64(a.set.Concurrency) { // as floats: a tiny mean fits more often than an int can say
		return a.set.Concurrency
	}
	return max(1, int(fits))
}

func (a *Arm) cutRest(why ending.Ending) Cut {
	c := Cut{First: a.started, N: a.tasks - a.started, Ending: why}
	a.started = a.tasks
	return c
}
