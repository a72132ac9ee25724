package run

import (
	"context"
	"errors"
	"fmt"

	"assay/core/fault"
	"assay/core/step"
)

// Care says what a crash may do to an effect.
type Care uint8

// The degrees of care.
const (
	// Repeatable effects write nothing and are carried out again in a replay: they must give the same event each time.
	Repeatable Care = iota
	// Recorded effects have their event written, so that a replay is told the same. One that a crash cut off is begun again.
	Recorded
	// Once is for what is paid or seen by others: intent before, event after, never begun again.
	Once
)

// Known says what a lookup knows of an effect that was about to begin when the process ended.
type Known uint8

// What may be known. The zero value knows nothing, so that a careless lookup repeats nothing.
const (
	Unknown Known = iota // it may or may not have happened: the machine is told the Uncertain event
	Absent               // it is certain that it never began, nor will: it is begun now
	Found                // it happened, and this is its event
)

// Durable is what a loop needs to survive a crash.
type Durable[E, D any] struct {
	Journal Journal
	// Care says how an effect is treated. It must be a function of the effect.
	Care func(effect D) Care
	// Key is the effect's execution id: the same in a replay, different from every other key of the run. It is not
	// asked for Repeatable effects.
	Key func(effect D) string
	// Lookup says what became of an effect whose intent was written and whose result was not, by its key: Found gives its
	// event, Absent promises that it never began, so that it is begun now. A nil Lookup knows nothing.
	Lookup func(ctx context.Context, key string) (event E, known Known, err error)
	// Uncertain is the event of an effect that may or may not have happened.
	Uncertain func(effect D) E
	// AppendEvent appends an event as one line of JSON; ParseEvent reads it back.
	AppendEvent func(dst []byte, event E) ([]byte, error)
	ParseEvent  func(text []byte) (E, error)
}

// course is one durable run under way.
type course[E, D any] struct {
	*Durable[E, D]
	act   func(context.Context, D) (E, error)
	id    string
	past  []Record        // what the journal held at the start; the machine is fed from it first
	next  int             // first of past that was not used yet
	keys  map[string]bool // keys of this run so far
	last  int64           // position of the newest record of this run
	dirty bool            // that record may not be on disk yet
	owed  bool            // the result of an effect that must not happen twice may not be on disk yet
	text  []byte          // scratch for one event
}

func (l *Loop[E, D]) runDurable(ctx context.Context, id, about string, m step.Machine[E, D]) error {
	c := &course[E, D]{Durable: l.Durable, act: l.Act, id: id, keys: map[string]bool{}}
	past, err := c.Journal.Enter(id)
	if err != nil {
		return fmt.Errorf("entering run %q: %w", id, err)
	}
	defer c.Journal.Leave(id)
	if err := c.begin(past, about); err != nil {
		return err
	}
	err = l.drive(ctx, m, c.effect)
	if err == nil {
		err = c.end()
	}
	return errors.Join(err, c.sync())
}

// begin writes the run's first record, or checks the one that is there.
func (c *course[E, D]) begin(past []Record, about string) error {
	if len(past) == 0 {
		return c.append(Record{Kind: Begin, Key: about})
	}
	if past[0].Key != about {
		return OtherRun.With(fault.Str("run", c.id))
	}
	c.past, c.next = past, 1
	return nil
}

// end writes the run's last record, or checks that the journal ends there too.
func (c *course[E, D]) end() error {
	if c.next == len(c.past) {
		return c.append(Record{Kind: End})
	}
	_, err := c.recorded(End, "")
	return err
}

// effect carries out, replays or looks up one effect.
func (c *course[E, D]) effect(ctx context.Context, d D) (E, error) {
	var none E
	care := c.Care(d)
	if care == Repeatable {
		return c.act(ctx, d)
	}
	key := c.Key(d)
	if c.keys[key] {
		return none, KeyReused.With(fault.Str("run", c.id), fault.Str("key", key))
	}
	c.keys[key] = true
	if c.next < len(c.past) {
		return c.replay(ctx, d, key, care)
	}
	if care == Once {
		if err := c.append(Record{Kind: Intent, Key: key}); err != nil {
			return none, err
		}
	}
	return c.begun(ctx, d, key, care)
}

// begun acts and writes the result. An intent, where there is one, was appended before.
func (c *course[E, D]) begun(ctx context.Context, d D, key string, care Care) (E, error) {
	var none E
	if care == Once || c.owed { // the intent, and every result before it: asking may take long, and what was paid is not at risk for it
		if err := c.sync(); err != nil {
			return none, err
		}
	}
	event, err := c.act(ctx, d)
	if err != nil {
		return none, err
	}
	c.owed = c.owed || care == Once
	return event, c.result(Result, key, event)
}

// replay returns what the journal says of an effect; where it holds only the intent, the effect is looked up.
func (c *course[E, D]) replay(ctx context.Context, d D, key string, care Care) (E, error) {
	var none E
	if care == Once {
		if _, err := c.recorded(Intent, key); err != nil {
			return none, err
		}
		if c.next == len(c.past) {
			return c.reconcile(ctx, d, key, care)
		}
	}
	r, err := c.recorded(Result, key)
	if err != nil {
		return none, err
	}
	event, err := c.ParseEvent(r.Event)
	if err != nil {
		return none, fmt.Errorf("reading the recorded event of %q: %w", key, err)
	}
	return event, nil
}

// reconcile ends the doubt about an effect whose intent stands alone.
func (c *course[E, D]) reconcile(ctx context.Context, d D, key string, care Care) (E, error) {
	var none E
	if c.Lookup != nil {
		event, known, err := c.Lookup(ctx, key)
		switch {
		case err != nil:
			return none, fmt.Errorf("looking up %q: %w", key, err)
		case known == Found:
			return event, c.result(Result, key, event)
		case known == Absent:
			return c.begun(ctx, d, key, care)
		}
	}
	event := c.Uncertain(d)
	return event, c.result(Doubt, key, event)
}

// recorded takes the next record of the past, which must be of the kind and key that the machine asks for.
func (c *course[E, D]) recorded(kind Kind, key string) (Record, error) {
	r := c.past[c.next]
	c.next++
	if r.Key != key || r.Kind != kind && !(r.Kind == Doubt && kind == Result) {
		return Record{}, Diverged.With(fault.Str("run", c.id), fault.Str("asked", string(kind)+" "+key),
			fault.Str("recorded", string(r.Kind)+" "+r.Key))
	}
	return r, nil
}

func (c *course[E, D]) result(kind Kind, key string, event E) (err error) {
	if c.text, err = c.AppendEvent(c.text[:0], event); err != nil {
		return fmt.Errorf("writing the event of %q: %w", key, err)
	}
	return c.append(Record{Kind: kind, Key: key, Event: c.text})
}

// append writes a record behind the others. It is on disk after the next sync.
func (c *course[E, D]) append(r Record) (err error) {
	r.Run = c.id
	if c.last, err = c.Journal.Append(r); err != nil {
		return fmt.Errorf("journaling run %q: %w", c.id, err)
	}
	c.dirty = true
	return nil
}

// sync returns when everything that this run recorded is on disk.
func (c *course[E, D]) sync() error {
	if !c.dirty {
		return nil
	}
	if err := c.Journal.Sync(c.last); err != nil {
		return fmt.Errorf("journaling run %q: %w", c.id, err)
	}
	c.dirty, c.owed = false, false
	return nil
}
