package runtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"assay/run"
)

// killed is the panic that stands for the end of the process.
type killed struct{}

// world is everything that outlives a process: the disk, and what effects did.
type world[E, D any] struct {
	suite    *Suite[E, D]
	plan     plan
	point    int // touches of the world in this run
	killAt   int
	effects  int
	happened map[string]int // how often each effect that must happen once did
	answers  map[string]E
	journal  *memory
	done     bool
	state    string
}

func newWorld[E, D any](s *Suite[E, D], p plan) *world[E, D] {
	w := &world[E, D]{suite: s, plan: p, happened: map[string]int{}, answers: map[string]E{}}
	w.journal = &memory{touch: w.touch}
	return w
}

// touch is a moment at which the process may end.
func (w *world[E, D]) touch() {
	w.point++
	if w.point == w.killAt {
		panic(killed{})
	}
}

// try drives a fresh machine until it is done or the process is killed.
func (w *world[E, D]) try(ctx context.Context, killAt int) (err error) {
	w.point, w.killAt, w.effects = 0, killAt, 0
	defer func() {
		switch r := recover(); r {
		case nil:
		case killed{}:
			w.journal.crash(w.plan.powerCut)
			err = nil
		default:
			panic(r)
		}
	}()
	d := w.suite.Durable
	d.Journal, d.Lookup = w.journal, w.lookup
	m := w.suite.New()
	l := run.Loop[E, D]{Act: w.act, Durable: &d}
	if err := w.suite.Drive(ctx, &l, "run", "about", m); err != nil {
		return fmt.Errorf("run ended: %w", err)
	}
	w.done, w.state = true, w.suite.State(m)
	return nil
}

var errEndless = errors.New("the machine asks for effects without end")

func (w *world[E, D]) act(_ context.Context, d D) (event E, err error) {
	if w.effects++; w.effects > maxEffects {
		return event, errEndless
	}
	w.touch()
	event = w.suite.Act(d)
	if w.suite.Durable.Care(d) == run.Once {
		key := w.suite.Durable.Key(d)
		w.happened[key]++
		w.answers[key] = event
	}
	w.touch()
	return event, nil
}

func (w *world[E, D]) lookup(_ context.Context, key string) (event E, known run.Known, err error) {
	event, happened := w.answers[key]
	switch {
	case w.plan.memory == forgets:
		return event, run.Unknown, nil
	case happened:
		return event, run.Found, nil
	case w.plan.memory == isSure:
		return event, run.Absent, nil
	}
	return event, run.Unknown, nil
}

// memory is a journal whose disk is a slice.
type memory struct {
	touch   func()
	records []run.Record
	synced  int
}

// Enter returns all records: the suite has one run.
func (m *memory) Enter(string) ([]run.Record, error) {
	return m.records[:len(m.records):len(m.records)], nil
}

// Leave does nothing.
func (m *memory) Leave(string) {}

// Append keeps a copy of the record.
func (m *memory) Append(r run.Record) (int64, error) {
	m.touch()
	r.Event = bytes.Clone(r.Event)
	m.records = append(m.records, r)
	m.touch()
	return int64(len(m.records)), nil
}

// Sync marks the records up to position as safe.
func (m *memory) Sync(position int64) error {
	m.touch()
	m.synced = max(m.synced, int(position))
	m.touch()
	return nil
}

// crash is what the disk holds afterwards.
func (m *memory) crash(powerCut bool) {
	if powerCut {
		m.records = m.records[:m.synced]
	}
	m.synced = len(m.records)
}

// doubts returns the keys of effects that were reported as uncertain.
func (m *memory) doubts() map[string]bool {
	keys := map[string]bool{}
	for _, r := range m.records {
		if r.Kind == run.Doubt {
			keys[r.Key] = true
		}
	}
	return keys
}
