package receipt

import (
	"assay/core/money"
	"assay/core/sign"
)

// Reason says why an arm's spending does not hold, "" for one that does. It is the owner's infrastructure that failed then.
type Reason string

// The reasons. For each receipt the first four are looked for in this order, then the sum's.
const (
	Sound        Reason = ""
	BadSignature Reason = "bad_gateway_signature"
	OtherDuel    Reason = "receipt_from_another_duel"
	OtherHotkey  Reason = "receipt_hotkey_mismatch"
	Doubled      Reason = "receipt_doubled"
	NotMetered   Reason = "spend_not_metered"
	// NoSpend is no flaw of receipts: the arm reached no worker that costs anything, so there is nothing to compare.
	NoSpend Reason = "no_spend"
)

// Account is what an arm's receipts are held against.
type Account struct {
	Duel     string
	Hotkey   string
	Key      sign.Key   // the gateway's, pinned
	Recorded money.Pico // what the arm's traces say it spent
}

// Sums adds up receipts.
type Sums struct {
	Metered  money.Pico // everything that was charged
	Provider money.Pico // what was paid to a provider: without replays
	Calls    int        // live calls
	Hits     int        // replays
	Fills    int        // delegates that were called live
}

// Audited is what an audit found.
type Audited struct {
	Sums
	Reason   Reason
	At       int // index of the receipt that gave the reason, or -1
	Recorded money.Pico
}

// OK reports whether every receipt holds and metered and recorded spend are equal to the pico-dollar.
func (a Audited) OK() bool { return a.Reason == Sound }

// Scoreable reports whether the arm can be scored: the audit holds and the arm spent something. Else it says why not.
func (a Audited) Scoreable() (bool, Reason) {
	if a.OK() && a.Metered == 0 {
		return false, NoSpend
	}
	return a.OK(), a.Reason
}

// Audit holds an arm's receipts, in any order, against its account. Sums are of all receipts, whatever the reason.
func Audit(acc Account, receipts []Receipt) Audited {
	out := Audited{Sums: Sum(receipts), At: -1, Recorded: acc.Recorded}
	seen := make(map[string]bool, len(receipts))
	for i, r := range receipts {
		if out.Reason = acc.refuse(r, seen); out.Reason != Sound {
			out.At = i
			return out
		}
		seen[r.CallID] = true
	}
	if out.Metered != acc.Recorded {
		out.Reason = NotMetered
	}
	return out
}

// refuse returns what is wrong with one receipt.
func (acc Account) refuse(r Receipt, seen map[string]bool) Reason {
	p, err := ParsePlace(r.CallID)
	switch {
	case !r.Signed(acc.Key):
		return BadSignature
	case err != nil || r.Duel != acc.Duel || p.Duel != acc.Duel:
		return OtherDuel
	case r.Hotkey != acc.Hotkey:
		return OtherHotkey
	case seen[r.CallID]:
		return Doubled
	}
	return Sound
}

// Sum adds receipts up. Sums saturate at money.Max.
func Sum(receipts []Receipt) Sums {
	var s Sums
	type delegate struct {
		duel          string
		episode, step int
	}
	filled := map[delegate]bool{}
	for _, r := range receipts {
		s.Metered = s.Metered.Plus(r.Cost)
		if r.Replayed {
			s.Hits++
			continue
		}
		s.Calls++
		s.Provider = s.Provider.Plus(r.Cost)
		if p, err := ParsePlace(r.CallID); err == nil {
			filled[delegate{p.Duel, p.Episode, p.Step}] = true
		}
	}
	s.Fills = len(filled)
	return s
}
