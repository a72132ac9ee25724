package contest

import (
	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/ending"
	"assay/conductor/profile"
	"assay/conductor/score"
	"assay/core/canon"
	"assay/verify/vector"
)

// rowIn is one episode's result as vectors write it.
type rowIn struct {
	TaskID    string  `json:"task_id"`
	Benchmark string  `json:"benchmark"`
	Score     float64 `json:"score"`
	Spend     float64 `json:"spend"`
	Reason    string  `json:"reason"` // "" is stop
}

func armOf(rows []rowIn) []score.Row {
	out := make([]score.Row, len(rows))
	for i, r := range rows {
		how := ending.Stop
		if r.Reason != "" {
			how = ending.Ending(r.Reason)
		}
		out[i] = score.Row{TaskID: r.TaskID, Benchmark: r.Benchmark, Score: r.Score, Spend: r.Spend, Ending: how}
	}
	return out
}

// exchangeIn is an exchange as vectors write it.
type exchangeIn map[string]struct {
	Lam   float64      `json:"lam"`
	C     float64      `json:"c"`
	Flags []score.Flag `json:"flags"`
}

func (e exchangeIn) rates() score.Exchange {
	out := make(score.Exchange, len(e))
	for benchmark, r := range e {
		out[benchmark] = score.Rate{Lam: r.Lam, C: r.C, Flags: r.Flags}
	}
	return out
}

func ratesOut(e score.Exchange) canon.Object {
	out := make(canon.Object, len(e))
	for benchmark, r := range e {
		out[benchmark] = canon.Object{"lam": r.Lam, "c": r.C, "flags": flagsOut(r.Flags)}
	}
	return out
}

func flagsOut(flags []score.Flag) []any {
	out := make([]any, len(flags))
	for i, f := range flags {
		out[i] = string(f)
	}
	return out
}

// taskIn is what the statistics need of a task as vectors write it.
type taskIn struct {
	ID        string `json:"task_id"`
	Benchmark string `json:"benchmark"`
	Group     string `json:"group"` // null is none
}

func sliceOf(tasks []taskIn) []score.Task {
	out := make([]score.Task, len(tasks))
	for i, t := range tasks {
		out[i] = score.Task(t)
	}
	return out
}

func runScoreArm(_ profile.Profile, op string, in jsontext.Value) (any, error) {
	v, err := vector.Read[struct {
		Results  []rowIn    `json:"results"`
		Observed []rowIn    `json:"observed"`
		Tasks    []taskIn   `json:"tasks"`
		Exchange exchangeIn `json:"exchange"`
		Excluded []string   `json:"excluded"`
	}](in)
	if err != nil {
		return nil, err
	}
	switch op {
	case "score_arm":
		card, err := score.Of(armOf(v.Results), v.Exchange.rates())
		if err != nil {
			return nil, err
		}
		return cardOut(card), nil
	case "ceiling":
		return score.Ceiling(armOf(v.Observed), sliceOf(v.Tasks), v.Exchange.rates(), v.Excluded)
	}
	return nil, vector.UnknownOp(op)
}

func cardOut(card score.Card) canon.Object {
	lines, excluded := []any{}, []any{}
	for _, l := range card.Lines {
		lines = append(lines, canon.Object{"benchmark": l.Benchmark, "n": l.N, "quality": l.Quality, "spend": l.Spend, "final": l.Final})
	}
	for _, e := range card.Excluded {
		excluded = append(excluded, []any{e.Benchmark, flagsOut(e.Flags)})
	}
	return canon.Object{"per_benchmark": lines, "quality": card.Quality, "final": card.Final, "excluded": excluded}
}

func runExchange(_ profile.Profile, op string, in jsontext.Value) (any, error) {
	v, err := vector.Read[struct {
		Cheapest []rowIn            `json:"cheapest"`
		Top      []rowIn            `json:"top"`
		Arms     map[string][]rowIn `json:"arms"`
	}](in)
	if err != nil {
		return nil, err
	}
	switch op {
	case "exchange":
		e, err := score.Fit(armOf(v.Cheapest), armOf(v.Top))
		if err != nil {
			return nil, err
		}
		return ratesOut(e), nil
	case "fit_pool":
		arms := make(map[string][]score.Row, len(v.Arms))
		for policy, rows := range v.Arms {
			arms[policy] = armOf(rows)
		}
		pool, err := score.FitPool(arms)
		if err != nil {
			return nil, err
		}
		return canon.Object{"king_zero": pool.KingZero, "floor": pool.Floor, "top": pool.Top, "exchange": ratesOut(pool.Exchange)}, nil
	}
	return nil, vector.UnknownOp(op)
}
