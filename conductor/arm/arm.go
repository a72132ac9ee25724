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
	"assay/core/money"
)

// Clock is how long an arm may take before a further task starts.
const Clock = 9000 * time.Second

// Settings of an arm.
type Settings struct {
	Concurrency int        // episodes in flight at most; below 1 counts as 1
	Allowance   money.Pico // what the arm may spend; used when Limited
	Limited     bool
}

// Arm decides what to start. It is pure: the caller says what time it is and what episodes have spent.
type Arm struct {
	set      Settings
	tasks    int
	started  int // tasks given out or cut off, from the front
	running  int
	finished int // episodes that have spent what they spend
	spent    money.Pico
}

// New makes the plan of an arm over n tasks.
func New(n int, s Settings) *Arm {
	s.Concurrency = max(s.Concurrency, 1)
	return &Arm{set: s, tasks: n}
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

// Next returns what to start and what is cut off, given the time since the arm began. Both are empty while a batch of a
// limited arm is under way, and at the end. The clock is tested before the allowance.
func (a *Arm) Next(now time.Duration) (s Start, c Cut) {
	if a.started == a.tasks {
		return Start{First: a.started}, Cut{}
	}
	if a.set.Limited && a.running > 0 {
		return Start{First: a.started}, Cut{}
	}
	left := a.left()
	switch {
	case now >= Clock:
		return Start{First: a.started}, a.cutRest(ending.DuelWallClock)
	case a.set.Limited && left <= 0:
		return Start{First: a.started}, a.cutRest(ending.BudgetExhausted)
	}
	n := min(a.width(left)-a.running, a.tasks-a.started)
	if n <= 0 {
		return Start{First: a.started}, Cut{}
	}
	s = Start{First: a.started, N: n, Left: left}
	a.started += n
	a.running += n
	return s, Cut{}
}

// Done notes that one episode has ended and what it spent.
func (a *Arm) Done(spent money.Pico) {
	a.running--
	a.finished++
	a.spent = a.spent.Plus(spent)
}

// Abandon cuts off everything that has not begun.
func (a *Arm) Abandon(why ending.Ending) Cut { return a.cutRest(why) }

// Over reports whether every task has ended or is cut off.
func (a *Arm) Over() bool { return a.started == a.tasks && a.running == 0 }

// Spent returns what the ended episodes spent.
func (a *Arm) Spent() money.Pico { return a.spent }

func (a *Arm) left() money.Pico {
	if !a.set.Limited {
		return money.Max
	}
	return a.set.Allowance.Plus(-a.spent)
}

// width returns how many episodes may be in flight: all of them without a limit, one while no mean cost is known,
// else as many mean costs as are left.
func (a *Arm) width(left money.Pico) int {
	if !a.set.Limited {
		return a.set.Concurrency
	}
	if a.finished == 0 || a.spent <= 0 {
		return 1
	}
	mean := a.spent.Dollars() / float64(a.finished)
	return max(1, min(a.set.Concurrency, int(left.Dollars()/mean)))
}

func (a *Arm) cutRest(why ending.Ending) Cut {
	c := Cut{First: a.started, N: a.tasks - a.started, Ending: why}
	a.started = a.tasks
	return c
}
