package window

import (
	"context"
	"fmt"
	"strconv"

	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/reading"
	"assay/conductor/worker"
	"assay/core/digest"
	"assay/core/secret"
	"assay/flow/conductor/meter"
	"assay/flow/conductor/play"
)

// noKey stands for the owner's provider key.
var noKey secret.Value

type callers = play.Workers

// again buys one delegate outside an episode: the read loop and the grade, and no Conductor.
type again struct {
	*acting
	arm     *meter.Arm
	workers callers
	id      string
}

// delegate makes the calls of one delegate.
func (g *again) delegate(ctx context.Context, r worker.Request) (outcome.Row, error) {
	var row outcome.Row
	for {
		id := g.id + strconv.Itoa(len(r.Observations()))
		e, err := g.arm.Call(ctx, id, r, func(ctx context.Context) (episode.Event, error) {
			if w, ok := g.workers.(play.Idempotent); ok {
				return w.CallAs(ctx, g.duel("retest")+"/"+id, r)
			}
			return g.workers.Call(ctx, r)
		})
		if err != nil {
			return row, err
		}
		row.Cost = row.Cost.Plus(max(e.Cost, 0))
		row.TokensIn, row.TokensOut = row.TokensIn+e.TokensIn, row.TokensOut+e.TokensOut
		row.ServedModel, row.Provider = e.Served, e.Provider
		if e.Told != episode.Answered {
			row.Failed, row.Failure = true, e.Text
			return row, nil
		}
		seen, ok, err := g.look(ctx, r, e.Text)
		if err != nil {
			return row, err
		}
		if !ok {
			row.Text, row.Observations = e.Text, r.Observations()
			return row, g.grade(ctx, r, &row)
		}
		r = r.Observe(seen)
	}
}

// look runs the read that a reply asks for; ok is false when the reply is the answer.
func (g *again) look(ctx context.Context, r worker.Request, reply string) (o reading.Observation, ok bool, err error) {
	if g.Inspector == nil || len(r.Observations()) >= reading.MaxReads {
		return o, false, nil
	}
	c, ok := reading.Parse(reply, g.profile)
	if !ok || !r.Task().Declares(c.Name) {
		return o, false, nil
	}
	out, cut, err := g.Inspector.Inspect(ctx, r.Task(), c)
	if err != nil {
		return o, false, fmt.Errorf("inspecting: %w", err)
	}
	return reading.Observation{Call: c, Output: out, Truncated: cut, ReplyDigest: digest.HexOfBytes([]byte(reply))}, true, nil
}

// grade scores the answer; a grader that fails gives no score, as in the table.
func (g *again) grade(ctx context.Context, r worker.Request, row *outcome.Row) error {
	s, err := g.Grader.Grade(ctx, r, row.Text)
	if err != nil {
		return ctx.Err()
	}
	row.Grade = s
	return nil
}
