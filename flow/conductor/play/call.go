package play

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/worker"
	"assay/run"
)

// Table shares the draws of a window between its arms: the first buyer of a key fills it, all others are served its row.
// It is safe for concurrent use.
type Table interface {
	// Claim returns the row of a key, or nil: then the caller alone may fill it and must call Fill or Release. Whoever
	// else wants the key waits until then.
	Claim(ctx context.Context, k outcome.Key) (*outcome.Row, error)
	// Hit counts a row that was served and charged.
	Hit(k outcome.Key)
	// Fill stores the row; it is durable when Fill returns.
	Fill(k outcome.Key, r outcome.Row) error
	// Release gives a claim back that came to no outcome.
	Release(k outcome.Key)
}

// Meter pays what an arm uses. It is safe for concurrent use.
type Meter interface {
	// Call makes a live call under a hold. id is the call's execution id within the arm. When the allowance is gone the
	// event is Refused and nothing is sent.
	Call(ctx context.Context, id string, r worker.Request, send func(context.Context) (episode.Event, error)) (episode.Event, error)
	// Replay charges a stored row. refused is "" or why the meter says no: then the step fails at no cost and is no hit.
	Replay(ctx context.Context, id string, r worker.Request, k outcome.Key, row outcome.Row) (refused string, err error)
	// Find returns the event of a call that is on record, so that a paid call is never made again.
	Find(id string) (episode.Event, bool)
	// Sent reports whether a call without a result may have been sent; false is certain.
	Sent(id string) bool
}

// Idempotent workers may be asked again under the same id: an answer that was given once is given again and not paid
// again. Only they can be asked after a crash what became of a call.
type Idempotent interface {
	Workers
	CallAs(ctx context.Context, id string, r worker.Request) (episode.Event, error)
}

// CallID is a call's execution id within its arm: the task's place in the slice, the step, the call of the delegate's read
// loop, all from 0.
func CallID(place, step, call int) string {
	return strconv.Itoa(place) + "/" + strconv.Itoa(step) + "/" + strconv.Itoa(call)
}

func (p *player) callID(d episode.Effect) string {
	return CallID(p.place, d.Step, len(d.Request.Observations()))
}

// call serves a call from the table or makes it.
func (p *player) call(ctx context.Context, d episode.Effect) (episode.Event, error) {
	if p.Table == nil || len(d.Request.Observations()) > 0 {
		return p.buy(ctx, d)
	}
	p.release() // of an attempt before this one that came to no outcome
	row, err := p.Table.Claim(ctx, d.Key)
	switch {
	case err != nil:
		return episode.Event{}, fmt.Errorf("claiming a draw: %w", err)
	case row == nil:
		key := d.Key
		p.claim = &key
		return p.buy(ctx, d)
	}
	return p.replay(ctx, d, row)
}

// replay charges a stored row and serves it.
func (p *player) replay(ctx context.Context, d episode.Effect, row *outcome.Row) (episode.Event, error) {
	if p.Meter != nil {
		refused, err := p.Meter.Replay(ctx, p.callID(d), d.Request, d.Key, *row)
		if err != nil {
			return episode.Event{}, fmt.Errorf("charging a replay: %w", err)
		}
		if refused != "" {
			return episode.Event{Told: episode.Refused, Text: refused}, nil
		}
	}
	p.Table.Hit(d.Key)
	return episode.Event{Told: episode.Replayed, Row: row}, nil
}

// buy makes a live call, under the meter where there is one.
func (p *player) buy(ctx context.Context, d episode.Effect) (episode.Event, error) {
	if p.Meter == nil {
		return p.metered(ctx, d.Request)
	}
	id := p.callID(d)
	return p.Meter.Call(ctx, id, d.Request, func(ctx context.Context) (episode.Event, error) { return p.send(ctx, id, d.Request) })
}

func (p *player) send(ctx context.Context, id string, r worker.Request) (episode.Event, error) {
	var e episode.Event
	var err error
	if w, ok := p.Workers.(Idempotent); ok {
		e, err = w.CallAs(ctx, p.ID+"/"+id, r)
	} else {
		e, err = p.Workers.Call(ctx, r)
	}
	e.Text, e.Served, e.Provider = utf8Text(e.Text), utf8Text(e.Served), utf8Text(e.Provider)
	return e, err
}

// fill stores what a delegate gave, with the calls that bought it.
func (p *player) fill(d episode.Effect) (episode.Event, error) {
	row := *d.Row
	if p.Meter != nil {
		for call := range len(row.Observations) + 1 {
			row.ReceiptIDs = append(row.ReceiptIDs, p.ID+"/"+CallID(p.place, d.Step-1, call))
		}
	}
	if err := p.Table.Fill(d.Key, row); err != nil {
		return episode.Event{}, fmt.Errorf("filling a draw: %w", err)
	}
	p.claim = nil
	return episode.Event{Told: episode.Filled}, nil
}

// release gives back a claim that came to no outcome.
func (p *player) release() {
	if p.claim != nil {
		p.Table.Release(*p.claim)
		p.claim = nil
	}
}

// lookup finds what became of a call that was begun before a crash: on the meter's record; else it counts as never begun
// where the meter knows that it was not sent, or the workers may be asked again under the same id.
func (p *player) lookup(_ context.Context, key string) (episode.Event, run.Known, error) {
	step, rest, _ := strings.Cut(key, "/call/")
	call, _, _ := strings.Cut(rest, "/")
	if p.Meter != nil {
		id := strconv.Itoa(p.place) + "/" + step + "/" + call
		if e, ok := p.Meter.Find(id); ok {
			e.Now = p.elapsed()
			return e, run.Found, nil
		}
		if _, ok := p.Workers.(Idempotent); ok || !p.Meter.Sent(id) {
			return episode.Event{}, run.Absent, nil
		}
	}
	return episode.Event{}, run.Unknown, nil
}
