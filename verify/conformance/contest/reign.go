package contest

import (
	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/profile"
	"assay/conductor/reign"
	"assay/conductor/score"
	"assay/core/canon"
	"assay/verify/vector"
)

type adjudicateIn struct {
	Nonce       string  `json:"nonce"`
	King        []rowIn `json:"king"`
	Challengers []struct {
		Hotkey  string  `json:"hotkey"`
		Block   int64   `json:"block"`
		Results []rowIn `json:"results"`
	} `json:"challengers"`
	Failed   []string   `json:"failed"`
	Exchange exchangeIn `json:"exchange"`
	Tasks    []taskIn   `json:"tasks"`
	Results  []rowIn    `json:"results"`
}

func runAdjudicate(_ profile.Profile, op string, in jsontext.Value) (any, error) {
	v, err := vector.Read[adjudicateIn](in)
	if err != nil {
		return nil, err
	}
	switch op {
	case "adjudicate":
		out, err := reign.Adjudicate(v.window())
		if err != nil {
			return nil, err
		}
		return outcomeOut(out), nil
	case "king_too_thin":
		return reign.KingTooThin(armOf(v.Results)), nil
	}
	return nil, vector.UnknownOp(op)
}

func (v adjudicateIn) window() reign.Window {
	w := reign.Window{
		Nonce: v.Nonce, Tasks: sliceOf(v.Tasks), Exchange: v.Exchange.rates(), Failed: v.Failed, King: armOf(v.King),
	}
	for _, c := range v.Challengers {
		w.Challengers = append(w.Challengers, reign.Challenger{Hotkey: c.Hotkey, Block: c.Block, Rows: armOf(c.Results)})
	}
	return w
}

func outcomeOut(o reign.Outcome) canon.Object {
	rows := []any{}
	for _, j := range o.Judgements {
		rows = append(rows, judgementOut(j))
	}
	out := canon.Object{"crowned": vector.OrNull(o.Crowned), "rows": rows, "king_final": finalOut(o.KingCard), "king_rows": nil}
	if o.KingCard != nil {
		out["king_rows"] = o.KingCard.N()
	}
	return out
}

func judgementOut(j reign.Judgement) canon.Object {
	out := canon.Object{
		"hotkey": j.Hotkey, "eligible": j.Eligible, "reached": j.Reached, "clocked": j.Clocked, "exhausted": j.Exhausted,
		"verdict": nil, "refusals": nil, "final": finalOut(j.Card), "rematch": nil,
	}
	if j.Verdict != nil {
		out["verdict"], out["refusals"] = verdictOut(*j.Verdict), j.Verdict.Conditions.Refused()
	}
	if r := j.Rematch; r != nil {
		rematch := canon.Object{"incumbent": r.Incumbent, "clears": r.Clears(), "delta": nil, "refusals": nil}
		if r.Verdict != nil {
			rematch["delta"], rematch["refusals"] = r.Verdict.Delta, r.Verdict.Conditions.Refused()
		}
		out["rematch"] = rematch
	}
	return out
}

// finalOut is a card's final, or null where there is no card.
func finalOut(c *score.Card) any {
	if c == nil {
		return nil
	}
	return c.Final
}

func runEmissions(_ profile.Profile, op string, in jsontext.Value) (any, error) {
	v, err := vector.Read[struct {
		Coronations []string       `json:"coronations"`
		King        string         `json:"king"`
		Hotkeys     map[int]string `json:"hotkeys"`
		BurnUID     int            `json:"burn_uid"`
		KingZeroUID *int           `json:"king_zero_uid"`
	}](in)
	if err != nil {
		return nil, err
	}
	if op != "emissions" {
		return nil, vector.UnknownOp(op)
	}
	pay := reign.Emissions(reign.Court{
		Coronations: v.Coronations, King: v.King, Live: v.Hotkeys, BurnUID: v.BurnUID, KingZeroUID: v.KingZeroUID,
	})
	weights := []any{}
	for _, w := range pay.Weights {
		weights = append(weights, []any{w.UID, w.Share})
	}
	return canon.Object{"weights": weights, "pensioners": pay.Pensioners}, nil
}
