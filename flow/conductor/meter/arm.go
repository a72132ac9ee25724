package meter

import (
	"context"

	"assay/conductor"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/receipt"
	"assay/conductor/worker"
	"assay/core/fault"
	"assay/core/limit"
	"assay/core/money"
	"assay/core/secret"
)

// Arm is what one arm is metered with. It is safe for concurrent use. Make it with Window.Bind.
type Arm struct {
	Binding
	window   *Window
	account  *account
	redactor *secret.Redactor

	// Guarded by window.mu; the maps are nil once the arm is closed.
	known     map[string]*past // calls and refusals on record, by call id
	charged   map[string]bool  // replays on record
	underWay  map[string]bool  // calls and replays that are being made
	sent      map[string]bool  // calls whose hold is on record: something may have been sent
	lost      map[string]*held // holds of calls whose result is not known
	metered   money.Pico
	unfunded  int
	exhausted bool // a call or replay was refused because the account's money is gone
	closed    bool
}

// Find returns the event of a call that is on record, or of a refusal; its Now is zero. A closed arm finds nothing.
func (a *Arm) Find(id string) (episode.Event, bool) {
	a.window.mu.Lock()
	defer a.window.mu.Unlock()
	e, err := a.event(a.full(id))
	if e == nil || err != nil { // Sent says that something is on record
		return episode.Event{}, false
	}
	return *e, true
}

// past is what is on record of a call: its event, or where in the file it stands.
type past struct {
	event  *episode.Event
	at     int64
	length int
}

// event returns what is on record of a call, nil for nothing. a.window.mu is held.
func (a *Arm) event(id string) (*episode.Event, error) {
	p := a.known[id]
	if p == nil || p.event != nil {
		if p == nil {
			return nil, nil
		}
		return p.event, nil
	}
	e, err := a.window.readEvent(p, id)
	if err != nil {
		return nil, err
	}
	p.event = e
	return e, nil
}

// Sent reports whether a call may have been sent: its result or its hold is on record. False means that no process has sent
// it. A meter that was opened as Idempotent has no holds on record and cannot tell.
func (a *Arm) Sent(id string) bool {
	a.window.mu.Lock()
	defer a.window.mu.Unlock()
	return a.known[a.full(id)] != nil || a.sent[a.full(id)]
}

// full returns the id of a call within the window.
func (a *Arm) full(id string) string { return a.Duel + "/" + id }

// Call makes a live worker call under a hold. id is "<episode>/<step>/<call>". A call on record is answered from there
// and nothing is sent. What send gave is on disk when Call returns. The event is Refused, and nothing is sent, when the
// account's money is gone; while others merely hold it, Call waits, and after PriceWait fails as Congested. An error
// of send means that nothing is known: the hold stays taken, and only the same id gets it back.
func (a *Arm) Call(ctx context.Context, id string, r worker.Request, send func(context.Context) (episode.Event, error)) (episode.Event, error) {
	id, model := a.full(id), r.Model().String()
	past, err := a.begin(id, model, false)
	switch {
	case err != nil:
		return episode.Event{}, err
	case past != nil:
		return *past, nil
	}
	defer a.leave(id)
	h, err := a.reserve(ctx, id, func() (money.Pico, bool) { p, known := a.window.prices[model]; return p, known })
	switch {
	case err != nil:
		return episode.Event{}, err
	case h == nil:
		e := episode.Event{Told: episode.Refused, Text: NoAllowance}
		return e, a.refuse(id, e.Text, whyAllowance)
	}
	e, err := a.sending(ctx, id, r, h, send)
	if err != nil {
		a.window.mu.Lock()
		defer a.window.mu.Unlock()
		a.release(h)
		a.lose(id, model, h.amount)
		return episode.Event{}, err
	}
	return e, nil
}

