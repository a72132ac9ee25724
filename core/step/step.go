// Package step is the one shape of long-lived things: a pure machine that asks for effects and is told of their events.
//
// Invariants:
//   - A machine touches nothing: the same events in the same order give the same Ready values, so a journal of events is the machine.
//   - A machine that is Done asks for nothing further and ignores events.
package step

// Ready is what a machine wants after an event: effects to carry out, in order, or an end.
type Ready[D any] struct {
	Do   []D  // effects; valid until the next Step
	Done bool // no further event is wanted
}

// Machine is a pure state machine over events E that asks for effects D.
type Machine[E, D any] interface {
	// Start returns the first effects.
	Start() Ready[D]
	// Step takes one event. An error is a broken rule that ends the run, never a refusal that the rules foresee.
	Step(E) (Ready[D], error)
}
