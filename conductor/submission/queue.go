package submission

import (
	"cmp"
	"fmt"
	"slices"
)

// Limits of a window's queue.
const (
	Duels = 3         // challengers that one window duels
	Depth = 2 * Duels // places of its queue
)

// Commitment is a ready signal that the chain holds: who committed what, and when.
type Commitment struct {
	Hotkey       string // ss58
	Block        int64  // that took the signal in: seniority
	Registration Digest // what the signal says
	Manifest     Digest // what the signal says: the artifact's identity
}

// Status says what became of a commitment in a window.
type Status string

// The statuses.
const (
	Queued   Status = "queued"   // has a place; after the window: no status, one of the others
	Duelled  Status = "duelled"  // was judged; the shot is spent
	Refused  Status = "refused"  // the artifact was refused; the shot is spent
	Skipped  Status = "skipped"  // cannot be judged as it stands
	Deferred Status = "deferred" // would have been judged; a later window does
	Unqueued Status = "unqueued" // the queue is full
	Later    Status = "later"    // committed when the slice was known, or could have been: the next window's
)

// Spends reports whether the status spends the hotkey's one shot. Nothing else does.
func (s Status) Spends() bool { return s == Duelled || s == Refused }

// Place is what a window does with a commitment. Details are constants of this room, or the reason of an admission.
type Place struct {
	Commitment
	Status Status
	Rank   int    // from 0 among those of the same status
	Wait   int    // windows until a deferred or unqueued one can be judged, at the earliest
	Detail string // why, "" for Queued
}

// Standing is what a window's queue is made from.
type Standing struct {
	Opening     int64             // block whose hash is the window's nonce
	Commitments []Commitment      // the chain's, in any order, one for each hotkey
	Judged      map[string]bool   // hotkeys whose shot is spent
	Known       map[string]Digest // registration under which a hotkey's commitment was first seen
	Registered  map[string]Digest // registration of every hotkey that the metagraph holds
	Funded      map[string]bool   // hotkeys whose funding record opens
}

// Why a commitment is not queued.
const (
	WhyLater        = "committed at or behind the block that draws the slice"
	WhyUnregistered = "the hotkey is not registered"
	WhyRegistration = "signalled under another registration than the hotkey has"
	WhyResignalled  = "signalled again under another registration"
	WhyUnfunded     = "no funding record that opens"
	WhyFull         = "the queue is full"
	WhyDuels        = "this window's duels are given away"
)

// Queue gives every commitment its place, in the order of block and then hotkey. Judged hotkeys are left out first: a hotkey
// has one shot for ever. Of the others only those hold a place that could be judged now.
func Queue(s Standing) []Place {
	list := slices.Clone(s.Commitments)
	slices.SortFunc(list, func(a, b Commitment) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Hotkey, b.Hotkey))
	})
	ranks := map[Status]int{}
	out := []Place{}
	for _, c := range list {
		if s.Judged[c.Hotkey] {
			continue
		}
		p := Place{Commitment: c}
		if p.Status, p.Detail = s.of(c); p.Status == Queued && ranks[Queued] == Depth {
			p.Status, p.Detail = Unqueued, WhyFull
			p.Wait = wait(ranks[Unqueued] + Depth - Duels)
		}
		p.Rank = ranks[p.Status]
		ranks[p.Status]++
		out = append(out, p)
	}
	return out
}

// of says whether a commitment can be judged in this window at all.
func (s *Standing) of(c Commitment) (Status, string) {
	known, seen := s.Known[c.Hotkey]
	registered, live := s.Registered[c.Hotkey]
	switch {
	case c.Block >= s.Opening:
		return Later, WhyLater
	case seen && known != c.Registration:
		return Skipped, WhyResignalled
	case !live:
		return Skipped, WhyUnregistered
	case registered != c.Registration:
		return Skipped, WhyRegistration
	case !s.Funded[c.Hotkey]:
		return Skipped, WhyUnfunded
	}
	return Queued, ""
}

// wait returns how many windows the deferred one of a rank, from 0, waits.
func wait(rank int) int { return rank/Duels + 1 }

// Answer is what admission said of a queued commitment.
type Answer struct {
	Status Status // Queued: admitted. Refused, Skipped and Deferred stand as they are
	Detail string
}

// Seat applies admission's answers, by hotkey, to the queue: the first Duels that are admitted keep their place, those behind
// them are deferred, whether they were asked or not. A refusal gives its place to the next.
func Seat(queue []Place, answers map[string]Answer) []Place {
	out := slices.Clone(queue)
	ranks := map[Status]int{}
	waiting := 0
	for i := range out {
		p := &out[i]
		if p.Status == Queued {
			a, asked := answers[p.Hotkey]
			switch {
			case asked && a.Status != Queued:
				p.Status, p.Detail = a.Status, a.Detail
			case ranks[Queued] == Duels:
				p.Status, p.Wait = Deferred, wait(waiting)
				p.Detail = fmt.Sprintf("%s: %d more to wait", WhyDuels, p.Wait)
				waiting++
			}
		}
		p.Rank = ranks[p.Status]
		ranks[p.Status]++
	}
	return out
}
