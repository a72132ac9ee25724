package devkit

import (
	"context"
	"fmt"

	"assay/conductor"
	"assay/conductor/duel"
	"assay/conductor/episode"
	"assay/conductor/policy"
	"assay/conductor/score"
	"assay/core/fault"
	"assay/flow/conductor/play"
	"assay/view"
)

// reference is one arm that the Conductor is compared with, on the same slice.
type reference struct {
	name     string // as the report shows it
	rows     []score.Row
	kingZero bool
}

// compare fills in finals, references and duels, where the world's recorded outcomes allow it.
func (st *Stage) compare(ctx context.Context, r *view.DevKit, a Arm, results []*episode.Result) error {
	if !st.World.Recorded() || a.Workers != nil {
		r.NoDuel = "the workers answered live, and reference arms would have to be bought for the same draws"
		return nil
	}
	policies, constants, err := st.fixedArms(ctx, a)
	if err != nil {
		return fmt.Errorf("playing the reference arms: %w", err)
	}
	pool, err := score.FitPool(policies)
	if err != nil {
		r.NoDuel = "no exchange rate: " + public(err)
		return nil
	}
	rows := rowsOf(results)
	finals(r, rows, pool.Exchange)
	refs := st.references(policies, constants, pool)
	for _, ref := range refs {
		r.References = append(r.References, shown(ref, pool.Exchange))
	}
	if r.Benchmarks < 2 {
		r.NoDuel = conductor.Breadth.Public()
		return nil
	}
	if n := scored(r); n < 2 {
		r.NoDuel = fmt.Sprintf("%s, and the exchange rate's guards leave %d of %d", conductor.Breadth.Public(), n, r.Benchmarks)
		return nil
	}
	void := failedTasks(results)
	for _, ref := range refs {
		r.Duels = append(r.Duels, st.duel(ref, rows, void, pool.Exchange))
	}
	return nil
}

// public returns what may be shown of an error.
func public(err error) string {
	if code := fault.Of(err); code != fault.Unknown {
		return code.Public()
	}
	return err.Error()
}

func scored(r *view.DevKit) int {
	n := 0
	for _, l := range r.Score.Lines {
		if len(l.Excluded) == 0 {
			n++
		}
	}
	return n
}

func failedTasks(results []*episode.Result) []string {
	var ids []string
	for _, r := range results {
		if r.Void != "" {
			ids = append(ids, r.Task.ID())
		}
	}
	return ids
}

// fixedArms plays the reference policies, by name, and every constant model, in the snapshot's order, without an allowance.
func (st *Stage) fixedArms(ctx context.Context, a Arm) (policies map[string][]score.Row, constants [][]score.Row, err error) {
	policies = map[string][]score.Row{}
	for _, name := range []string{policy.Cheapest, policy.Strongest, policy.Cascade, policy.Random} {
		p, err := policy.New(name, st.Nonce, st.Snapshot)
		if err != nil {
			return nil, nil, err
		}
		if policies[name], err = st.fixed(ctx, a, p); err != nil {
			return nil, nil, err
		}
	}
	for i := range st.Snapshot.Len() {
		p, err := policy.Constant(st.Snapshot.At(i).ID, st.Snapshot)
		if err != nil {
			return nil, nil, err
		}
		rows, err := st.fixed(ctx, a, p)
		if err != nil {
			return nil, nil, err
		}
		constants = append(constants, rows)
	}
	return policies, constants, nil
}

func (st *Stage) fixed(ctx context.Context, a Arm, p *policy.Policy) ([]score.Row, error) {
	results, err := st.play(ctx, Arm{Conductor: play.Fixed{Policy: p}, Concurrency: a.Concurrency, Now: a.Now})
	if err != nil {
		return nil, err
	}
	return rowsOf(results), nil
}

// finals adds the exchange rate's finals to the score.
func finals(r *view.DevKit, rows []score.Row, ex score.Exchange) {
	if card, err := score.Of(rows, ex); err == nil { // else every benchmark is excluded: there is no final
		r.Score.Final = &card.Final
	}
	for i := range r.Score.Lines {
		l := &r.Score.Lines[i]
		rate := ex[l.Benchmark]
		if !rate.Excluded() {
			f := rate.Final(l.Quality, l.USD)
			l.Final = &f
		}
		for _, flag := range rate.Flags {
			l.Excluded = append(l.Excluded, string(flag))
		}
	}
}

// references lists King0, the two extremes, the best constant model and the oracle.
func (st *Stage) references(policies map[string][]score.Row, constants [][]score.Row, pool score.Pool) []reference {
	refs := []reference{{"King0 = " + pool.KingZero, policies[pool.KingZero], true}}
	for _, n := range []string{policy.Cheapest, policy.Strongest} {
		if n != pool.KingZero {
			refs = append(refs, reference{name: n, rows: policies[n]})
		}
	}
	best, top := 0, 0.0
	for i, rows := range constants {
		if v := worth(rows, pool.Exchange); i == 0 || v > top {
			best, top = i, v
		}
	}
	return append(refs,
		reference{name: "best constant model = " + st.Snapshot.At(best).ID, rows: constants[best]},
		reference{name: "per-task oracle (one model a task, the one worth most)", rows: score.Oracle(constants, pool.Exchange)})
}

// worth returns an arm's final, or its quality where nothing is scored.
func worth(rows []score.Row, ex score.Exchange) float64 {
	if card, err := score.Of(rows, ex); err == nil {
		return card.Final
	}
	raw, _, err := score.Raw(rows)
	if err != nil {
		return 0 // rows of our own arms are sound: there are none
	}
	return raw.Quality
}

func shown(ref reference, ex score.Exchange) view.Reference {
	out := view.Reference{Name: ref.name, KingZero: ref.kingZero}
	if raw, usd, err := score.Raw(ref.rows); err == nil {
		out.Quality, out.USD = raw.Quality, usd
	}
	if card, err := score.Of(ref.rows, ex); err == nil {
		out.Final = &card.Final
	}
	return out
}

// duel judges the Conductor as challenger of one reference.
func (st *Stage) duel(ref reference, challenger []score.Row, void []string, ex score.Exchange) view.Duel {
	out := view.Duel{Against: ref.name, Eps: duel.Eps}
	_, res, err := duel.Judge(ref.rows, challenger, void, ex, duel.Standard(st.Nonce))
	if err != nil {
		out.Refused = public(err)
		return out
	}
	out.Delta, out.LCB, out.LOOMin, out.LOODropped, out.Median = res.Delta, res.LCB, res.LOOMin, res.LOODropped, res.Median
	out.Conditions, out.Wins, out.Detectable, out.Tasks = view.Conditions(res.Conditions), res.Wins(), res.Detectable(), res.NTasks
	return out
}
