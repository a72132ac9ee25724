// Package limit keeps the one account of what a whole tree of work may still spend.
//
// Invariants:
//   - One Ledger serves the whole tree: there is no child ledger, no reset, no top-up and no refund of what was settled.
//   - Room is held before the work is dispatched. A hold that was never settled counts as spent, also in a Snapshot.
//   - An overrun is charged in full, and from then on everything is refused.
//   - Resume takes the tightest limits and the highest spend of what it is given, so a restart never finds fresh budget.
//   - The zero Ledger refuses everything.
package limit

import (
	"math"
	"sync"
	"time"

	"assay/core/fault"
	"assay/core/money"
)

// The refusals of this room.
var (
	Exhausted = fault.NewCode("limit.exhausted", fault.Exhausted, "the budget of this work is spent")
	TooDeep   = fault.NewCode("limit.too_deep", fault.Exhausted, "the work is nested deeper than its limit")
	Negative  = fault.NewCode("limit.negative", fault.Internal, "an amount of spending is negative")
	Settled   = fault.NewCode("limit.settled", fault.Internal, "a hold was settled twice")
)

// Unlimited is the limit of a dimension that is not limited.
const Unlimited = math.MaxInt64

// Amount is spending in every dimension that is summed.
type Amount struct {
	Calls  int64         // exchanges with a model or tool
	Tokens int64         // tokens in and out
	Money  money.Pico    // pico-dollars
	Time   time.Duration // nanoseconds of work, added up over what runs at once
	Frames int64         // agents or calls of an agent opened
}

// Limits bound a tree of work. A zero field allows nothing; use Unlimited where there is no bound.
type Limits struct {
	Amount
	Depth int64 // deepest level that may hold; a bound, not a sum
}

// MoneyOnly returns limits that bound dollars and nothing else.
func MoneyOnly(m money.Pico) Limits {
	return Limits{Amount{Unlimited, Unlimited, m, Unlimited, Unlimited}, Unlimited}
}

// Ledger is the account of one tree of work. It is safe for concurrent use and must not be copied.
type Ledger struct {
	mu      sync.Mutex
	limits  Limits
	settled Amount // only ever grows
	held    Amount // of holds that are not settled
}

// Open returns a ledger that has spent nothing. A limit below zero allows nothing.
func Open(l Limits) *Ledger { return &Ledger{limits: l} }

// Snapshot is a ledger at rest: what a restart needs to go on.
type Snapshot struct {
	Limits Limits
	Spent  Amount // settled spend and unsettled holds
}

// Resume opens a ledger again. Of several snapshots of one ledger it takes, for each dimension, the lowest limit and
// the highest spend, so the order in which they are found does not matter.
func Resume(first Snapshot, more ...Snapshot) *Ledger {
	l := &Ledger{limits: first.Limits, settled: first.Spent}
	for _, s := range more {
		l.limits.Amount = l.limits.Amount.merge(s.Limits.Amount, lower)
		l.limits.Depth = min(l.limits.Depth, s.Limits.Depth)
		l.settled = l.settled.merge(s.Spent, higher)
	}
	l.settled = l.settled.merge(Amount{}, higher)
	return l
}

// Hold is room taken for one dispatch. It is settled once; one that is forgotten stays spent.
type Hold struct {
	ledger  *Ledger
	amount  Amount
	settled bool
}

// Hold takes room for work at the given depth before it is dispatched. The amount is what the work will cost at most;
// the zero Amount stands for a cost that cannot be known: it is refused as soon as any dimension is full.
func (l *Ledger) Hold(a Amount, depth int64) (*Hold, error) {
	if a.negative() {
		return nil, Negative.With()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if depth > l.limits.Depth {
		return nil, TooDeep.With(fault.Int("depth", depth), fault.Int("limit", l.limits.Depth))
	}
	if d := l.refusedBy(a); d != "" {
		return nil, Exhausted.With(fault.Str("dimension", d))
	}
	l.held = l.held.merge(a, plus)
	return &Hold{ledger: l, amount: a}, nil
}

// refusedBy returns the first dimension that has no room for a, or "". l.mu is held.
func (l *Ledger) refusedBy(a Amount) string {
	used, open := l.used().list(), a == Amount{}
	ask, limits := a.list(), l.limits.Amount.list()
	for i := range used {
		switch {
		case limits[i] == Unlimited:
		case used[i] > limits[i], // overrun: nothing goes on
			ask[i] > 0 && ask[i] > limits[i]-used[i],
			open && used[i] >= limits[i]:
			return dimensions[i]
		}
	}
	return ""
}

// Settle replaces the hold by what the work really cost, be it less or more. A negative amount or a second call is refused
// and changes nothing.
func (h *Hold) Settle(actual Amount) error {
	if actual.negative() {
		return Negative.With()
	}
	l := h.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.settled {
		return Settled.With()
	}
	h.settled = true
	l.held = l.held.merge(h.amount, minus)
	l.settled = l.settled.merge(actual, plus)
	return nil
}

// used is settled spend and unsettled holds. l.mu is held.
func (l *Ledger) used() Amount { return l.settled.merge(l.held, plus) }

// Spent returns what was settled. It never decreases.
func (l *Ledger) Spent() Amount {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.settled
}

// Left returns the room that neither settled spend nor holds take, Unlimited where there is no bound, never below zero.
func (l *Ledger) Left() Amount {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limits.Amount.merge(l.used(), left)
}

// Snapshot returns the ledger at rest, with unsettled holds as spent.
func (l *Ledger) Snapshot() Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Snapshot{l.limits, l.used()}
}