// sending sends a call whose room is held, and writes down what it gave.
func (a *Arm) sending(ctx context.Context, id string, r worker.Request, h *held, send func(context.Context) (episode.Event, error)) (episode.Event, error) {
	if err := a.intend(id, r.Model().String(), h.amount); err != nil {
		return episode.Event{}, err
	}
	e, err := send(ctx)
	if err != nil {
		return episode.Event{}, err
	}
	e = a.clean(e)
	switch {
	case e.Told == episode.Refused:
		if err := a.refuse(id, e.Text, whyProvider); err != nil {
			return episode.Event{}, err
		}
		a.window.mu.Lock()
		a.release(h)
		a.window.mu.Unlock()
		return e, nil
	case e.Told != episode.Answered && e.Told != episode.Failed:
		return episode.Event{}, conductor.BadEvent.With(fault.Str("told", e.Told.String()))
	case e.Cost < 0:
		return episode.Event{}, conductor.BadCost.With(fault.Str("call", id), fault.Str("dollars", e.Cost.String()))
	}
	return e, a.record(h, receipt.Receipt{
		CallID: id, Duel: a.Duel, Hotkey: a.Hotkey, Model: r.Model().String(), PromptHash: receipt.BodyHash(r.Body()),
		ResponseHash: receipt.TextHash(e.Text), TokensIn: e.TokensIn, TokensOut: e.TokensOut, Cost: e.Cost,
		ServedModel: e.Served, Provider: e.Provider, Failed: e.Told == episode.Failed,
	}, op{Op: opCall, Text: e.Text})
}

// intend writes a call's hold down, unless it is on record already or need not be.
func (a *Arm) intend(id, model string, amount money.Pico) error {
	a.window.mu.Lock()
	known := a.window.set.Idempotent || a.sent[id]
	a.window.mu.Unlock()
	if known {
		return nil
	}
	if err := a.window.write(op{Op: opHold, ID: id, Model: model, Amount: amount}); err != nil {
		return err
	}
	a.window.mu.Lock()
	defer a.window.mu.Unlock()
	a.sent[id] = true
	return nil
}

// Replay charges a stored row. refused is "" or why the meter says no; then nothing is charged. A replay on record is not
// charged again. It is a debit like a call's, of the row's cost, and calls nobody.
func (a *Arm) Replay(ctx context.Context, id string, r worker.Request, k outcome.Key, row outcome.Row) (refused string, err error) {
	if row.Cost < 0 {
		return "", conductor.BadCost.With(fault.Str("task_id", k.Task), fault.Str("model", k.Model))
	}
	digest, err := a.window.set.RowDigest(k, row)
	if err != nil {
		return "", err
	}
	id = a.full(id)
	past, err := a.begin(id, k.Model, true)
	switch {
	case err != nil:
		return "", err
	case past != nil:
		return past.Text, nil
	}
	defer a.leave(id)
	h, err := a.reserve(ctx, id, func() (money.Pico, bool) { return row.Cost, true })
	switch {
	case err != nil:
		return "", err
	case h == nil:
		return NoAllowance, a.refuse(id, NoAllowance, whyAllowance)
	}
	text := row.Text
	if row.Failed {
		text = row.Failure
	}
	err = a.record(h, receipt.Receipt{
		CallID: id, Duel: a.Duel, Hotkey: a.Hotkey, Model: k.Model, PromptHash: receipt.BodyHash(r.Body()),
		ResponseHash: receipt.TextHash(text), TokensIn: max(0, row.TokensIn), TokensOut: max(0, row.TokensOut), Cost: row.Cost,
		ServedModel: row.ServedModel, Provider: row.Provider, Failed: row.Failed, Replayed: true, Row: digest,
	}, op{Op: opCharge})
	if err != nil {
		a.window.mu.Lock()
		defer a.window.mu.Unlock()
		a.release(h) // nothing was paid
	}
	return "", err
}

// replayCharged is what begin returns for a replay that is on record.
var replayCharged = episode.Event{Told: episode.Replayed}

