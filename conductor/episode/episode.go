// Package episode plays one task out: a pure machine that asks for turns, worker calls, inspections and grades.
//
// Invariants:
//   - A worker call is asked for with a worker.Request, into which nothing that the Conductor wrote can enter.
//   - Twelve turns at most; the best grade of the delegates is kept; only the episode's own clock takes it away.
//   - A cost or a grade that is no such thing ends the run with an error: it is never subtracted and never a zero.
//
// Specification: docs/spec/episode.md.
package episode

import (
	"slices"
	"strconv"
	"time"

	"assay/conductor"
	"assay/conductor/action"
	"assay/conductor/ending"
	"assay/conductor/outcome"
	"assay/conductor/profile"
	"assay/conductor/reading"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/worker"
	"assay/core/digest"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/step"
)

// Clock is how long an episode may take before a further turn.
const Clock = 900 * time.Second

// Do is what an Effect asks for.
type Do uint8

// The effects. Each is answered by exactly one Event.
const (
	Ask     Do = iota + 1 // a turn of the Conductor for Prompt: Turn
	Call                  // a call of Request, or its replay: Answered, Failed, Refused, Lost or Replayed
	Inspect               // Inspection for Request's task: Observed or InspectorFailed
	Grade                 // Answer for Request's task: Graded or GraderFailed
	Fill                  // note Row under Key in the outcome table: Filled
)

// Effect is one thing that the machine wants done. Fields beyond those named for its Do are zero.
type Effect struct {
	Do         Do
	Prompt     state.Prompt   // Ask
	Step       int            // index of the step, from 0
	Request    worker.Request // Call, Inspect, Grade
	Key        outcome.Key    // Call without observations: the draw that a table may replay; Fill
	Inspection reading.Call   // Inspect
	Answer     string         // Grade
	Row        *outcome.Row   // Fill; not to be changed
}

// Told is what an Event says.
type Told uint8

// The events.
const (
	Turn            Told = iota + 1 // Text, Reason
	Answered                        // Text, Cost, tokens and names
	Failed                          // Text says why, Cost what it cost all the same; an outcome
	Refused                         // Text says why; the meter's word, not an outcome
	Replayed                        // Row
	Observed                        // Text, Truncated
	InspectorFailed                 // infrastructure: the reply is taken as the answer, the task leaves the slice
	Graded                          // Score
	GraderFailed                    // infrastructure: counts 0 here, the task leaves the slice
	Filled
	Lost // infrastructure: nobody knows what became of the call. Text says why, Cost what is known; the task leaves the slice
)

var toldNames = [...]string{
	"", "turn", "answered", "failed", "refused", "replayed", "observed", "inspector_failed", "graded", "grader_failed", "filled", "lost",
}

// String returns the event's word, as journals hold it.
func (t Told) String() string {
	if int(t) < len(toldNames) {
		return toldNames[t]
	}
	return "told(" + strconv.Itoa(int(t)) + ")"
}

// ParseTold reads an event's word.
func ParseTold(s string) (Told, bool) {
	i := slices.Index(toldNames[1:], s)
	return Told(i + 1), i >= 0
}

// Event tells the machine what an effect gave. Now is the time since the episode began.
type Event struct {
	Told      Told
	Now       time.Duration
	Text      string
	Reason    action.Measure
	Cost      money.Pico // negative: what was reported is no cost
	TokensIn  int64
	TokensOut int64
	Served    string // model as the provider named it
	Provider  string
	Truncated bool
	Score     float64
	Row       *outcome.Row // Replayed; not changed here
}

// Settings of an episode.
type Settings struct {
	Profile   profile.Profile
	Budget    money.Pico // what the episode may spend; used when Limited
	Limited   bool
	Inspector bool // reads can be run
	UseTable  bool // finished delegates are noted with Fill
	// Serves reports whether an answer that names the served model is one of the asked model. Nil lets every name pass.
	Serves func(asked, served string) bool
}

// Machine is one episode. Make it with New.
type Machine struct {
	task    task.Pinned
	set     Settings
	view    *state.Episode
	render  *state.Renderer
	result  *Result // apart, so that keeping it does not keep the machine
	tracker action.Tracker
	now     time.Duration
	current delegate
	do      [1]Effect
	waiting Do // effect that has not been answered
	done    bool
}

// delegate is the step under way.
type delegate struct {
	kind    action.Kind
	request worker.Request
	key     outcome.Key
	digest  digest.Of[state.Prompt]
	raw     string
	reason  action.Measure
	row     outcome.Row
	refused bool
	lost    bool
	replay  bool
}

