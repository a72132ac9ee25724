package view

// Count is a named number.
type Count struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// DevKit is the report of one Conductor over one slice.
type DevKit struct {
	World        string   `json:"world"`
	Conductor    string   `json:"conductor"`
	StandIn      bool     `json:"stand_in"` // no Conductor was given: the cheapest policy stands in
	Profile      string   `json:"profile"`
	Nonce        string   `json:"nonce"`
	Schedule     string   `json:"schedule_digest"`
	Instructions string   `json:"instructions_sha256"`
	Admission    string   `json:"admission,omitzero"`
	Tasks        int      `json:"tasks"`
	Benchmarks   int      `json:"benchmarks"`
	Models       int      `json:"models"`
	PrefixTokens int      `json:"catalog_tokens_estimated"`
	BudgetUSD    *float64 `json:"budget_usd"`

	Failures   Failures    `json:"failure_modes"`
	Score      Score       `json:"score"`
	Costs      []ModelCost `json:"cost_per_model"`
	Grading    Grading     `json:"grading"`
	References []Reference `json:"references"`
	Duels      []Duel      `json:"duels"`
	NoDuel     string      `json:"no_duel,omitzero"` // why there is none
	Decisions  []Decision  `json:"decisions"`
	Omitted    int         `json:"decisions_omitted"`
}

// Failures is what went wrong, with zeros shown.
type Failures struct {
	Turns         int     `json:"turns"`
	ParseFailures int     `json:"parse_failures"`
	ByClass       []Count `json:"parse_failures_by_class"`
	Endings       []Count `json:"endings"`
	Calls         int     `json:"worker_delegates"`
	Failed        int     `json:"worker_failures"`
	Refused       int     `json:"meter_refusals"`
	Uncertain     int     `json:"uncertain_calls"`
	Void          int     `json:"infrastructure_failures"` // tasks whose grading or reading failed
	Reasons       []Count `json:"worker_failure_reasons"`
	Reason        Reason  `json:"reason"`
}

// Reason sums up the tokens of reasoning.
type Reason struct {
	Cap     int     `json:"cap"`
	Max     int     `json:"max"`
	Mean    float64 `json:"mean"`
	Over    int     `json:"over_cap"`
	Sources []Count `json:"sources"`
}

// Score is the arm's account.
type Score struct {
	Lines      []ScoreLine `json:"benchmarks"`
	Quality    float64     `json:"quality"` // mean of the benchmarks in Lines
	MeanUSD    float64     `json:"usd_per_task"`
	Final      *float64    `json:"final"` // nil without an exchange rate
	TotalUSD   float64     `json:"total_usd"`
	Estimated  int         `json:"estimated_costs"` // calls whose cost is tokens times list price
	Unfinished int         `json:"tasks_not_reached"`
}

// ScoreLine is one benchmark.
type ScoreLine struct {
	Benchmark string   `json:"benchmark"`
	N         int      `json:"n"`
	Quality   float64  `json:"quality"`
	USD       float64  `json:"usd_per_task"`
	Final     *float64 `json:"final"`
	Excluded  []string `json:"excluded,omitzero"` // the guards that leave it out of scoring
	Recorded  int      `json:"recorded_scores"`   // tasks scored as recorded, because the metric is not computed here
}

// ModelCost is what one model was asked and what it cost.
type ModelCost struct {
	Model     string  `json:"model"`
	Calls     int     `json:"calls"`
	Succeeded int     `json:"succeeded"`
	Failed    int     `json:"failed"`
	USD       float64 `json:"usd"`
	TokensIn  int64   `json:"tokens_in"`
	TokensOut int64   `json:"tokens_out"`
	// RealisedUSD is dollars for a million tokens as charged, nil where no tokens were counted.
	RealisedUSD *float64 `json:"realised_usd_per_mtok"`
}

// Grading compares the scores computed here with the recorded ones, over every recorded answer of the slice.
type Grading struct {
	Regraded int           `json:"regraded"`
	Agree    int           `json:"agree"`
	Recorded int           `json:"as_recorded"` // answers whose metric is not computed here
	Metrics  []MetricAgree `json:"metrics"`
	Differ   []Differ      `json:"differ"`
}

// Differ is one recorded answer whose score computed here is not the recorded one.
type Differ struct {
	TaskID   string  `json:"task_id"`
	Model    string  `json:"model"`
	Metric   string  `json:"metric"`
	Recorded float64 `json:"recorded"`
	Computed float64 `json:"computed"`
}

// MetricAgree is the agreement of one metric.
type MetricAgree struct {
	Metric   string `json:"metric"`
	N        int    `json:"n"`
	Regraded int    `json:"regraded"` // answers whose score is computed here; the others count as recorded
	Agree    int    `json:"agree"`
}

// Reference is one fixed policy or bound on the same slice.
type Reference struct {
	Name     string   `json:"name"`
	Quality  float64  `json:"quality"`
	USD      float64  `json:"usd_per_task"`
	Final    *float64 `json:"final"`
	KingZero bool     `json:"king_zero"`
}

// Duel is what the four conditions say of the Conductor as challenger.
type Duel struct {
	Against    string     `json:"against"`
	Delta      float64    `json:"delta"`
	LCB        float64    `json:"lcb"`
	LOOMin     float64    `json:"loo_min"`
	LOODropped string     `json:"loo_dropped"`
	Median     float64    `json:"median"`
	Eps        float64    `json:"eps"`
	Conditions Conditions `json:"conditions"`
	Wins       bool       `json:"wins"`
	Detectable float64    `json:"smallest_detectable_delta"`
	Tasks      int        `json:"tasks"`
	Refused    string     `json:"refused,omitzero"` // why there is no verdict
}

// Conditions says which of a duel's four conditions are met.
type Conditions struct {
	Delta   bool `json:"delta"`
	LCB     bool `json:"lcb"`
	Breadth bool `json:"breadth"`
	Median  bool `json:"median"`
}

// Decision is one task and what was done with it.
type Decision struct {
	TaskID    string   `json:"task_id"`
	Benchmark string   `json:"benchmark"`
	Score     float64  `json:"score"`
	USD       float64  `json:"usd"`
	Ending    string   `json:"ending"`
	Reached   bool     `json:"reached"`
	Steps     []Choice `json:"steps"`
}

// Choice is one turn.
type Choice struct {
	Verb         string  `json:"verb"` // "" for a refused turn
	Model        string  `json:"model,omitzero"`
	Success      bool    `json:"success"`
	USD          float64 `json:"usd"`
	Failure      string  `json:"failure,omitzero"`
	ParseFailure string  `json:"parse_failure,omitzero"`
	Said         string  `json:"said,omitzero"`       // of a refused turn: its first 300 bytes
	Nearest      string  `json:"nearest_id,omitzero"` // for an unknown id: a hint, never a repair
}
