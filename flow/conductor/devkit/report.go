package devkit

import (
	"cmp"
	"slices"
	"strings"

	"assay/conductor/action"
	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/score"
	"assay/core/money"
	"assay/core/text"
	"assay/flow/conductor/play"
	"assay/view"
)

// report counts what happened in the arm, before anything is compared.
func (st *Stage) report(a Arm, results []*episode.Result) (*view.DevKit, error) {
	r := &view.DevKit{
		World: st.Name, Conductor: a.Name, Profile: st.Profile.String(), Nonce: st.Nonce,
		Schedule: st.Entry.Digest(), Instructions: st.Entry.InstructionsDigest,
		Tasks: len(results), Models: st.Snapshot.Len(), PrefixTokens: st.Renderer.PrefixTokens(),
		Failures: failures(results), Costs: st.costs(results), Grading: st.grading(),
	}
	if a.Budget != nil {
		usd := a.Budget.Dollars()
		r.BudgetUSD = &usd
	}
	st.decisions(r, results, a.Decisions)
	return r, st.scores(r, results)
}

func failures(results []*episode.Result) view.Failures {
	f := view.Failures{Reason: view.Reason{Cap: action.ReasonTokenCap}}
	classes, endings, sources := map[action.Failure]int{}, map[ending.Ending]int{}, map[action.Source]int{}
	reasons := map[string]int{}
	tokens := 0
	for _, r := range results {
		endings[r.Ending]++
		if r.Void != "" {
			f.Void++
		}
		for i := range r.Steps {
			s := &r.Steps[i]
			f.Turns++
			sources[s.Reason.Source]++
			tokens += s.Reason.Tokens
			f.Reason.Max = max(f.Reason.Max, s.Reason.Tokens)
			if s.Reason.Tokens > action.ReasonTokenCap {
				f.Reason.Over++
			}
			if s.ParseFailure != action.Readable {
				f.ParseFailures++
				classes[s.ParseFailure]++
			}
			countCall(&f, s, reasons)
		}
	}
	if f.Turns > 0 {
		f.Reason.Mean = float64(tokens) / float64(f.Turns)
	}
	for _, c := range action.Failures() {
		f.ByClass = append(f.ByClass, view.Count{Name: c.String(), N: classes[c]})
	}
	for _, e := range ending.All() {
		f.Endings = append(f.Endings, view.Count{Name: string(e), N: endings[e]})
		delete(endings, e)
	}
	for _, s := range []action.Source{action.Tokenizer, action.Endpoint, action.Estimate} {
		if sources[s] > 0 {
			f.Reason.Sources = append(f.Reason.Sources, view.Count{Name: s.String(), N: sources[s]})
		}
	}
	f.Reasons = top(reasons, 5)
	return f
}

func countCall(f *view.Failures, s *episode.Step, reasons map[string]int) {
	if s.Model == "" {
		return
	}
	f.Calls++
	switch {
	case s.Refused:
		f.Refused++
	case s.Failed:
		f.Failed++
		if s.Failure == play.UncertainCall {
			f.Uncertain++
		}
	default:
		return
	}
	reasons[s.Failure]++
}

// top returns the n most frequent names.
func top(counts map[string]int, n int) []view.Count {
	list := make([]view.Count, 0, len(counts))
	for name, c := range counts {
		list = append(list, view.Count{Name: name, N: c})
	}
	slices.SortFunc(list, func(a, b view.Count) int {
		return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Name, b.Name))
	})
	return list[:min(n, len(list))]
}

func (st *Stage) costs(results []*episode.Result) []view.ModelCost {
	list := make([]view.ModelCost, st.Snapshot.Len())
	spent := make([]money.Pico, len(list))
	for i := range list {
		list[i].Model = st.Snapshot.At(i).ID
	}
	for _, r := range results {
		for i := range r.Steps {
			s := &r.Steps[i]
			m, ok := st.Snapshot.Lookup(s.Model)
			if !ok {
				continue
			}
			c := &list[m.Index()]
			c.Calls++
			if s.Success {
				c.Succeeded++
			}
			if s.Failed {
				c.Failed++
			}
			c.TokensIn += s.TokensIn
			c.TokensOut += s.TokensOut
			spent[m.Index()] = spent[m.Index()].Plus(s.Cost)
		}
	}
	for i := range list {
		list[i].USD = spent[i].Dollars()
		if n := list[i].TokensIn + list[i].TokensOut; n > 0 {
			paid := list[i].USD / float64(n) * 1e6
			list[i].RealisedUSD = &paid
		}
	}
	return list
}