var _ step.Machine[Event, Effect] = (*Machine)(nil)

// New starts an episode of a pinned task under the window's renderer.
func New(t task.Pinned, r *state.Renderer, s Settings) *Machine {
	m := &Machine{task: t, set: s, render: r, view: r.Episode(t)}
	m.result = &Result{Task: t, Ending: ending.MaxSteps, Steps: make([]Step, 0, 4)}
	return m
}

// Result returns the episode so far; it is final once the machine is done.
func (m *Machine) Result() *Result { return m.result }

// Start asks for the first turn.
func (m *Machine) Start() step.Ready[Effect] { return m.begin() }

// Step takes the answer to the one effect that was asked for. An event of another kind is conductor.BadEvent; once the
// episode has ended, events are ignored.
func (m *Machine) Step(e Event) (step.Ready[Effect], error) {
	if m.done {
		return step.Ready[Effect]{Done: true}, nil
	}
	if m.waiting == 0 || m.waiting != answers(e.Told) {
		return step.Ready[Effect]{}, conductor.BadEvent.With(fault.Int("told", int64(e.Told)), fault.Int("waiting", int64(m.waiting)))
	}
	m.now, m.waiting = e.Now, 0
	switch e.Told {
	case Turn:
		return m.turn(e), nil
	case Answered:
		return m.answered(e)
	case Failed, Refused, Lost:
		return m.failed(e)
	case Replayed:
		return m.replayed(e.Row)
	case Observed:
		m.current.request = m.current.request.Observe(reading.Observation{
			Call: m.do[0].Inspection, Output: e.Text, Truncated: e.Truncated, ReplyDigest: digest.HexOfBytes([]byte(m.current.row.Text)),
		})
		return m.want(Effect{Do: Call, Request: m.current.request}), nil
	case InspectorFailed:
		m.void(VoidInspector)
		return m.want(Effect{Do: Grade, Request: m.current.request, Answer: m.current.row.Text}), nil
	case GraderFailed:
		m.void(VoidGrader)
		return m.finish(0)
	case Graded:
		return m.finish(e.Score)
	}
	return m.next(), nil // Filled
}

// answers returns the effect that an event belongs to, 0 for none.
func answers(t Told) Do {
	effects := [...]Do{0, Ask, Call, Call, Call, Call, Inspect, Inspect, Grade, Grade, Fill, Call}
	if int(t) >= len(effects) {
		return 0
	}
	return effects[t]
}

func (m *Machine) want(e Effect) step.Ready[Effect] {
	e.Step = len(m.result.Steps)
	m.do[0], m.waiting = e, e.Do
	return step.Ready[Effect]{Do: m.do[:]}
}

func (m *Machine) end(e ending.Ending) step.Ready[Effect] {
	m.result.Ending = e
	m.waiting, m.done = 0, true
	return step.Ready[Effect]{Done: true}
}

// begin starts a turn: the clock is tested first, then the allowance.
func (m *Machine) begin() step.Ready[Effect] {
	if m.now >= Clock {
		m.result.Score = 0
		return m.end(ending.WallClock)
	}
	if m.set.Limited && m.result.Spent >= m.set.Budget {
		return m.end(ending.BudgetExhausted)
	}
	return m.want(Effect{Do: Ask, Prompt: m.view.Prompt()})
}

// next ends the episode after the last step or begins another turn.
func (m *Machine) next() step.Ready[Effect] {
	if len(m.result.Steps) >= state.MaxSteps {
		return m.end(ending.MaxSteps)
	}
	return m.begin()
}

func (m *Machine) turn(e Event) step.Ready[Effect] {
	if e.Reason.Source == action.Unmeasured { // the cap holds, whoever told of the turn
		e.Reason = action.MeasureTurn(e.Text, m.set.Profile, nil, -1)
	}
	act, failure := action.Parse(e.Text, m.render.Snapshot(), m.set.Profile)
	failure = action.ReasonChecked(failure, e.Reason, m.set.Profile)
	forced := m.tracker.Take(failure)
	prompt := m.do[0].Prompt
	m.do[0].Prompt = state.Prompt{}
	s := Step{Kind: act.Kind(), Raw: e.Text, Reason: e.Reason, Prompt: prompt.Digest(), ParseFailure: failure}
	switch {
	case failure != action.Readable:
		s.Kind = action.None
		m.result.Steps = append(m.result.Steps, s)
		m.view.Refused()
		if forced {
			return m.end(ending.ParseFailures)
		}
		return m.next()
	case act.Kind() == action.Stop:
		m.result.Steps = append(m.result.Steps, s)
		return m.end(ending.Stop)
	}
	model := act.Model()
	m.current = delegate{
		kind: act.Kind(), raw: e.Text, reason: e.Reason, digest: prompt.Digest(),
		request: worker.NewRequest(m.task, model),
		key:     outcome.Key{Task: m.task.ID(), Model: model.String(), Attempt: 1 + m.result.calls(model.String())},
	}
	return m.want(Effect{Do: Call, Request: m.current.request, Key: m.current.key})
}

