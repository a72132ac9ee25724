// Package view holds what people and programs are shown, built from the values of rules.
//
// Invariants:
//   - A view is data: the command line prints it as text or as JSON, and both say the same.
//   - Failure modes stand before scores, because a score is read differently when they are known.
//   - Foreign text reaches a terminal through text.Clean only.
package view

import (
	"assay/conductor/duel"
	"assay/conductor/score"
)

// Turn is one turn of a Conductor, read.
type Turn struct {
	Kind         string `json:"kind,omitzero"`
	Model        string `json:"model_id,omitzero"`
	Failure      string `json:"failure,omitzero"`
	Sentence     string `json:"sentence,omitzero"`
	Nearest      string `json:"nearest_id,omitzero"` // for an unknown id: a hint, never a repair
	ReasonTokens int    `json:"reason_tokens"`
	ReasonSource string `json:"reason_source"`
}

// Card is an arm's account.
type Card struct {
	Lines    []CardLine      `json:"benchmarks"`
	Quality  float64         `json:"quality"`
	Final    float64         `json:"final"`
	Excluded []string        `json:"excluded"`
	Exchange map[string]Rate `json:"exchange"`
}

// CardLine is one benchmark of a Card.
type CardLine struct {
	Benchmark string  `json:"benchmark"`
	N         int     `json:"n"`
	Quality   float64 `json:"quality"`
	Spend     float64 `json:"spend"`
	Final     float64 `json:"final"`
}

// Rate is a benchmark's exchange rate.
type Rate struct {
	Lam   float64  `json:"lam"`
	C     float64  `json:"c"`
	Flags []string `json:"flags"`
}

// CardOf shows a card and the rates it was made with.
func CardOf(c score.Card, ex score.Exchange) Card {
	out := Card{Quality: c.Quality, Final: c.Final, Exchange: map[string]Rate{}}
	for _, l := range c.Lines {
		out.Lines = append(out.Lines, CardLine(l))
	}
	for _, e := range c.Excluded {
		out.Excluded = append(out.Excluded, e.Benchmark)
	}
	for b, r := range ex {
		rate := Rate{Lam: r.Lam, C: r.C}
		for _, f := range r.Flags {
			rate.Flags = append(rate.Flags, string(f))
		}
		out.Exchange[b] = rate
	}
	return out
}

// Verdict is a duel's outcome in full.
type Verdict struct {
	Delta       float64       `json:"delta"`
	LCB         float64       `json:"lcb"`
	Eps         float64       `json:"eps"`
	LOOMin      float64       `json:"loo_min"`
	LOODropped  string        `json:"loo_dropped"`
	Median      float64       `json:"median"`
	SignWins    int           `json:"sign_wins"`
	SignP       float64       `json:"sign_p"`
	NTasks      int           `json:"n_tasks"`
	ByBenchmark []VerdictLine `json:"by_benchmark"`
	Conditions  Conditions    `json:"conditions"`
	Wins        bool          `json:"wins"`
	Detectable  float64       `json:"smallest_detectable_delta"`
	Excluded    []Excluded    `json:"excluded"`
}

// VerdictLine is one benchmark of a Verdict.
type VerdictLine struct {
	Benchmark  string  `json:"benchmark"`
	N          int     `json:"n"`
	Delta      float64 `json:"delta"`
	Counted    float64 `json:"counted"`
	LOO        float64 `json:"loo"`
	NoiseFloor float64 `json:"noise_floor"`
}

// Excluded is a task that left both arms.
type Excluded struct {
	TaskID string `json:"task_id"`
	Reason string `json:"reason"`
}

// VerdictOf shows a duel's result.
func VerdictOf(r duel.Result, excluded []duel.Exclusion) Verdict {
	out := Verdict{
		Delta: r.Delta, LCB: r.LCB, Eps: r.Eps, LOOMin: r.LOOMin, LOODropped: r.LOODropped, Median: r.Median,
		SignWins: r.SignWins, SignP: r.SignP, NTasks: r.NTasks, Conditions: Conditions(r.Conditions), Wins: r.Wins(), Detectable: r.Detectable(),
	}
	for _, l := range r.ByBenchmark {
		out.ByBenchmark = append(out.ByBenchmark, VerdictLine(l))
	}
	for _, e := range excluded {
		out.Excluded = append(out.Excluded, Excluded{e.TaskID, string(e.Reason)})
	}
	return out
}
