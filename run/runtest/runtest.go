// Package runtest is the crash suite: it kills a run before and after everything that touches the world, resumes it,
// and says what a crash could break.
//
// Invariants:
//   - Every point is tried: before and after each append, each sync and each effect, alone and in pairs (the second
//     crash strikes the recovery), in a world that forgets what it did, in one that remembers it, and in one that also knows
//     what it did not do, and with the records that were not synced kept or lost.
//   - What must happen once happens at most once, and the machine ends where it would have ended without the crashes,
//     but for the effects that were reported to it as uncertain.
package runtest

import (
	"context"
	"fmt"
	"testing"

	"assay/core/step"
	"assay/run"
)

// Suite is a machine and its effects.
type Suite[E, D any] struct {
	New   func() step.Machine[E, D]               // a machine at its start, always the same
	State func(machine step.Machine[E, D]) string // all that counts of a machine that is done, as text
	Act   func(effect D) E                        // what the world answers: a function of the effect

	// Durable is what the loop is given; Journal and Lookup are the suite's.
	Durable run.Durable[E, D]

	// Drive runs the loop; nil stands for its Run. A test of the suite puts a faulty loop here.
	Drive func(ctx context.Context, l *run.Loop[E, D], id, about string, m step.Machine[E, D]) error
}

// The suite's bounds.
const (
	maxPairs   = 1300   // crashes in pairs are thinned out above this number
	maxEffects = 10_000 // more effects in one run mean a machine that does not end
)

// Crash reports what a crash breaks, one error for each of the first ten findings.
func Crash[E, D any](t *testing.T, s Suite[E, D]) {
	t.Helper()
	findings := s.Check(t.Context())
	for i, f := range findings {
		if i == 10 {
			t.Errorf("and %d more", len(findings)-i)
			return
		}
		t.Error(f)
	}
}

// plan is one way to crash.
type plan struct {
	first, second int // points at which the first and second run are killed; 0 is never
	memory        memoryOf
	powerCut      bool // records that were not synced are lost
}

// memoryOf says what the world knows of effects when it is asked.
type memoryOf string

const (
	forgets   memoryOf = "forgets what it did"
	remembers memoryOf = "finds what it did, and knows nothing of the rest"
	isSure    memoryOf = "finds what it did, and knows that it did nothing else"
)

func (p plan) String() string {
	return fmt.Sprintf("killed at point %d, then at %d, a world that %s, power cut %v", p.first, p.second, p.memory, p.powerCut)
}

// Check returns what a crash breaks.
func (s Suite[E, D]) Check(ctx context.Context) (findings []error) {
	if s.Drive == nil {
		s.Drive = func(ctx context.Context, l *run.Loop[E, D], id, about string, m step.Machine[E, D]) error {
			return l.Run(ctx, id, about, m)
		}
	}
	w := newWorld(&s, plan{})
	if err := w.try(ctx, 0); err != nil {
		return []error{fmt.Errorf("without a crash: %w", err)}
	}
	points := w.point
	stride := 1 + points*points/maxPairs
	for _, memory := range []memoryOf{forgets, remembers, isSure} {
		for _, powerCut := range []bool{true, false} {
			for first := range points + 1 {
				for second := 0; second <= points; second += stride {
					p := plan{first, second, memory, powerCut}
					if err := s.crash(ctx, p); err != nil {
						findings = append(findings, fmt.Errorf("%v: %w", p, err))
					}
				}
			}
		}
	}
	return findings
}

// crash carries a plan out and judges how it ended.
func (s *Suite[E, D]) crash(ctx context.Context, p plan) error {
	w := newWorld(s, p)
	for _, killAt := range []int{p.first, p.second, 0} {
		if err := w.try(ctx, killAt); err != nil {
			return err
		}
		if w.done {
			break
		}
	}
	doubtful := w.journal.doubts()
	for key, n := range w.happened {
		if n > 1 {
			return fmt.Errorf("effect %q happened %d times", key, n)
		}
		if n == 1 && p.memory != forgets && doubtful[key] {
			return fmt.Errorf("effect %q happened, was remembered, and still counts as uncertain", key)
		}
	}
	if p.memory == isSure && len(doubtful) > 0 {
		return fmt.Errorf("effects %v count as uncertain in a world that is sure", doubtful)
	}
	want, err := s.without(ctx, doubtful)
	if err != nil {
		return err
	}
	if w.state != want {
		return fmt.Errorf("the machine ended as %q, want %q", w.state, want)
	}
	return nil
}

// without runs the machine in memory, with the given effects uncertain, and returns how it ends.
func (s *Suite[E, D]) without(ctx context.Context, doubtful map[string]bool) (string, error) {
	l := run.Loop[E, D]{Act: func(_ context.Context, d D) (E, error) {
		if s.Durable.Care(d) == run.Once && doubtful[s.Durable.Key(d)] {
			return s.Durable.Uncertain(d), nil
		}
		return s.Act(d), nil
	}}
	m := s.New()
	if err := l.Run(ctx, "", "", m); err != nil {
		return "", fmt.Errorf("in memory: %w", err)
	}
	return s.State(m), nil
}