// void takes the task out of both arms of every duel; the first reason stands.
func (m *Machine) void(why Void) {
	if m.result.Void == "" {
		m.result.Void = why
	}
}

// charge adds what one call cost to the delegate.
func (m *Machine) charge(cost money.Pico) error {
	if cost < 0 {
		return conductor.BadCost.With(fault.Str("task_id", m.task.ID()), fault.Str("model", m.current.key.Model), fault.Str("dollars", cost.String()))
	}
	m.current.row.Cost = m.current.row.Cost.Plus(cost)
	return nil
}

func (m *Machine) answered(e Event) (step.Ready[Effect], error) {
	if err := m.charge(e.Cost); err != nil {
		return step.Ready[Effect]{}, err
	}
	row := &m.current.row
	row.Text, row.ServedModel, row.Provider = e.Text, e.Served, e.Provider
	row.TokensIn, row.TokensOut = row.TokensIn+e.TokensIn, row.TokensOut+e.TokensOut
	if m.set.Serves != nil && !m.set.Serves(m.current.key.Model, e.Served) {
		m.void(VoidServed)
		row.Text, row.Failed, row.Failure = "", true, OtherModel
		return m.finish(0)
	}
	if m.set.Inspector && len(m.task.Tools()) > 0 && len(m.current.request.Observations()) < reading.MaxReads {
		if c, ok := reading.Parse(e.Text, m.set.Profile); ok && m.task.Declares(c.Name) {
			return m.want(Effect{Do: Inspect, Request: m.current.request, Inspection: c}), nil
		}
	}
	return m.want(Effect{Do: Grade, Request: m.current.request, Answer: e.Text}), nil
}

func (m *Machine) failed(e Event) (step.Ready[Effect], error) {
	if err := m.charge(e.Cost); err != nil {
		return step.Ready[Effect]{}, err
	}
	row := &m.current.row
	row.Text, row.Failed, row.Failure = "", true, e.Text
	row.TokensIn, row.TokensOut = row.TokensIn+e.TokensIn, row.TokensOut+e.TokensOut
	m.current.refused, m.current.lost = e.Told == Refused, e.Told == Lost
	if m.current.lost {
		m.void(VoidLost)
	}
	return m.finish(0)
}

func (m *Machine) replayed(r *outcome.Row) (step.Ready[Effect], error) {
	if r.Cost < 0 {
		return step.Ready[Effect]{}, conductor.BadCost.With(fault.Str("task_id", m.task.ID()))
	}
	for _, o := range r.Observations {
		m.current.request = m.current.request.Observe(o)
	}
	m.current.row, m.current.replay = *r, true
	return m.finish(r.Grade)
}

// finish closes the delegate: its grade, its cost, its line in the history.
func (m *Machine) finish(score float64) (step.Ready[Effect], error) {
	if !(score >= 0 && score <= 1) { // also refuses NaN
		return step.Ready[Effect]{}, conductor.BadGrade.With(fault.Str("task_id", m.task.ID()), fault.Float("grade", score))
	}
	c := &m.current
	c.row.Grade, c.row.Observations = score, c.request.Observations()
	s := Step{
		Kind: c.kind, Model: c.key.Model, Attempt: c.key.Attempt, Raw: c.raw, Reason: c.reason, Prompt: c.digest,
		Success: score >= 1, Score: score, Cost: c.row.Cost, TokensIn: c.row.TokensIn, TokensOut: c.row.TokensOut,
		Served: c.row.ServedModel, Provider: c.row.Provider,
		Failed: c.row.Failed, Refused: c.refused, Failure: c.row.Failure, Replayed: c.replay, Observations: c.row.Observations,
	}
	m.result.Steps = append(m.result.Steps, s)
	m.result.Spent = m.result.Spent.Plus(s.Cost)
	m.result.Score = max(m.result.Score, score)
	m.view.Delegated(s.Kind, s.Model, s.Success, s.Cost)
	if m.set.UseTable && !c.refused && !c.lost && !c.replay {
		row := c.row
		return m.want(Effect{Do: Fill, Key: c.key, Row: &row}), nil
	}
	return m.next(), nil
}
