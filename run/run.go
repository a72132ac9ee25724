// Package run is the one loop that drives pure machines: write the intent down, act, write the result down.
//
// Invariants:
//   - An effect that must not happen twice is on disk as an intent before it begins, and everything recorded before it
//     is on disk too.
//   - After a crash such an effect is looked up by its key and never begun again; where nobody knows, the machine is
//     told the caller's Uncertain event and decides.
//   - A run that is resumed is fed the events it was fed before; a machine that then asks for something else is refused.
//   - The clock, the network and every other effect belong to the caller's Act; the loop only orders them.
//
// The journal's format: docs/spec/journal.md.
package run

import (
	"context"
	"fmt"

	"assay/core/fault"
	"assay/core/step"
)

// The refusals of this room.
var (
	Stalled    = fault.NewCode("run.stalled", fault.Internal, "the machine is not done and asks for nothing")
	Diverged   = fault.NewCode("run.diverged", fault.Internal, "the machine asks for something else than its journal records")
	KeyReused  = fault.NewCode("run.key_reused", fault.Internal, "two effects of a run have the same key")
	OtherRun   = fault.NewCode("run.other_run", fault.Conflict, "a run of this name was begun about something else")
	Busy       = fault.NewCode("run.busy", fault.Conflict, "the run is being driven already")
	Forgotten  = fault.NewCode("run.forgotten", fault.Conflict, "the run was forgotten: its result is durable elsewhere")
	Unfinished = fault.NewCode("run.unfinished", fault.Conflict, "a run is forgotten when it has ended, not before")

	Misplaced  = fault.NewCode("run.misplaced", fault.Internal, "a record does not follow what its run recorded before")
	BadRecord  = fault.NewCode("run.bad_record", fault.Internal, "a record is not writable: its event is not one line of JSON, or a name is empty or not UTF-8")
	TooLarge   = fault.NewCode("run.record_too_large", fault.TooLarge, "a record exceeds the journal's line limit")
	Locked     = fault.NewCode("run.journal_locked", fault.Conflict, "another process holds the file")
	NotJournal = fault.NewCode("run.not_a_journal", fault.Invalid, "the file is not a journal of this format")
	Damaged    = fault.NewCode("run.journal_damaged", fault.Uncertain, "the journal is damaged: what it records may have happened")
	Broken     = fault.NewCode("run.journal_broken", fault.Uncertain, "an earlier write to the journal failed: open it again")
)

// Loop drives machines that take events E and ask for effects D. It holds no state and may drive any number at once.
type Loop[E, D any] struct {
	// Act carries an effect out and returns its event. Its error means that nothing is known (the process is ending,
	// the disk is gone): it ends the run without an event. A failure that the rules foresee is an event.
	Act func(ctx context.Context, effect D) (E, error)
	// Durable makes runs survive a crash. Without it a run lives in memory and costs no allocation of the loop's.
	Durable *Durable[E, D]
}

// Run drives m until it is done. id names the run in the journal, and about (a digest of what the run was given)
// binds it: the same id about something else is refused. A run that is in the journal is resumed, and one that is
// finished there is replayed to its end without acting. Without a journal both are unused.
//
// An error of m, of Act or of the journal ends the run where it stands; with a journal it can be run again.
func (l *Loop[E, D]) Run(ctx context.Context, id, about string, m step.Machine[E, D]) error {
	if l.Durable != nil {
		return l.runDurable(ctx, id, about, m)
	}
	return l.drive(ctx, m, l.Act)
}

// drive carries out effects in the order they were asked for, one at a time, until m is done.
func (l *Loop[E, D]) drive(ctx context.Context, m step.Machine[E, D], act func(context.Context, D) (E, error)) error {
	var waiting queue[D]
	for ready := m.Start(); !ready.Done; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		effect, ok := waiting.next(ready.Do)
		if !ok {
			return Stalled.With()
		}
		event, err := act(ctx, effect)
		if err != nil {
			return fmt.Errorf("carrying out an effect: %w", err)
		}
		if ready, err = m.Step(event); err != nil {
			return fmt.Errorf("stepping the machine: %w", err)
		}
	}
	return nil
}

// queue keeps effects that a machine asked for and that are not begun. A machine that asks for one at a time never
// touches the slice.
type queue[D any] struct {
	items []D
	head  int
}

// next adds what was asked for and takes the oldest.
func (q *queue[D]) next(asked []D) (effect D, ok bool) {
	if q.head == len(q.items) {
		if len(asked) == 0 {
			return effect, false
		}
		effect = asked[0]
		if len(asked) > 1 {
			q.items, q.head = append(q.items[:0], asked[1:]...), 0
		}
		return effect, true
	}
	q.items = append(q.items, asked...)
	effect = q.items[q.head]
	q.head++
	return effect, true
}
