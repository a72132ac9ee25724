package reign

import (
	"assay/conductor"
	"assay/conductor/bootstrap"
	"assay/conductor/duel"
	"assay/conductor/score"
	"assay/core/fault"
)

// PowerSpread is the least lead that the better reference arm must have for a slice to tell arms apart.
const PowerSpread = duel.Eps

// Reference is a reference policy's arm on the power gate's subsample.
type Reference struct {
	Policy string
	Rows   []score.Row
}

// Gate says whether a window's slice can tell a good arm from a poor one.
type Gate struct {
	Leader, Trailer string
	Spread          float64 // the leader's lead in quality, a mean over benchmarks
	LCB             float64 // the lead's lower bound
	NTasks          int
	Separates       bool // whether duels may be held
}

// PowerGate compares the first king with its contrast on quality alone, with the duel's arithmetic and its own seed,
// from the side of the arm that leads. It refuses an arm against itself and arms that ran different tasks; tasks
// whose grading failed, or that an arm's clock cut off, leave both arms first.
func PowerGate(kingZero, contrast Reference, failed []string, nonce string) (Gate, error) {
	if kingZero.Policy == contrast.Policy {
		return Gate{}, conductor.SameArm.With(fault.Str("policy", kingZero.Policy))
	}
	kept, err := duel.Exclude(contrast.Rows, kingZero.Rows, failed)
	if err != nil {
		return Gate{}, err
	}
	for _, e := range kept.Excluded {
		if e.Reason == duel.MissingKing || e.Reason == duel.MissingChallenger {
			return Gate{}, conductor.Misaligned.With(fault.Str("task", e.TaskID), fault.Str("reason", string(e.Reason)))
		}
	}
	lead, err := onQuality(kept.Challenger, kept.King, nonce)
	if err != nil {
		return Gate{}, err
	}
	gate := Gate{Leader: kingZero.Policy, Trailer: contrast.Policy}
	if lead.Delta < 0 {
		gate.Leader, gate.Trailer = gate.Trailer, gate.Leader
		if lead, err = onQuality(kept.King, kept.Challenger, nonce); err != nil {
			return Gate{}, err
		}
	}
	gate.Spread, gate.LCB, gate.NTasks = lead.Delta, lead.LCB, lead.NTasks
	gate.Separates = lead.Conditions.Delta && lead.Conditions.LCB
	return gate, nil
}

// onQuality duels two arms as if nothing cost anything.
func onQuality(leader, trailer []score.Row, nonce string) (duel.Result, error) {
	pairs, err := duel.Match(trailer, leader)
	if err != nil {
		return duel.Result{}, err
	}
	free := score.Exchange{}
	for _, p := range pairs {
		free[p.Benchmark()] = score.Rate{Lam: 0, C: 1}
	}
	return duel.Run(pairs, free, duel.Settings{Seed: bootstrap.OfPowerGate(nonce), Eps: PowerSpread, Rounds: duel.Rounds})
}
