package round

import (
	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/submission"
	"assay/core/canon"
)

// RevealVersion is the version of a reveal.
const RevealVersion = 1

// Reveal is what a window decided, and what it rests on. Its record is signed and published.
type Reveal struct {
	V             int                  `json:"v"`
	Window        int64                `json:"window"`
	Nonce         string               `json:"nonce"`
	Benchmarks    []string             `json:"benchmarks"`
	NTasks        int                  `json:"n_tasks"`
	Freshness     jsontext.Value       `json:"freshness"`
	Power         *Power               `json:"power"`          // null: the gate was not judged
	GradersFailed []string             `json:"graders_failed"` // ids of all void tasks
	Void          []Void               `json:"void"`           // and why they are void
	KingHotkey    string               `json:"king_hotkey"`    // whose arm the king's was
	KingIsGenesis bool                 `json:"king_is_genesis"`
	King          *Card                `json:"king"` // over the published king's arm; null where no duel was judged
	Outcomes      []Outcome            `json:"outcomes"`
	Crowned       string               `json:"crowned"`     // hotkey of the window's winner; "" when the king stays
	CrownModel    string               `json:"crown_model"` // where its artifact is public
	Promotion     Promotion            `json:"promotion"`
	Deferral      string               `json:"deferral"`    // why no duel was held; "" where one was
	ReignEnded    string               `json:"reign_ended"` // why the king's reign ended without a winner; "" where it did not
	Reigns        string               `json:"reigns"`      // who reigns from now on; "" for the first policy
	Coronations   []string             `json:"coronations"` // oldest first, this window's included
	Pensioners    []string             `json:"pensioners"`
	Weights       []Weight             `json:"weights"`
	Metagraph     []Seat               `json:"metagraph"`
	Metering      []Meter              `json:"metering"`
	OutcomeTable  Draws                `json:"outcome_table"`
	Retest        []Draw               `json:"retest"`
	SeenUnseen    map[string]SeenShare `json:"seen_unseen"`
	Traces        []string             `json:"traces"`
}

// Power is the power gate's result.
type Power struct {
	Leader    string      `json:"leader"`
	Trailer   string      `json:"trailer"`
	Spread    canon.Float `json:"spread"`
	LCB       canon.Float `json:"lcb"`
	NTasks    int         `json:"n_tasks"`
	Separates bool        `json:"separates"`
}

// Card is an arm's account.
type Card struct {
	Benchmarks []CardLine  `json:"benchmarks"`
	Quality    canon.Float `json:"quality"`
	Final      canon.Float `json:"final"`
}

// CardLine is its account on one benchmark.
type CardLine struct {
	Benchmark string      `json:"benchmark"`
	N         int         `json:"n"`
	Quality   canon.Float `json:"quality"`
	Spend     canon.Float `json:"spend"`
	Final     canon.Float `json:"final"`
}

// Outcome is what became of one submission.
type Outcome struct {
	Hotkey      string            `json:"hotkey"`
	CommitBlock int64             `json:"commit_block"`
	Status      submission.Status `json:"status"`
	Detail      string            `json:"detail"`
	ShotSpent   bool              `json:"shot_spent"`
	Won         bool              `json:"won"`
	Eligible    bool              `json:"eligible"`
	Reached     int               `json:"reached"`
	Clocked     int               `json:"clocked"`
	Exhausted   int               `json:"exhausted"`
	Rematch     *Rematch          `json:"rematch"`
	Arm         *Card             `json:"arm"`
	Verdict     *Verdict          `json:"verdict"`
}

// Rematch is a later winner's duel against the holder of the crown.
type Rematch struct {
	Incumbent string   `json:"incumbent"`
	Clears    bool     `json:"clears"`
	Verdict   *Verdict `json:"verdict"`
}

// Verdict is a duel's.
type Verdict struct {
	Delta       canon.Float   `json:"delta"`
	LCB         canon.Float   `json:"lcb"`
	Eps         canon.Float   `json:"eps"`
	LOOMin      canon.Float   `json:"loo_min"`
	LOODropped  string        `json:"loo_dropped"`
	Median      canon.Float   `json:"median"`
	SignWins    int           `json:"sign_wins"`
	SignP       canon.Float   `json:"sign_p"`
	NTasks      int           `json:"n_tasks"`
	ByBenchmark []VerdictLine `json:"by_benchmark"`
	Conditions  []string      `json:"refused"` // the conditions that are not met
	Excluded    []Excluded    `json:"excluded"`
}

// VerdictLine is its account on one benchmark.
type VerdictLine struct {
	Benchmark string      `json:"benchmark"`
	N         int         `json:"n"`
	Delta     canon.Float `json:"delta"`
	Counted   canon.Float `json:"counted"`
	LOO       canon.Float `json:"loo"`
	Noise     canon.Float `json:"noise_floor"`
}

// Excluded is a task that left a duel.
type Excluded struct {
	Task   string `json:"task_id"`
	Reason string `json:"reason"`
}

// Promotion says whether the winner's artifact was made public. A crown counts from then on only.
type Promotion struct {
	Hotkey    string `json:"hotkey"`
	Forfeited string `json:"forfeited"` // why the crown fell; "" where it did not
}

// Weight is one uid's share.
type Weight struct {
	UID   int         `json:"uid"`
	Share canon.Float `json:"share"`
}

// Seat is who held a uid when the weights were made.
type Seat struct {
	UID    int    `json:"uid"`
	Hotkey string `json:"hotkey"`
}

// Meter is who paid an arm, and what, in dollars.
type Meter struct {
	Arm       string      `json:"arm"`
	Duel      string      `json:"duel_id"`
	Payer     string      `json:"payer"`
	Scoreable bool        `json:"scoreable"`
	Reason    string      `json:"reason"`
	Metered   canon.Float `json:"metered_usd"`
	Recorded  canon.Float `json:"recorded_usd"`
	Charged   canon.Float `json:"charged_usd"`
	Provider  canon.Float `json:"provider_usd"`
	Calls     int         `json:"calls"`
	Hits      int         `json:"hits"`
	Fills     int         `json:"fills"`
	Unfunded  int         `json:"unfunded_calls"`
	OwnKey    bool        `json:"own_key"`
}

// Draws sums up the outcome table.
type Draws struct {
	Rows        int         `json:"rows"`
	Fills       int         `json:"fills"`
	Hits        int         `json:"hits"`
	Failed      int         `json:"failed_rows"`
	FailureRate canon.Float `json:"failure_rate"`
	Provider    canon.Float `json:"provider_usd"`
}

// Draw is a draw that was bought again.
type Draw struct {
	Task    string      `json:"task_id"`
	Model   string      `json:"model_id"`
	Attempt int         `json:"attempt"`
	Stored  canon.Float `json:"stored_usd"`
	Cost    canon.Float `json:"cost_usd"`
	Drift   []string    `json:"drift"`
}

// SeenShare is the king's quality on tasks that earlier windows revealed, or on fresh ones.
type SeenShare struct {
	N       int         `json:"n"`
	Quality canon.Float `json:"quality"` // mean score; 0 without tasks
}

// Record returns the reveal as the record that is signed.
func (r *Reveal) Record() (canon.Object, error) { return canon.Record(r) }

// ParseReveal reads a reveal's record strictly. What it says is not checked: a machine that is fed the published rows
// makes the reveal again.
func ParseReveal(record canon.Object) (*Reveal, error) {
	text, err := canon.UTF8(record)
	if err != nil {
		return nil, err
	}
	r := &Reveal{}
	if err := canon.Unmarshal(text, r); err != nil {
		return nil, err
	}
	return r, nil
}
