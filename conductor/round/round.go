// Package round is one window from its draw to its publication: a pure machine that asks for arms to be played and says
// what is decided.
//
// Invariants:
//   - Arms run in a fixed order: the power gate's two, the king, the challengers by seniority. Verdicts come after all of them.
//   - What an owner's fault took away (a grader, a meter, a served model, a crash) is void for every arm and costs nobody a shot.
//   - History is kept before weights are set, weights before the reveal is published.
//   - The reveal is a function of the setup and the events, so whoever holds the published rows can make it again.
//
// Specification: docs/spec/reveal.md.
package round

import (
	"assay/conductor/publication"
	"assay/conductor/reign"
	"assay/conductor/score"
	"assay/conductor/submission"
	"assay/core/money"
	"assay/core/step"
)

// Do is what an Effect asks for.
type Do uint8

// The effects. Each is answered by exactly one Event.
const (
	Admit   Do = iota + 1 // fetch and admit Hotkey's submission: Admitted, Refused, Skipped or Unready
	Play                  // play Arm: Played or Aborted
	Retest                // buy some draws again and sum up the table: Retested
	Promote               // publish the crowned Hotkey's artifact: Promoted or Forfeited
	Look                  // read who is registered: Looked
	Persist               // keep who was judged and who was crowned: Persisted
	Weigh                 // set Payout's weights: Weighed
	Publish               // publish the Reveal: Published
)

// Effect is one thing that the machine wants done. Fields beyond those named for its Do are zero.
type Effect struct {
	Do     Do
	Hotkey string
	Arm    Arm
	Payout reign.Payout
	Reveal *Reveal // not to be changed
}

// Arm is an arm to be played.
type Arm struct {
	Name     string
	Kind     publication.Kind
	Hotkey   string   // "" for a policy
	Policy   string   // "" for a submission
	Payer    string   // account that pays: a hotkey, or "" for the owner's
	Excluded []string // ids of void tasks: they are not bought
	Beat     *float64 // a challenger whose ceiling does not exceed this final by the margin is futile; nil: no such rule
}

// Told is what an Event says.
type Told uint8

// The events.
const (
	Admitted  Told = iota + 1
	Refused        // Detail; the shot is spent
	Skipped        // Detail; the shot is not spent
	Unready        // Detail; the owner's fault: deferred
	Played         // Rows, Voids, Metering
	Aborted        // Detail: the arm could not be played to its end; Metering
	Retested       // Table, Retests
	Promoted       // Detail: where the artifact is public
	Forfeited      // Detail
	Looked         // Live
	Persisted
	Weighed
	Published
)

// Event tells the machine what an effect gave.
type Event struct {
	Told     Told
	Detail   string
	Rows     []score.Row
	Voids    []Void
	Metering Metering
	Table    Table
	Retests  []Again
	Live     map[int]string
}

// Void is a task that an arm found to be nobody's fault.
type Void struct {
	Task   string `json:"task_id"`
	Reason string `json:"reason"`
	Arm    string `json:"arm"`
	Model  string `json:"model_id"` // with reason served_model: the model that was asked, else ""
	Served string `json:"served"`   // and the one that answered
}

// Place is a submission's place in the queue.
type Place struct {
	Hotkey string
	Block  int64             // of its commitment: seniority
	Status submission.Status // Queued before the window decides
	Detail string
}

// Setup is what a window begins with.
type Setup struct {
	Window      int64
	Nonce       string
	Tasks       []score.Task // the slice in its order
	Gate        []string     // ids of the power gate's subsample
	Rules       publication.Rules
	Freshness   string   // the record's member, as canonical JSON
	Seen        []string // the record's member
	Queue       []Place  // by seniority; only those that are Queued are admitted
	King        string   // reigning hotkey; "" while the first policy reigns
	KingGone    bool     // the chain no longer holds the king
	Coronations []string // crowned hotkeys, oldest first
}

// Machine is one window. Make it with New.
type Machine struct {
	set      Setup
	exchange score.Exchange
	do       [1]Effect
	waiting  Do
	stage    stage
	next     int // place in the stage's list
	done     bool

	gate        [2][]score.Row
	gated       *reign.Gate
	deferral    string // why nobody duels; "" while duels may be held
	ended       string // why the reign of the king that stood here ended
	king        string // whose arm is the king's
	kingRows    []score.Row
	kingFinal   *float64
	places      []seat
	voids       []Void
	metering    []Metering
	table       Table
	retests     []Again
	outcome     reign.Outcome
	crowned     string
	model       string
	forfeit     string
	live        map[int]string
	coronations []string
	reigns      string
	payout      reign.Payout
	traces      []string
	reveal      *Reveal
}

// seat is a place and what became of it.
type seat struct {
	Place
	admitted  bool
	rows      []score.Row
	metering  Metering
	judgement *reign.Judgement
	spent     bool
}

var _ step.Machine[Event, Effect] = (*Machine)(nil)

// New makes the machine of a window.
func New(s Setup) *Machine {
	m := &Machine{set: s, exchange: s.Rules.Rates(), king: s.King, coronations: s.Coronations}
	if s.KingGone {
		m.king, m.ended = "", EndedGone
	}
	for _, p := range s.Queue {
		m.places = append(m.places, seat{Place: p})
	}
	return m
}

// Why a reign ended without a crown changing hands.
const (
	EndedGone     = "the king is no longer registered"
	EndedUnfunded = "the king's allowance did not reach half of the slice"
)

// Reveal returns what the window decided; nil before it is published.
func (m *Machine) Reveal() *Reveal { return m.reveal }

// Reigns returns who reigns after the window, "" for the first policy, and all coronations. It is final once the
// machine has asked for Persist.
func (m *Machine) Reigns() (king string, coronations []string) { return m.reigns, m.coronations }

// Judged lists the submissions whose shot this window spent.
func (m *Machine) Judged() []string {
	var out []string
	for _, s := range m.places {
		if s.spent {
			out = append(out, s.Hotkey)
		}
	}
	return out
}

// Seats lists what became of every submission, in the queue's order.
func (m *Machine) Seats() []Place {
	out := make([]Place, len(m.places))
	for i, s := range m.places {
		out[i] = s.Place
	}
	return out
}

// Metering is who paid an arm, and what.
type Metering struct {
	Arm       string
	Duel      string
	Payer     string
	Scoreable bool
	Reason    string // why the arm cannot be scored; "" when it can
	Metered   money.Pico
	Recorded  money.Pico
	Charged   money.Pico
	Provider  money.Pico
	Calls     int
	Hits      int
	Fills     int
	Unfunded  int
	OwnKey    bool
}

// Table sums up a window's outcome table.
type Table struct {
	Rows, Fills, Hits, Failed int
	Provider                  money.Pico
}

// Again is a draw that was bought again to see whether the provider drifts. It decides nothing.
type Again struct {
	Task    string
	Model   string
	Attempt int
	Stored  money.Pico // what the stored draw cost
	Cost    money.Pico // what it cost this time
	Drift   []string   // in what it differs; none: the draw still holds
}
