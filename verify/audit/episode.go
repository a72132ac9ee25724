package audit

import (
	"bytes"

	"assay/conductor"
	"assay/conductor/action"
	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/policy"
	"assay/conductor/reading"
	"assay/conductor/receipt"
	"assay/conductor/task"
	"assay/conductor/trace"
	"assay/core/fault"
	"assay/core/money"
)

// replay plays an episode again from its trace and its receipts: the same machine that played it is told what the trace
// says, and must write the same line.
type replay struct {
	w        *opened
	task     task.Pinned
	trace    trace.Episode
	receipts [][]receipt.Receipt // by step, in the order of calls
	policy   *policy.Policy      // nil for a submission
	machine  *episode.Machine
}

var errStep = Differs.With(fault.Str("record", "the steps of an episode"))

// run returns what follows from the rules. A trace whose steps are not what the machine asks for is an error.
func (r *replay) run() (*episode.Result, error) {
	if len(r.trace.Steps) == 0 {
		return r.unplayed()
	}
	r.machine = episode.New(r.task, r.w.renderer, episode.Settings{
		Profile: r.w.profile, Inspector: true, UseTable: true, Serves: r.w.rules.Serves,
	})
	ready := r.machine.Start()
	for !ready.Done {
		do := ready.Do[0]
		at := do.Step
		if do.Do == episode.Fill {
			at--
		}
		if at >= len(r.trace.Steps) {
			return r.cutOff()
		}
		e, err := r.event(do, &r.trace.Steps[at])
		if err != nil {
			return nil, err
		}
		if ready, err = r.machine.Step(e); err != nil {
			return nil, err
		}
	}
	return r.settle(r.machine.Result())
}

// unplayed is an episode that never began.
func (r *replay) unplayed() (*episode.Result, error) {
	switch r.trace.Ending {
	case ending.DuelWallClock, ending.BudgetExhausted, ending.Futile, ending.Excluded:
		return episode.Zeroed(r.task, r.trace.Ending), nil
	}
	return nil, errStep // an episode's own clock begins with it, so that its first turn is always asked for
}

// cutOff ends an episode that the clock or the allowance cut off before a further turn; nobody can recompute which.
func (r *replay) cutOff() (*episode.Result, error) {
	m := r.machine.Result()
	switch r.trace.Ending {
	case ending.BudgetExhausted:
		m.Ending = ending.BudgetExhausted
	case ending.WallClock:
		m.Ending, m.Score = ending.WallClock, 0
	default:
		return nil, errStep
	}
	return r.settle(m)
}

// settle takes over from the trace what the machine cannot know: digests of replies, and which step a grader or inspector
// failed at.
func (r *replay) settle(m *episode.Result) (*episode.Result, error) {
	if len(m.Steps) != len(r.trace.Steps) {
		return nil, errStep
	}
	for i := range m.Steps {
		seen := m.Steps[i].Observations
		for k := range seen {
			if k < len(r.trace.Steps[i].Observations) {
				seen[k].ReplyDigest = r.trace.Steps[i].Observations[k].ReplyDigest
			}
		}
	}
	if v := r.trace.Void; v == episode.VoidGrader || v == episode.VoidInspector {
		m.Void = v
	}
	return m, nil
}

// event is what the trace says came of an effect.
func (r *replay) event(do episode.Effect, s *episode.Step) (episode.Event, error) {
	switch do.Do {
	case episode.Ask:
		if r.policy != nil && r.policy.Turn(do.Prompt) != s.Raw {
			return episode.Event{}, Differs.With(fault.Str("record", "what a reference policy says"), fault.Str("follows", r.policy.Turn(do.Prompt)))
		}
		return r.turn(s)
	case episode.Call:
		return r.call(do, s)
	case episode.Inspect:
		k := len(do.Request.Observations())
		if k >= len(s.Observations) || do.Inspection != s.Observations[k].Call {
			return episode.Event{}, errStep
		}
		return episode.Event{Told: episode.Observed, Text: s.Observations[k].Output, Truncated: s.Observations[k].Truncated}, nil
	case episode.Grade:
		return episode.Event{Told: episode.Graded, Score: s.Score}, nil
	}
	return episode.Event{Told: episode.Filled}, nil
}

