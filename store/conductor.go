package store

import (
	"cmp"
	"slices"

	"assay/conductor/submission"
	"assay/core/fault"
)

// Conductor groups the records of the Conductor's competition.
type Conductor struct {
	Submissions Submissions
	Windows     Windows
	Shots       Shots
	Coronations Coronations
}

// Submissions holds each hotkey's commitment as it was first seen: whoever signals something else later is found out.
type Submissions interface {
	// Put keeps a commitment. A hotkey whose first one differs is a Conflict.
	Put(submission.Commitment) error
	// Get returns a hotkey's commitment, or NotFound.
	Get(hotkey string) (submission.Commitment, error)
	// List returns all, by block and then hotkey.
	List() ([]submission.Commitment, error)
}

// Phase is how far a window has come.
type Phase uint8

// The phases, in their only order. History is kept before weights are set, and weights before the window is published.
const (
	Opened Phase = iota + 1
	Settled
	Weighed
	Published
)

var phaseNames = [...]string{Opened: "opened", Settled: "settled", Weighed: "weighed", Published: "published"}

// String returns the phase's name, "" for the zero Phase.
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return ""
}

// Window is one window's progress.
type Window struct {
	Number int64  // from 1
	Block  int64  // that opened it
	Nonce  string // hash of that block
	Phase  Phase
}

// Windows holds how far every window has come.
type Windows interface {
	// Open keeps a window in the phase Opened. The same again changes nothing, whatever its phase is by now; one with another
	// block or nonce is a Conflict.
	Open(number, block int64, nonce string) error
	// Advance moves a window to the phase behind its own. A phase that it has reached changes nothing; one that would leave
	// another out is a Conflict.
	Advance(number int64, to Phase) error
	// Get returns a window, or NotFound.
	Get(number int64) (Window, error)
	// List returns all that have not reached the phase, by number; with Published the unfinished ones.
	List(below Phase) ([]Window, error)
}

// Shot is what a window did with a submission.
type Shot struct {
	Hotkey string
	Window int64
	Status submission.Status // Duelled, Refused, Skipped, Deferred or Unqueued
	Detail string            // why, for people
}

// Shots holds what became of every submission in every window. A shot is spent by the statuses that spend it, and once.
type Shots interface {
	// Judge keeps a shot; its submission and its window must be known. Another status in the same window is a Conflict, and so is
	// anything in a later window for a hotkey whose shot is spent.
	Judge(Shot) error
	// Spent returns the window that spent a hotkey's shot; 0 while it has one.
	Spent(hotkey string) (window int64, err error)
	// Judged returns the hotkeys whose shot is spent, in order.
	Judged() ([]string, error)
	// OfWindow returns a window's shots, by hotkey.
	OfWindow(number int64) ([]Shot, error)
}

// Coronation is a window that crowned somebody.
type Coronation struct {
	Window int64
	Hotkey string
}

// Coronations holds who was crowned.
type Coronations interface {
	// Append keeps a coronation behind the others. One of an earlier window than the last, or another in the same, is a Conflict.
	Append(Coronation) error
	// List returns all, oldest first.
	List() ([]Coronation, error)
}

// Settlement is all that a window's end changes in the history.
type Settlement struct {
	Window  int64
	Shots   []Shot // of this window, in any order
	Crowned string // hotkey, "" for nobody
}

// Settle keeps a window's settlement. Settling a window again with the same changes nothing, with anything else is a Conflict.
// It belongs into one Update.
func Settle(c Conductor, s Settlement) error {
	w, err := c.Windows.Get(s.Window)
	if err != nil {
		return err
	}
	shots := slices.Clone(s.Shots)
	slices.SortFunc(shots, func(a, b Shot) int { return cmp.Compare(a.Hotkey, b.Hotkey) })
	if w.Phase >= Settled {
		return sameSettlement(c, s, shots)
	}
	for _, shot := range shots {
		if shot.Window != s.Window {
			return Invalid.With(fault.Int("window", shot.Window), fault.Int("settled", s.Window))
		}
		if err := c.Shots.Judge(shot); err != nil {
			return err
		}
	}
	if s.Crowned != "" {
		if err := c.Coronations.Append(Coronation{s.Window, s.Crowned}); err != nil {
			return err
		}
	}
	return c.Windows.Advance(s.Window, Settled)
}

func sameSettlement(c Conductor, s Settlement, shots []Shot) error {
	have, err := c.Shots.OfWindow(s.Window)
	if err != nil {
		return err
	}
	crowns, err := c.Coronations.List()
	if err != nil {
		return err
	}
	crowned := ""
	for _, k := range crowns {
		if k.Window == s.Window {
			crowned = k.Hotkey
		}
	}
	if !slices.Equal(have, shots) || crowned != s.Crowned {
		return Conflict.With(fault.Int("window", s.Window), fault.Str("crowned", crowned))
	}
	return nil
}
