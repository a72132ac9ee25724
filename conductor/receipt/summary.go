package receipt

import "assay/core/canon"

// Summary is what is published of an arm's metering.
type Summary struct {
	Audited
	Duel      string
	Payer     string // hotkey of the account that paid; "" for the owner
	OwnKey    bool   // paid with the miner's own provider key
	Unfunded  int    // calls and replays that were refused: the allowance was gone, or the provider's account not funded
	Exhausted bool   // the account's money is gone
}

// Object returns the summary's members, dollars as exact decimals.
func (s Summary) Object() canon.Object {
	ok, reason := s.Scoreable()
	d, err := ParseDuel(s.Duel)
	if err != nil {
		d.Arm = s.Duel
	}
	return canon.Object{
		"arm": d.Arm, "duel_id": s.Duel, "payer": s.Payer, "scoreable": ok, "reason": string(reason),
		"metered_usd": canon.Raw(s.Metered.AppendDollars(nil)), "recorded_usd": canon.Raw(s.Recorded.AppendDollars(nil)),
		"charged_usd": canon.Raw(s.Metered.AppendDollars(nil)), "provider_usd": canon.Raw(s.Provider.AppendDollars(nil)),
		"calls": s.Calls, "hits": s.Hits, "fills": s.Fills, "unfunded_calls": s.Unfunded, "exhausted": s.Exhausted, "own_key": s.OwnKey,
	}
}
