package play

import (
	"context"

	"assay/conductor"
	"assay/conductor/episode"
	"assay/conductor/grade"
	"assay/conductor/profile"
	"assay/conductor/worker"
	"assay/conductor/world"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/secret"
	"assay/llm"
)

// Live calls workers at an endpoint.
type Live struct {
	Client   llm.Client
	Profile  profile.Profile
	Redactor *secret.Redactor // hides the key in what a provider says; nil hides nothing
}

// Call makes the call. What the provider did wrong is the model's outcome; that the key has no money is a refusal.
func (l Live) Call(ctx context.Context, r worker.Request) (episode.Event, error) {
	return l.call(ctx, "", r)
}

// Keyed are live workers at an endpoint that knows the header Idempotency-Key: it answers a key that it has seen as before,
// and charges nothing for it.
type Keyed struct{ Live }

// CallAs makes the call under an id.
func (k Keyed) CallAs(ctx context.Context, id string, r worker.Request) (episode.Event, error) {
	return k.call(ctx, id, r)
}

func (l Live) call(ctx context.Context, key string, r worker.Request) (episode.Event, error) {
	reply, err := l.Client.Send(ctx, llm.Request{Path: llm.ChatPath, Body: r.Body(), Key: key})
	if err != nil {
		if ctx.Err() != nil {
			return episode.Event{}, context.Cause(ctx)
		}
		f, ok := failureOf(err)
		if !ok {
			return episode.Event{}, err
		}
		if f.Class == llm.Unfunded {
			return episode.Event{Told: episode.Refused, Text: l.said("unfunded: " + f.Error())}, nil
		}
		return episode.Event{Told: episode.Failed, Text: l.said(f.Error())}, nil
	}
	said, err := worker.ReadReply(reply.Body, l.Profile)
	e := episode.Event{
		Told: episode.Answered, Text: said.Text, TokensIn: said.TokensIn, TokensOut: said.ChargedOut,
		Served: l.said(said.ServedModel), Provider: l.said(said.Provider),
	}
	if err != nil {
		e.Told, e.Text = episode.Failed, l.said(worker.Outcome(err)+": "+said.Failure)
	}
	if e.Cost, err = money.FromFloat(said.Cost); err != nil {
		e.Cost = -1
	}
	if e.Cost < 0 && l.Profile.Strict() { // in compat the episode refuses it, and the run ends
		e.Told, e.Text, e.Cost = episode.Failed, "bad_cost: the provider's reply names a cost that is none", 0
	}
	return e, nil
}

func (l Live) said(s string) string { return shown(s, l.Redactor) }

// Recorded answers from a world's recorded outcomes, at their recorded cost. A model that is asked again gives the same answer
// and is charged again: the world knows no second draw.
type Recorded struct{ World *world.World }

func (w Recorded) outcome(r worker.Request) *world.Outcome {
	t, okT := w.World.Task(r.Task().ID())
	m, okM := w.World.Model(r.Model().String())
	if !okT || !okM {
		return nil
	}
	return w.World.Outcome(t, m)
}

// Call looks the outcome up. One that is not recorded is an error: it is never an empty answer.
func (w Recorded) Call(_ context.Context, r worker.Request) (episode.Event, error) {
	o := w.outcome(r)
	if o == nil {
		return episode.Event{}, conductor.BadWorld.With(fault.Str("task_id", r.Task().ID()), fault.Str("model", r.Model().String()))
	}
	e := episode.Event{Told: episode.Answered, Text: o.Text, Cost: o.Cost, TokensIn: o.TokensIn, TokensOut: o.TokensOut}
	if !o.OK {
		e.Told, e.Text = episode.Failed, o.Failure
	}
	return e, nil
}

// Metrics grades answers by the metric that the world names for the task. Where a metric cannot be computed here, the
// recorded score of the answer counts.
type Metrics struct{ World *world.World }

// Grade scores an answer.
func (g Metrics) Grade(_ context.Context, r worker.Request, answer string) (float64, error) {
	i, ok := g.World.Task(r.Task().ID())
	if !ok {
		return 0, conductor.BadWorld.With(fault.Str("task_id", r.Task().ID()))
	}
	t := &g.World.Tasks[i]
	if s, ok := grade.Mark(t.Metric, t.Reference, answer); ok {
		return s, nil
	}
	if m, ok := g.World.Model(r.Model().String()); ok && g.World.Recorded() && g.World.Outcome(i, m).Text == answer {
		if s, ok := g.World.Worth(i, m); ok {
			return s, nil
		}
	}
	return 0, conductor.NoVerdict.With(fault.Str("task_id", r.Task().ID()), fault.Str("metric", t.Metric))
}
