package meter

import (
	"context"
	"strings"
	"time"

	"assay/conductor/episode"
	"assay/core/fault"
	"assay/core/limit"
	"assay/core/money"
	"assay/core/text"
)

// Bounds in bytes.
const (
	maxText  = 2 << 20 // of an answer that is kept: whatever escapes do to it, it fits a line
	maxName  = 256     // of a served model's or a provider's name
	maxModel = 4 << 10 // of a model's id
)

// answerTooLong is the failure of a call whose answer exceeds maxText.
const answerTooLong = "answer_too_long: the answer exceeds 2 MiB"

// held is room for one call.
type held struct {
	hold   *limit.Hold
	amount money.Pico
}

// reserve takes room for a call: its price, at most what is left; everything that is left when no price is known. It waits
// while others hold what is needed. A nil hold means that the account's money is gone.
func (a *Arm) reserve(ctx context.Context, id string, price func() (money.Pico, bool)) (*held, error) {
	w := a.window
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := a.lost[id]; h != nil {
		delete(a.lost, id)
		a.account.lost -= h.amount
		return h, nil
	}
	var timer *time.Timer
	for {
		if h := a.account.take(price()); h != nil {
			return h, nil
		}
		if !a.account.heldByOthers() {
			return nil, nil
		}
		if timer == nil {
			timer = time.NewTimer(PriceWait)
			defer timer.Stop()
		}
		changed := w.changed
		w.mu.Unlock()
		err := wait(ctx, changed, timer.C)
		w.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
}

func wait(ctx context.Context, changed <-chan struct{}, late <-chan time.Time) error {
	select {
	case <-changed:
		return nil
	case <-late:
		return Congested.With(fault.Int("waited_seconds", int64(PriceWait/time.Second)))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take holds the price, or what is left, or all that is left where no price is known. It returns nil when nothing is left.
func (a *account) take(price money.Pico, known bool) *held {
	if a.limited {
		left := a.ledger.Left().Money
		switch {
		case left <= 0:
			return nil
		case !known || price > left:
			price = left
		}
	}
	h, err := a.ledger.Hold(limit.Amount{Money: price}, 0)
	if err != nil {
		return nil
	}
	return &held{hold: h, amount: price}
}

// release gives a hold back: nothing was spent. w.mu is held.
func (a *Arm) release(h *held) {
	_ = h.hold.Settle(limit.Amount{}) // its first and only settlement
	a.window.freed()
}

// lose keeps room for a call whose result is not known, because somebody may have been paid: the highest price that is known of
// its model, what it held at most. Where no price is known the call held everything, and keeping that would end the arm for
// what is the owner's fault, so nothing is kept. w.mu is held, or nobody else knows w.
func (a *Arm) lose(id, model string, amount money.Pico) {
	amount = min(amount, a.window.prices[model])
	if amount == 0 {
		return
	}
	h, err := a.account.ledger.Hold(limit.Amount{Money: amount}, 0)
	if err != nil { // nothing is left that could be kept
		return
	}
	a.lost[id] = &held{hold: h, amount: amount}
	a.account.lost += amount
}

// freed tells who waits that money may have come free. w.mu is held.
func (w *Window) freed() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// clean makes what a worker said recordable: UTF-8 of bounded length, without the arm's provider key.
func (a *Arm) clean(e episode.Event) episode.Event {
	e.Text = a.hidden(e.Text)
	e.Served, e.Provider = text.Clip(a.hidden(e.Served), maxName), text.Clip(a.hidden(e.Provider), maxName)
	e.TokensIn, e.TokensOut = max(0, e.TokensIn), max(0, e.TokensOut)
	if len(e.Text) > maxText {
		e.Text = answerTooLong
		if e.Told == episode.Answered {
			e.Told = episode.Failed
		}
	}
	return e
}

func (a *Arm) hidden(s string) string {
	a.window.mu.Lock()
	r := a.redactor
	a.window.mu.Unlock()
	s = strings.ToValidUTF8(s, "\ufffd")
	if r != nil {
		s = r.Redact(s)
	}
	return s
}
