package round

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/duel"
	"assay/conductor/reign"
	"assay/conductor/score"
	"assay/core/canon"
	"assay/core/money"
)

// makeReveal writes down what was decided.
func (m *Machine) makeReveal() *Reveal {
	r := &Reveal{
		V: RevealVersion, Window: m.set.Window, Nonce: m.set.Nonce, NTasks: len(m.set.Tasks), Benchmarks: benchmarks(m.set.Tasks),
		Freshness: jsontext.Value(m.set.Freshness), GradersFailed: m.failed(), Void: slices.Clone(m.voids),
		KingHotkey: m.king, KingIsGenesis: m.king == "", Crowned: m.crowned, CrownModel: m.model,
		Promotion: Promotion{Hotkey: m.crowned, Forfeited: m.forfeit}, Deferral: m.deferral, ReignEnded: m.ended, Reigns: m.reigns,
		Coronations: append([]string{}, m.coronations...), Pensioners: append([]string{}, m.payout.Pensioners...),
		OutcomeTable: drawsOf(m.table), SeenUnseen: m.seenUnseen(), Traces: append([]string{}, m.traces...), Retest: []Draw{},
	}
	if g := m.gated; g != nil {
		r.Power = &Power{g.Leader, g.Trailer, canon.Float(g.Spread), canon.Float(g.LCB), g.NTasks, g.Separates}
	}
	if c := m.outcome.KingCard; c != nil {
		r.King = cardOf(c)
	}
	for _, s := range m.places {
		r.Outcomes = append(r.Outcomes, s.outcome())
	}
	for _, w := range m.payout.Weights {
		r.Weights = append(r.Weights, Weight{w.UID, canon.Float(w.Share)})
	}
	for _, uid := range slices.Sorted(maps.Keys(m.live)) {
		r.Metagraph = append(r.Metagraph, Seat{uid, m.live[uid]})
	}
	for _, w := range m.metering {
		r.Metering = append(r.Metering, meterOf(w))
	}
	for _, a := range m.retests {
		r.Retest = append(r.Retest, Draw{a.Task, a.Model, a.Attempt, dollars(a.Stored), dollars(a.Cost), append([]string{}, a.Drift...)})
	}
	return r
}

func dollars(p money.Pico) canon.Float { return canon.Float(p.Dollars()) }

func benchmarks(tasks []score.Task) []string {
	names := map[string]bool{}
	for _, t := range tasks {
		names[t.Benchmark] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func (s seat) outcome() Outcome {
	o := Outcome{Hotkey: s.Hotkey, CommitBlock: s.Block, Status: s.Status, Detail: s.Detail, ShotSpent: s.spent}
	j := s.judgement
	if j == nil {
		return o
	}
	o.Won, o.Eligible, o.Reached, o.Clocked, o.Exhausted = j.Wins(), j.Eligible, j.Reached, j.Clocked, j.Exhausted
	if j.Card != nil {
		o.Arm = cardOf(j.Card)
	}
	o.Verdict = verdictOf(j.Verdict, j.Excluded)
	if j.Rematch != nil {
		o.Rematch = &Rematch{Incumbent: j.Rematch.Incumbent, Clears: j.Rematch.Clears(), Verdict: verdictOf(j.Rematch.Verdict, nil)}
	}
	return o
}

func cardOf(c *score.Card) *Card {
	out := &Card{Quality: canon.Float(c.Quality), Final: canon.Float(c.Final)}
	for _, l := range c.Lines {
		out.Benchmarks = append(out.Benchmarks, CardLine{l.Benchmark, l.N, canon.Float(l.Quality), canon.Float(l.Spend), canon.Float(l.Final)})
	}
	return out
}

func verdictOf(v *duel.Result, excluded []duel.Exclusion) *Verdict {
	if v == nil {
		return nil
	}
	out := &Verdict{
		Delta: canon.Float(v.Delta), LCB: canon.Float(v.LCB), Eps: canon.Float(v.Eps), LOOMin: canon.Float(v.LOOMin), LOODropped: v.LOODropped,
		Median: canon.Float(v.Median), SignWins: v.SignWins, SignP: canon.Float(v.SignP), NTasks: v.NTasks,
		Conditions: append([]string{}, v.Conditions.Refused()...), Excluded: []Excluded{},
	}
	for _, l := range v.ByBenchmark {
		out.ByBenchmark = append(out.ByBenchmark, VerdictLine{
			l.Benchmark, l.N, canon.Float(l.Delta), canon.Float(l.Counted), canon.Float(l.LOO), canon.Float(l.NoiseFloor),
		})
	}
	for _, e := range excluded {
		out.Excluded = append(out.Excluded, Excluded{e.TaskID, string(e.Reason)})
	}
	return out
}

func meterOf(w Metering) Meter {
	return Meter{
		Arm: w.Arm, Duel: w.Duel, Payer: w.Payer, Scoreable: w.Scoreable, Reason: w.Reason, Metered: dollars(w.Metered), Recorded: dollars(w.Recorded),
		Charged: dollars(w.Charged), Provider: dollars(w.Provider), Calls: w.Calls, Hits: w.Hits, Fills: w.Fills, Unfunded: w.Unfunded, OwnKey: w.OwnKey,
	}
}

func drawsOf(t Table) Draws {
	d := Draws{Rows: t.Rows, Fills: t.Fills, Hits: t.Hits, Failed: t.Failed, Provider: dollars(t.Provider)}
	if t.Rows > 0 {
		d.FailureRate = canon.Float(float64(t.Failed) / float64(t.Rows))
	}
	return d
}

// seenUnseen compares the king's quality on tasks that earlier windows revealed with that on fresh ones.
func (m *Machine) seenUnseen() map[string]SeenShare {
	seen := make(map[string]bool, len(m.set.Seen))
	for _, id := range m.set.Seen {
		seen[id] = true
	}
	var old, fresh []float64
	for _, r := range reign.Published(m.kingRows, m.failed()) {
		if seen[r.TaskID] {
			old = append(old, r.Score)
		} else {
			fresh = append(fresh, r.Score)
		}
	}
	return map[string]SeenShare{"seen": shareOf(old), "unseen": shareOf(fresh)}
}

func shareOf(scores []float64) SeenShare {
	if len(scores) == 0 {
		return SeenShare{}
	}
	return SeenShare{len(scores), canon.Float(score.Sum(scores) / float64(len(scores)))}
}
