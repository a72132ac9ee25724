package meter

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/episode"
	"assay/conductor/receipt"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/limit"
	"assay/core/money"
	"assay/core/sign"
	"assay/run/lines"
)

// The lines of a window's file, in UTF-8 canonical JSON:
//
//	{"gateway":"…","op":"window","window":7}
//	{"duel":"w7-a-1","hotkey":"5F…","limit_pico":5000000000000,"limited":true,"op":"open","own_key":false,"payer":"5F…"}
//	{"amount_pico":31000000,"id":"w7-a-1/0/0/0","model":"a/b","op":"hold"}
//	{"op":"call","receipt":{…},"text":"Answer: C"}
//	{"op":"charge","receipt":{…}}
//	{"id":"w7-a-1/0/2/0","op":"refuse","text":"no allowance left","why":"allowance"}
//	{"duel":"w7-a-1","op":"close"}
const (
	opWindow = "window" // the first line: whose file it is
	opOpen   = "open"   // an arm is bound
	opHold   = "hold"   // room was taken; a call may follow
	opCall   = "call"   // a call had an outcome
	opCharge = "charge" // a replay was charged
	opRefuse = "refuse" // a call or a replay was refused
	opClose  = "close"  // an arm has ended
)

// Why a call was refused.
const (
	whyAllowance = "allowance" // the account's money is gone
	whyProvider  = "provider"  // the provider's account is not funded, or its key not known
)

// op is one line.
type op struct {
	Op      string         `json:"op"`
	Window  int64          `json:"window"`
	Gateway string         `json:"gateway"`
	Duel    string         `json:"duel"`
	Hotkey  string         `json:"hotkey"`
	Payer   string         `json:"payer"`
	Limit   money.Pico     `json:"limit_pico"`
	Limited bool           `json:"limited"`
	OwnKey  bool           `json:"own_key"`
	ID      string         `json:"id"`
	Model   string         `json:"model"`
	Amount  money.Pico     `json:"amount_pico"`
	Receipt jsontext.Value `json:"receipt"`
	Text    string         `json:"text"`
	Why     string         `json:"why"`
}

// payload returns the line's text: the members that belong to its kind.
func (o op) payload() ([]byte, error) {
	m := canon.Object{"op": o.Op}
	switch o.Op {
	case opWindow:
		m["window"], m["gateway"] = o.Window, o.Gateway
	case opOpen:
		m["duel"], m["hotkey"], m["payer"], m["own_key"] = o.Duel, o.Hotkey, o.Payer, o.OwnKey
		m["limit_pico"], m["limited"] = int64(o.Limit), o.Limited
	case opHold:
		m["id"], m["model"], m["amount_pico"] = o.ID, o.Model, int64(o.Amount)
	case opCall:
		m["receipt"], m["text"] = canon.Raw(o.Receipt), o.Text
	case opCharge:
		m["receipt"] = canon.Raw(o.Receipt)
	case opRefuse:
		m["id"], m["text"], m["why"] = o.ID, o.Text, o.Why
	case opClose:
		m["duel"] = o.Duel
	}
	return canon.UTF8(m)
}

// hold is room of a call whose result is not on record.
type hold struct {
	model  string
	amount money.Pico
}

// replayer takes up what a file holds.
type replayer struct {
	window *Window
	header bool
	open   map[string]hold // by call id
	at     int64           // where the line stands in the file
}

// take reads one line. What no meter writes is refused: the lines were whole, so it is not a torn write.
func (p *replayer) take(number int64, payload []byte) error {
	at := p.at
	p.at += lines.Lead + int64(len(payload)) + lines.Trail
	if p.header {
		if done, err := p.settled(at, payload); done || err != nil {
			if err != nil {
				err = BadLine.Because(err).With(fault.Int("line", number))
			}
			return err
		}
	}
	var o op
	if err := canon.Strict(payload, &o); err != nil {
		return BadLine.Because(err).With(fault.Int("line", number))
	}
	if !p.header {
		key, err := sign.ParseKey(o.Gateway)
		switch {
		case o.Op != opWindow || err != nil:
			return BadLine.With(fault.Int("line", number))
		case o.Window != p.window.set.Window || key != p.window.set.Signer.Public():
			return OtherWindow.With(fault.Int("window", o.Window), fault.Str("gateway", o.Gateway))
		}
		p.header = true
		return nil
	}
	if err := p.apply(o); err != nil {
		return BadLine.Because(err).With(fault.Int("line", number))
	}
	return nil
}