// turn is what the Conductor said. An estimate of its reasoning is made again; a count that an endpoint or a tokenizer made
// is taken as it stands.
func (r *replay) turn(s *episode.Step) (episode.Event, error) {
	if s.Reason.Source == action.Estimate {
		if again := action.MeasureTurn(s.Raw, r.w.profile, nil, -1); again != s.Reason {
			return episode.Event{}, errStep
		}
	}
	return episode.Event{Told: episode.Turn, Text: s.Raw, Reason: s.Reason}, nil
}

// call is what came of a worker call.
func (r *replay) call(do episode.Effect, s *episode.Step) (episode.Event, error) {
	if s.Replayed {
		return episode.Event{Told: episode.Replayed, Row: rowOf(s)}, nil
	}
	k := len(do.Request.Observations())
	e := episode.Event{}
	if paid := r.paid(do.Step); k < len(paid) {
		e.Cost, e.TokensIn, e.TokensOut = paid[k].Cost, paid[k].TokensIn, paid[k].TokensOut
		e.Served, e.Provider = paid[k].ServedModel, paid[k].Provider
	} else if !s.Refused && !s.Lost {
		return e, errStep
	}
	switch {
	case k < len(s.Observations):
		e.Told, e.Text = episode.Answered, asks(s.Observations[k].Call)
	case s.Refused:
		e.Told, e.Text = episode.Refused, s.Failure
	case s.Lost:
		e.Told, e.Text = episode.Lost, s.Failure
	case s.Failed && s.Failure != episode.OtherModel:
		e.Told, e.Text = episode.Failed, s.Failure
	default:
		e.Told = episode.Answered // the answer is not published: that it was graded as it was is attested
	}
	return e, nil
}

func (r *replay) paid(step int) []receipt.Receipt {
	if step < len(r.receipts) {
		return r.receipts[step]
	}
	return nil
}

// asks returns a reply that asks for a read.
func asks(c reading.Call) string {
	if c.Name == reading.Read {
		return c.Name + " " + c.Arg + " " + c.Start
	}
	return c.Name + " " + c.Arg
}

// rowOf returns the row that a replayed step was served.
func rowOf(s *episode.Step) *outcome.Row {
	return &outcome.Row{
		Failed: s.Failed, Failure: s.Failure, Observations: s.Observations, Cost: s.Cost, Grade: s.Score, TokensIn: s.TokensIn,
		TokensOut: s.TokensOut, ServedModel: s.Served, Provider: s.Provider,
	}
}

// fill is what the first buyer of a draw was given: whoever is served the draw is given the same.
type fill struct {
	arm      string
	score    float64
	cost     money.Pico
	in, out  int64
	failed   bool
	failure  string
	served   string
	provider string
	seen     []reading.Observation
}

func fillOf(arm string, s *episode.Step) fill {
	return fill{arm, s.Score, s.Cost, s.TokensIn, s.TokensOut, s.Failed, s.Failure, s.Served, s.Provider, s.Observations}
}

// same reports whether a replayed step was served the draw.
func (f fill) same(s *episode.Step) bool {
	if f.score != s.Score || f.cost != s.Cost || f.in != s.TokensIn || f.out != s.TokensOut || f.failed != s.Failed || f.failure != s.Failure ||
		f.served != s.Served || f.provider != s.Provider || len(f.seen) != len(s.Observations) {
		return false
	}
	for i, o := range f.seen {
		if o != s.Observations[i] {
			return false
		}
	}
	return true
}

// again writes the episode's line from what follows from the rules.
func (r *replay) again(dst []byte) ([]byte, error) {
	m, err := r.run()
	if err != nil {
		if fault.Of(err) == conductor.BadEvent {
			err = errStep
		}
		return nil, err
	}
	return bytes.TrimSuffix(trace.Append(dst, m), []byte{'\n'}), nil
}