// begin returns what is on record of an id, or enters it as under way.
func (a *Arm) begin(id, model string, replay bool) (*episode.Event, error) {
	if _, err := receipt.ParsePlace(id); err != nil {
		return nil, err
	}
	if len(model) > maxModel {
		return nil, conductor.BadReceipt.With(fault.Str("member", "model"))
	}
	a.window.mu.Lock()
	defer a.window.mu.Unlock()
	if a.closed {
		return nil, Closed.With(fault.Str("duel", a.Duel))
	}
	past, err := a.event(id)
	switch {
	case err != nil:
		return nil, err
	case replay && past != nil && past.Told != episode.Refused, !replay && a.charged[id]:
		return nil, OtherKind.With(fault.Str("call", id))
	case past != nil:
		return past, nil
	case a.charged[id]:
		return &replayCharged, nil
	case a.underWay[id]:
		return nil, UnderWay.With(fault.Str("call", id))
	}
	a.underWay[id] = true
	return nil, nil
}

func (a *Arm) leave(id string) {
	a.window.mu.Lock()
	defer a.window.mu.Unlock()
	delete(a.underWay, id)
}

// record signs a receipt, brings it to disk as o, and settles its hold.
func (a *Arm) record(h *held, r receipt.Receipt, o op) error {
	r, err := r.Sign(a.window.set.Signer)
	if err != nil {
		return err
	}
	line, err := r.Append(nil)
	if err != nil {
		return err
	}
	o.Receipt = line[:len(line)-1]
	if err := a.window.write(o); err != nil {
		return err
	}
	a.window.mu.Lock()
	defer a.window.mu.Unlock()
	if err := h.hold.Settle(limit.Amount{Money: r.Cost}); err != nil {
		return err
	}
	a.settled(r, o.Text)
	a.window.freed()
	return nil
}

// settled takes up a receipt that is on disk.
func (a *Arm) settled(r receipt.Receipt, answer string) {
	a.metered = a.metered.Plus(r.Cost)
	a.account.owed = a.account.owed.Plus(r.Cost)
	if r.Replayed {
		a.charged[r.CallID] = true
		return
	}
	a.known[r.CallID] = &past{event: eventOf(r, answer)}
	a.window.priced(r.Model, r.Cost, r.Failed)
}

// eventOf is what a call on record gave.
func eventOf(r receipt.Receipt, answer string) *episode.Event {
	e := &episode.Event{
		Told: episode.Answered, Text: answer, Cost: r.Cost, TokensIn: r.TokensIn, TokensOut: r.TokensOut, Served: r.ServedModel, Provider: r.Provider,
	}
	if r.Failed {
		e.Told = episode.Failed
	}
	return e
}

// priced notes what a call of a model cost.
func (w *Window) priced(model string, cost money.Pico, failed bool) {
	if !failed || cost > 0 {
		w.prices[model] = max(w.prices[model], cost)
	}
}

// refuse writes a refusal down.
func (a *Arm) refuse(id, said, why string) error {
	if err := a.window.write(op{Op: opRefuse, ID: id, Text: said, Why: why}); err != nil {
		return err
	}
	a.window.mu.Lock()
	defer a.window.mu.Unlock()
	a.refused(id, said, why)
	return nil
}

// refused takes up a refusal that is on disk.
func (a *Arm) refused(id, said, why string) {
	a.known[id] = &past{event: &episode.Event{Told: episode.Refused, Text: said}}
	a.unfunded++
	a.exhausted = a.exhausted || why == whyAllowance
}

// Close ends the arm: it makes no further calls, and what they gave is forgotten here but for the receipts. Calls under way
// are UnderWay.
func (a *Arm) Close() error {
	a.window.mu.Lock()
	defer a.window.mu.Unlock()
	if a.closed {
		return nil
	}
	if len(a.underWay) > 0 {
		return UnderWay.With(fault.Str("duel", a.Duel))
	}
	if err := a.window.write(op{Op: opClose, Duel: a.Duel}); err != nil {
		return err
	}
	a.close()
	return nil
}

func (a *Arm) close() {
	a.closed = true
	a.known, a.charged, a.sent, a.underWay = nil, nil, nil, nil
}
