package devkit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/conductor"
	"assay/conductor/duel"
	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/policy"
	"assay/conductor/score"
	"assay/core/fault"
	"assay/flow/conductor/play"
	"assay/view"
)

// Names of the bounds that are compared with, beside the reference policies.
const (
	kingZero = "King0"
	oracle   = "per-task oracle"
)

// references are the arms that the Conductor is compared with, on the same slice.
type references struct {
	arms     map[string][]score.Row // fixed policies by name
	constant map[string][]score.Row // one model each
	pool     score.Pool
}

// compare fills in finals, references and duels, where the world's recorded outcomes allow it.
func (st *Stage) compare(ctx context.Context, r *view.DevKit, a Arm, results []*episode.Result) error {
	if !st.World.Recorded() || a.Workers != nil {
		r.NoDuel = "the workers answered live, and reference arms would have to be bought for the same draws"
		return nil
	}
	refs, err := st.references(ctx, a)
	if err != nil {
		return fmt.Errorf("playing the reference arms: %w", err)
	}
	refs.pool, err = score.FitPool(refs.arms)
	if err != nil {
		r.NoDuel = "no exchange rate: " + public(err)
		return nil
	}
	rows := rowsOf(results)
	st.finals(r, rows, refs.pool.Exchange)
	st.listReferences(r, refs)
	if r.Benchmarks < 2 {
		r.NoDuel = conductor.Breadth.Public()
		return nil
	}
	if n := scored(r); n < 2 {
		r.NoDuel = fmt.Sprintf("%s, and the exchange rate's guards leave %d of %d", conductor.Breadth.Public(), n, r.Benchmarks)
		return nil
	}
	void := failedTasks(results)
	for _, ref := range r.References {
		r.Duels = append(r.Duels, st.duel(ref.Name, refs.rows(st, ref.Name), rows, void, refs.pool.Exchange))
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
		if r.InfrastructureFailed {
			ids = append(ids, r.Task.ID())
		}
	}
	return ids
}

// references plays the fixed policies and every constant model over the slice, without an allowance.
func (st *Stage) references(ctx context.Context, a Arm) (*references, error) {
	refs := &references{arms: map[string][]score.Row{}, constant: map[string][]score.Row{}}
	for _, name := range []string{policy.Cheapest, policy.Strongest, policy.Cascade, policy.Random} {
		p, err := policy.New(name, st.Nonce, st.Snapshot)
		if err != nil {
			return nil, err
		}
		if refs.arms[name], err = st.fixed(ctx, a, p); err != nil {
			return nil, err
		}
	}
	for i := range st.Snapshot.Len() {
		id := st.Snapshot.At(i).ID
		p, err := policy.Constant(id, st.Snapshot)
		if err != nil {
			return nil, err
		}
		if refs.constant[id], err = st.fixed(ctx, a, p); err != nil {
			return nil, err
		}
	}
	return refs, nil
}

func (st *Stage) fixed(ctx context.Context, a Arm, p *policy.Policy) ([]score.Row, error) {
	results, err := st.play(ctx, Arm{Conductor: play.Fixed{Policy: p}, Concurrency: a.Concurrency, Now: a.Now})
	if err != nil {
		return nil, err
	}
	return rowsOf(results), nil
}