// scores fills in quality and spend by the scorer's rule; finals come with the exchange rate.
func (st *Stage) scores(r *view.DevKit, results []*episode.Result) error {
	raw, usd, err := score.Raw(rowsOf(results))
	if err != nil {
		return err
	}
	recorded := map[string]int{}
	var total money.Pico
	for _, res := range results {
		total = total.Plus(res.Spent)
		if !res.Ending.Reached() {
			r.Score.Unfinished++
		}
		i, _ := st.World.Task(res.Task.ID())
		if !st.World.Computed(i) {
			recorded[res.Task.Benchmark()]++
		}
		r.Score.Estimated += st.estimated(res, i)
	}
	for _, l := range raw.Lines {
		r.Score.Lines = append(r.Score.Lines, view.ScoreLine{Benchmark: l.Benchmark, N: l.N, Quality: l.Quality, USD: l.Spend, Recorded: recorded[l.Benchmark]})
	}
	r.Score.Quality, r.Score.MeanUSD, r.Score.TotalUSD, r.Benchmarks = raw.Quality, usd, total.Dollars(), len(raw.Lines)
	return nil
}

// estimated counts the calls of an episode whose cost is an estimate of the world's.
func (st *Stage) estimated(res *episode.Result, taskAt int) int {
	if !st.World.Recorded() {
		return 0
	}
	n := 0
	for i := range res.Steps {
		if m, ok := st.World.Model(res.Steps[i].Model); ok && st.World.Outcome(taskAt, m).Estimated {
			n++
		}
	}
	return n
}

// grading compares computed with recorded scores over every recorded answer of the slice.
func (st *Stage) grading() view.Grading {
	var g view.Grading
	if !st.World.Recorded() {
		return g
	}
	by := map[string]*view.MetricAgree{}
	for _, t := range st.Slice {
		i, _ := st.World.Task(t.ID())
		wt := &st.World.Tasks[i]
		for m := range st.World.Models {
			o := st.World.Outcome(i, m)
			if !o.OK || !o.HasScore {
				continue
			}
			a := by[wt.Metric]
			if a == nil {
				a = &view.MetricAgree{Metric: wt.Metric}
				by[wt.Metric] = a
			}
			a.N++
			if !st.World.Computed(i) {
				g.Recorded++
				continue
			}
			s, _ := st.World.Worth(i, m) // there is one: the answer came, and its score is computed here
			g.Regraded++
			a.Regraded++
			if s == o.Score {
				g.Agree++
				a.Agree++
			} else {
				g.Differ = append(g.Differ, view.Differ{TaskID: wt.ID, Model: st.World.Models[m].ID, Metric: wt.Metric, Recorded: o.Score, Computed: s})
			}
		}
	}
	for _, a := range by {
		g.Metrics = append(g.Metrics, *a)
	}
	slices.SortFunc(g.Metrics, func(a, b view.MetricAgree) int { return strings.Compare(a.Metric, b.Metric) })
	return g
}

func (st *Stage) decisions(r *view.DevKit, results []*episode.Result, most int) {
	if most < 0 || most > len(results) {
		most = len(results)
	}
	r.Omitted = len(results) - most
	r.Decisions = make([]view.Decision, 0, most)
	for _, res := range results[:most] {
		d := view.Decision{
			TaskID: res.Task.ID(), Benchmark: res.Task.Benchmark(), Score: res.Score, USD: res.Spent.Dollars(),
			Ending: string(res.Ending), Reached: len(res.Steps) > 0, Steps: []view.Choice{},
		}
		for i := range res.Steps {
			d.Steps = append(d.Steps, st.choice(&res.Steps[i]))
		}
		r.Decisions = append(r.Decisions, d)
	}
}

func (st *Stage) choice(s *episode.Step) view.Choice {
	c := view.Choice{Verb: s.Kind.Verb(), Model: s.Model, Success: s.Success, USD: s.Cost.Dollars(), ParseFailure: s.ParseFailure.String()}
	if s.Failed {
		c.Failure = s.Failure
	}
	if s.ParseFailure != action.Readable {
		c.Said = text.Clip(s.Raw, 300)
	}
	if s.ParseFailure == action.UnknownID {
		c.Nearest = st.Snapshot.Nearest(action.NamedID(s.Raw))
	}
	return c
}

// rowsOf returns an arm's rows for scoring.
func rowsOf(results []*episode.Result) []score.Row {
	rows := make([]score.Row, len(results))
	for i, r := range results {
		rows[i] = r.Row()
	}
	return rows
}