var (
	errArm     = errors.New("no such arm is open")
	errDoubled = errors.New("the call is on record already")
	errKind    = errors.New("no such kind of line")
)

func (p *replayer) apply(o op) error {
	switch o.Op {
	case opOpen:
		b := Binding{Duel: o.Duel, Hotkey: o.Hotkey, Payer: o.Payer, Limit: o.Limit, Limited: o.Limited, OwnKey: o.OwnKey}
		if p.window.arms[b.Duel] != nil {
			return errDoubled
		}
		if err := p.window.check(b); err != nil {
			return err
		}
		p.window.bind(b)
		return nil
	case opClose:
		a := p.window.arms[o.Duel]
		if a == nil {
			return errArm
		}
		a.close()
		return nil
	case opHold, opRefuse:
		a, err := p.arm(o.ID)
		if err != nil {
			return err
		}
		if o.Op == opHold {
			p.open[o.ID] = hold{o.Model, o.Amount}
			a.sent[o.ID] = true
			return nil
		}
		delete(p.open, o.ID)
		a.refused(o.ID, o.Text, o.Why)
		return nil
	}
	return errKind
}

// Heads of the lines that a large file is made of.
var (
	callHead   = []byte(`{"op":"call","receipt":{"call_id":"`)
	chargeHead = []byte(`{"op":"charge","receipt":{"call_id":"`)
)

// settled takes up a call or a charge by what accounts need of it; the rest is read when somebody asks for the call. done is
// false for every other line.
func (p *replayer) settled(at int64, payload []byte) (done bool, err error) {
	replayed := bytes.HasPrefix(payload, chargeHead)
	if !replayed && !bytes.HasPrefix(payload, callHead) {
		return false, nil
	}
	id, model := canon.Text(jsontext.Value(canon.Peek(payload, "call_id"))), canon.Text(jsontext.Value(canon.Peek(payload, "model")))
	cost, err := money.Parse(string(canon.Peek(payload, "cost_usd")))
	if err != nil {
		return true, err
	}
	a, err := p.arm(id)
	if err != nil {
		return true, err
	}
	delete(p.open, id)
	a.metered, a.account.owed = a.metered.Plus(cost), a.account.owed.Plus(cost)
	if replayed {
		a.charged[id] = true
		return true, nil
	}
	a.known[id] = &past{at: at + lines.Lead, length: len(payload)}
	p.window.priced(model, cost, string(canon.Peek(payload, "failed")) == "true")
	return true, nil
}

// readEvent reads what a call on record gave. w.mu is held.
func (w *Window) readEvent(p *past, id string) (*episode.Event, error) {
	text := make([]byte, p.length)
	if _, err := w.read.ReadAt(text, p.at); err != nil {
		return nil, fmt.Errorf("reading a call on record: %w", err)
	}
	var o op
	if err := canon.Strict(text, &o); err != nil {
		return nil, BadLine.Because(err).With(fault.Str("call", id))
	}
	r, err := receipt.Parse(o.Receipt)
	if err != nil {
		return nil, BadLine.Because(err).With(fault.Str("call", id))
	}
	if r.CallID != id || r.Replayed || receipt.TextHash(o.Text) != r.ResponseHash {
		return nil, BadLine.With(fault.Str("call", id))
	}
	return eventOf(r, o.Text), nil
}

// arm returns the arm of a call that is not on record yet.
func (p *replayer) arm(id string) (*Arm, error) {
	place, err := receipt.ParsePlace(id)
	if err != nil {
		return nil, err
	}
	a := p.window.arms[place.Duel]
	switch {
	case a == nil || a.closed:
		return nil, errArm
	case a.known[id] != nil || a.charged[id]:
		return nil, errDoubled
	}
	return a, nil
}

// finish makes the ledgers, and takes up the holds whose calls are not on record: somebody may have been paid. Each counts at the highest price
// that is known of its model, the hold at most; where no price is known it took everything, and nothing is counted.
func (p *replayer) finish() {
	for _, acc := range p.window.accounts {
		acc.ledger = limit.Resume(limit.Snapshot{Limits: acc.bound(), Spent: limit.Amount{Money: acc.owed}})
	}
	for id, h := range p.open {
		place, _ := receipt.ParsePlace(id)
		p.window.arms[place.Duel].lose(id, h.model, h.amount)
	}
}