// finals adds the exchange rate's finals to the score.
func (st *Stage) finals(r *view.DevKit, rows []score.Row, ex score.Exchange) {
	card, err := score.Of(rows, ex)
	if err == nil {
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

// listReferences lists King0, the two extremes, the best constant model and the oracle.
func (st *Stage) listReferences(r *view.DevKit, refs *references) {
	names := []string{kingZero + " = " + refs.pool.KingZero}
	for _, n := range []string{policy.Cheapest, policy.Strongest} {
		if n != refs.pool.KingZero {
			names = append(names, n)
		}
	}
	if best := st.bestConstant(refs); best != "" {
		names = append(names, "best constant model = "+best)
	}
	for _, n := range append(names, oracle) {
		ref := view.Reference{Name: n, KingZero: n == names[0]}
		rows := refs.rows(st, n)
		ref.Quality, ref.USD = means(rows)
		if card, err := score.Of(rows, refs.pool.Exchange); err == nil {
			ref.Final = &card.Final
		}
		r.References = append(r.References, ref)
	}
}

// rows returns the rows behind a listed name.
func (refs *references) rows(st *Stage, name string) []score.Row {
	if name == oracle {
		return st.oracle(refs.pool.Exchange)
	}
	_, of, renamed := strings.Cut(name, " = ")
	if !renamed {
		of = name
	}
	if rows, ok := refs.arms[of]; ok {
		return rows
	}
	return refs.constant[of]
}

// bestConstant returns the model whose constant arm has the best final, or the best quality where nothing is scored.
func (st *Stage) bestConstant(refs *references) string {
	best, top := "", 0.0
	for i := range st.Snapshot.Len() {
		id := st.Snapshot.At(i).ID
		rows := refs.constant[id]
		value, _ := means(rows)
		if card, err := score.Of(rows, refs.pool.Exchange); err == nil {
			value = card.Final
		}
		if best == "" || value > top {
			best, top = id, value
		}
	}
	return best
}

// oracle returns, for every task, the model's row that is worth most at the exchange rate: a bound that no policy with one
// delegate for each task can pass.
func (st *Stage) oracle(ex score.Exchange) []score.Row {
	rows := make([]score.Row, len(st.Slice))
	for i, t := range st.Slice {
		at, _ := st.World.Task(t.ID())
		rate := ex[t.Benchmark()]
		rows[i] = score.Row{TaskID: t.ID(), Benchmark: t.Benchmark(), Group: t.Group(), Ending: ending.Stop}
		value := 0.0 // answering nothing costs nothing
		for m := range st.World.Models {
			o := st.World.Outcome(at, m)
			s := play.Metrics{World: st.World}.Recorded(at, m)
			worth := s
			if !rate.Excluded() && rate.C > 0 {
				worth = rate.Final(s, o.Cost.Dollars())
			}
			if worth > value || worth == value && s > rows[i].Score {
				value, rows[i].Score, rows[i].Spend = worth, s, o.Cost.Dollars()
			}
		}
	}
	return rows
}

// means returns the mean of the benchmarks' qualities and the mean of their dollars for a task.
func means(rows []score.Row) (quality, usd float64) {
	type sum struct{ q, s, n float64 }
	by := map[string]sum{}
	for _, r := range rows {
		x := by[r.Benchmark]
		by[r.Benchmark] = sum{x.q + r.Score, x.s + r.Spend, x.n + 1}
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		x := by[name]
		quality += x.q / x.n / float64(len(by))
		usd += x.s / x.n / float64(len(by))
	}
	return quality, usd
}

// duel judges the Conductor as challenger of one reference, over the benchmarks that have a rate.
func (st *Stage) duel(name string, king, challenger []score.Row, void []string, ex score.Exchange) view.Duel {
	out := view.Duel{Against: name, Eps: duel.Eps}
	kept, err := duel.Exclude(king, challenger, void)
	var res duel.Result
	if err == nil {
		var pairs []duel.Pair
		if pairs, err = duel.Match(score.Rated(kept.King, ex), score.Rated(kept.Challenger, ex)); err == nil {
			res, err = duel.Run(pairs, ex, duel.Standard(st.Nonce))
		}
	}
	if err != nil {
		out.Refused = public(err)
		return out
	}
	out.Delta, out.LCB, out.LOOMin, out.LOODropped, out.Median = res.Delta, res.LCB, res.LOOMin, res.LOODropped, res.Median
	out.Conditions, out.Wins, out.Detectable, out.Tasks = view.Conditions(res.Conditions), res.Wins(), res.Detectable(), res.NTasks
	return out
}
