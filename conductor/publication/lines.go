package publication

import (
	"slices"

	"assay/conductor"
	"assay/conductor/score"
	"assay/conductor/task"
	"assay/core/canon"
	"assay/core/digest"
	"assay/core/fault"
	"assay/core/money"
)

// Version is the version of these lines.
const Version = 1

// Latest is the pointer to the newest window whose reveal is published.
type Latest struct {
	Window int64 `json:"window"`
}

// Rules are what a window is played and judged under, fixed before its slice is known.
type Rules struct {
	V            int                 `json:"v"`
	Instructions string              `json:"instructions"`     // the head of every prompt
	Aliases      map[string][]string `json:"aliases"`          // model id to the other names it may be served under
	Exchange     map[string]Rate     `json:"exchange"`         // by benchmark
	KingZero     string              `json:"king_zero"`        // the policy that reigns while nobody else does
	Contrast     string              `json:"contrast"`         // what the power gate sets against it
	GateTasks    int                 `json:"gate_tasks"`       // size of the power gate's subsample
	Duels        int                 `json:"duels"`            // challengers that are admitted in one window at most
	Allowance    string              `json:"allowance_usd"`    // what a challenger's arm and a king's may spend; "" is no bound
	Concurrency  int                 `json:"concurrency"`      // episodes of a batch
	Gateway      string              `json:"gateway"`          // hexadecimal key that signs receipts
	BurnUID      int                 `json:"burn_uid"`         // gets what nobody can be paid
	KingZeroUID  *int                `json:"king_zero_uid"`    // paid while the first policy reigns; null lets that share burn
	Reference    string              `json:"reference_sha256"` // digest of the inventory that trees are admitted by; "" for none
	Genesis      int64               `json:"genesis"`          // block that opens window 1
	WindowBlocks int64               `json:"window_blocks"`    // blocks of a window; the hash of the one that opens it is its nonce
}

// Rate is a benchmark's exchange rate.
type Rate struct {
	Lam   canon.Float  `json:"lam"`
	C     canon.Float  `json:"c"`
	Flags []score.Flag `json:"flags"`
}

// ExchangeOf writes an exchange down.
func ExchangeOf(e score.Exchange) map[string]Rate {
	out := make(map[string]Rate, len(e))
	for b, r := range e {
		out[b] = Rate{canon.Float(r.Lam), canon.Float(r.C), append([]score.Flag{}, r.Flags...)}
	}
	return out
}

// Rates returns the exchange.
func (r Rules) Rates() score.Exchange {
	out := make(score.Exchange, len(r.Exchange))
	for b, rate := range r.Exchange {
		out[b] = score.Rate{Lam: float64(rate.Lam), C: float64(rate.C), Flags: rate.Flags}
	}
	return out
}

// Bound returns what an arm may spend, and whether it is bounded at all.
func (r Rules) Bound() (money.Pico, bool, error) {
	if r.Allowance == "" {
		return 0, false, nil
	}
	p, err := money.Parse(r.Allowance)
	return p, true, err
}

// Serves reports whether a reply that names the model served may answer for the asked one.
func (r Rules) Serves(asked, served string) bool {
	return served == asked || slices.Contains(r.Aliases[asked], served)
}

// Digest returns the hexadecimal SHA-256 of the rules' line, which a strict window record signs.
func (r Rules) Digest() (string, error) {
	line, err := canon.Marshal(r)
	if err != nil {
		return "", err
	}
	return digest.HexOfBytes(line), nil
}

// Source is the first line of a window's catalog file: what the catalog was made from.
type Source struct {
	V       int    `json:"v"`
	Name    string `json:"source"`         // where the listing came from
	Payload string `json:"payload_sha256"` // digest of the listing's bytes; "" where there was no listing
	Rows    int    `json:"rows"`           // rows of the listing
	Dropped int    `json:"dropped"`        // further lines
}

// Dropped is a further line of it: a row of the listing that is no model of this window.
type Dropped struct {
	Row    int    `json:"row"`
	ID     string `json:"id"` // "" where none could be read
	Reason string `json:"reason"`
}

// Task is a line of the slice.
type Task struct {
	ID        string   `json:"task_id"`
	Benchmark string   `json:"benchmark"`
	Prompt    string   `json:"prompt"`
	Tools     []string `json:"tools"`
	Group     string   `json:"group"`
	Tree      string   `json:"tree_sha256"` // content address of the repository that reads look into; "" for none
}

// TaskOf writes a pinned task down.
func TaskOf(t task.Pinned) Task {
	return TaskOfSpec(task.Spec{ID: t.ID(), Benchmark: t.Benchmark(), Prompt: t.Prompt(), Tools: t.Tools(), Group: t.Group()})
}

// TaskOfSpec writes a task down.
func TaskOfSpec(t task.Spec) Task {
	return Task{ID: t.ID, Benchmark: t.Benchmark, Prompt: t.Prompt, Tools: append([]string{}, t.Tools...), Group: t.Group}
}

// Spec returns the task.
func (t Task) Spec() task.Spec {
	return task.Spec{ID: t.ID, Benchmark: t.Benchmark, Prompt: t.Prompt, Tools: t.Tools, Group: t.Group}
}

// Kind says what an arm is played for.
type Kind string

// The kinds.
const (
	Gate       Kind = "gate"       // a reference policy on the power gate's subsample
	King       Kind = "king"       // whoever reigns
	Challenger Kind = "challenger" // a queued submission
)

// Arm is an arm's file: who played.
type Arm struct {
	V       int    `json:"v"`
	Name    string `json:"arm"`
	Kind    Kind   `json:"kind"`
	Duel    string `json:"duel"`   // name of the arm in its call ids
	Hotkey  string `json:"hotkey"` // "" for a policy
	Policy  string `json:"policy"` // "" for a submission
	Payer   string `json:"payer"`  // hotkey of the account that paid, "" for the owner's
	Tasks   int    `json:"tasks"`  // lines of its traces
	Aborted string `json:"aborted"`
}

// Outcome is a line of the outcome table's digests.
type Outcome struct {
	Task    string `json:"task_id"`
	Model   string `json:"model_id"`
	Attempt int    `json:"attempt"`
	Row     string `json:"row_sha256"`
}

// Parse reads a line that canon.Marshal wrote into v. file and number name it in the refusal.
func Parse(file string, number int, line []byte, v any) error {
	if err := canon.Unmarshal(line, v); err != nil {
		return conductor.BadPublication.Because(err).With(fault.Str("file", file), fault.Int("line", int64(number)))
	}
	return nil
}
