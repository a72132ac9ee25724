package meter

import (
	"bytes"
	"slices"

	"assay/conductor/receipt"
	"assay/core/canon"
	"assay/core/money"
	"assay/run/lines"
)

// Left returns what the arm's account may still spend, without what is held; limited is false where nothing bounds it.
func (a *Arm) Left() (left money.Pico, limited bool) {
	a.window.mu.Lock()
	defer a.window.mu.Unlock()
	if !a.account.limited {
		return 0, false
	}
	return a.account.ledger.Left().Money, true
}

// Metered returns what the arm was charged so far.
func (a *Arm) Metered() money.Pico {
	a.window.mu.Lock()
	defer a.window.mu.Unlock()
	return a.metered
}

// Receipts reads the arm's receipts from the file, ordered by episode, step and call.
func (a *Arm) Receipts() ([]receipt.Receipt, error) {
	type placed struct {
		receipt.Place
		receipt.Receipt
	}
	var all []placed
	mark := []byte(`"duel":"` + a.Duel + `"`) // a duel's id needs no escapes; most lines are of other arms
	err := lines.ReadFile(a.window.path, format, func(_ int64, payload []byte) error {
		if !bytes.Contains(payload, mark) {
			return nil
		}
		var o op
		if err := canon.Strict(payload, &o); err != nil || o.Receipt == nil {
			return err
		}
		r, err := receipt.Parse(o.Receipt)
		if err != nil || r.Duel != a.Duel {
			return err
		}
		p, err := receipt.ParsePlace(r.CallID)
		all = append(all, placed{p, r})
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(x, y placed) int { return x.Compare(y.Place) })
	out := make([]receipt.Receipt, len(all))
	for i, r := range all {
		out[i] = r.Receipt
	}
	return out, nil
}

// Summary audits the arm's receipts against what its traces say it spent.
func (a *Arm) Summary(recorded money.Pico) (receipt.Summary, error) {
	receipts, err := a.Receipts()
	if err != nil {
		return receipt.Summary{}, err
	}
	left, limited := a.Left()
	a.window.mu.Lock()
	defer a.window.mu.Unlock()
	return receipt.Summary{
		Duel: a.Duel, Payer: a.Payer, OwnKey: a.OwnKey, Unfunded: a.unfunded, Exhausted: a.exhausted || limited && left == 0,
		Audited: receipt.Audit(receipt.Account{
			Duel: a.Duel, Hotkey: a.Hotkey, Key: a.window.set.Signer.Public(), Recorded: recorded,
		}, receipts),
	}, nil
}
