package conformance

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/action"
	"assay/conductor/arm"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/profile"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/canon"
	"assay/core/money"
	"assay/verify/vector"
)

// workerSays is one scripted reply of a worker.
type workerSays struct {
	Answer  *string `json:"answer"`
	Cost    float64 `json:"cost"`
	Fail    *string `json:"fail"`
	Refuse  *string `json:"refuse"`
	Seconds float64 `json:"seconds"`
}

type inspectSays struct {
	Output    string `json:"output"`
	Truncated bool   `json:"truncated"`
}

// world is what a script says of everything outside the machine.
type world struct {
	Grades        map[string]float64     `json:"grades"`
	GradeErrors   []string               `json:"grade_errors"`
	Inspect       map[string]inspectSays `json:"inspect"`
	InspectErrors []string               `json:"inspect_errors"`
	ReplySeconds  []float64              `json:"reply_seconds"`
}

// player answers a machine's effects from a script.
type player struct {
	world
	replies []string
	worker  func(model string) workerSays // next live reply
	replay  func(k outcome.Key) (episode.Event, bool)
	fill    func(k outcome.Key, r outcome.Row)
	now     *time.Duration
	start   time.Duration
	turns   int
	hits    int
	fills   int
}

// nth returns element i of a list whose last element repeats.
func nth[T any](list []T, i int) (v T) {
	if len(list) == 0 {
		return v
	}
	return list[min(i, len(list)-1)]
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// play drives a machine to its end.
func (p *player) play(m *episode.Machine) error {
	p.start = *p.now
	ready := m.Start()
	for !ready.Done {
		e := p.answer(ready.Do[0])
		e.Now = *p.now - p.start
		var err error
		if ready, err = m.Step(e); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) answer(d episode.Effect) episode.Event {
	switch d.Do {
	case episode.Ask:
		reply := nth(p.replies, p.turns)
		*p.now += seconds(nth(p.ReplySeconds, p.turns))
		p.turns++
		return episode.Event{Told: episode.Turn, Text: reply}
	case episode.Call:
		if len(d.Request.Observations()) == 0 && p.replay != nil {
			if e, ok := p.replay(d.Key); ok {
				return e
			}
		}
		return p.call(d.Request.Model().String())
	case episode.Inspect:
		line := d.Inspection.String()
		said, there := p.Inspect[line]
		if !there || slices.Contains(p.InspectErrors, line) {
			return episode.Event{Told: episode.InspectorFailed}
		}
		return episode.Event{Told: episode.Observed, Text: said.Output, Truncated: said.Truncated}
	case episode.Fill:
		p.fills++
		p.fill(d.Key, *d.Row)
		return episode.Event{Told: episode.Filled}
	}
	if slices.Contains(p.GradeErrors, d.Answer) {
		return episode.Event{Told: episode.GraderFailed}
	}
	return episode.Event{Told: episode.Graded, Score: p.Grades[d.Answer]}
}

// costOf is a scripted cost; what is no number of dollars is negative.
func costOf(usd float64) money.Pico {
	p, err := money.FromFloat(usd)
	if err != nil {
		return -1
	}
	return p
}

func (p *player) call(model string) episode.Event {
	said := p.worker(model)
	*p.now += seconds(said.Seconds)
	switch {
	case said.Refuse != nil:
		return episode.Event{Told: episode.Refused, Text: *said.Refuse}
	case said.Fail != nil:
		return episode.Event{Told: episode.Failed, Text: *said.Fail, Cost: costOf(said.Cost)}
	}
	return episode.Event{Told: episode.Answered, Text: *said.Answer, Cost: costOf(said.Cost)}
}

func budget(usd *float64) (money.Pico, bool, error) {
	if usd == nil {
		return 0, false, nil
	}
	p, err := money.FromFloat(*usd)
	return p, true, err
}

// stepFailure is null, ["failed", text] or ["refused", text].
func stepFailure(s episode.Step) any {
	switch {
	case s.Refused:
		return []any{"refused", s.Failure}
	case s.Failed:
		return []any{"failed", s.Failure}
	}
	return nil
}

func stepKind(s episode.Step) string {
	if s.Kind == action.None {
		return "refused"
	}
	return s.Kind.String()
}

type episodeIn struct {
	Instructions string                  `json:"instructions"`
	Catalog      []row                   `json:"catalog"`
	Task         taskIn                  `json:"task"`
	Budget       *float64                `json:"budget_usd"`
	Replies      []string                `json:"replies"`
	Worker       map[string][]workerSays `json:"worker"`
	world
}

func runEpisode(rules profile.Profile, _ string, in jsontext.Value) (any, error) {
	v, err := vector.Read[episodeIn](in)
	if err != nil {
		return nil, err
	}
	s, err := catalogOf(v.Catalog)
	if err != nil {
		return nil, err
	}
	r, err := state.NewRenderer(v.Instructions, s, rules)
	if err != nil {
		return nil, err
	}
	t, err := pinOne(v.Task)
	if err != nil {
		return nil, err
	}
	set := episode.Settings{Profile: rules, Inspector: v.Inspect != nil}
	if set.Budget, set.Limited, err = budget(v.Budget); err != nil {
		return nil, err
	}
	calls := map[string]int{}
	var now time.Duration
	p := player{world: v.world, replies: v.Replies, now: &now, worker: func(model string) workerSays {
		calls[model]++
		return nth(v.Worker[model], calls[model]-1)
	}}
	m := episode.New(t, r, set)
	if err := p.play(m); err != nil {
		return nil, err
	}
	res := m.Result()
	steps, requests := []any{}, []any{}
	for _, st := range res.Steps {
		reads := []any{}
		for _, o := range st.Observations {
			reads = append(reads, []any{o.Call.String(), o.ReplyDigest})
		}
		steps = append(steps, canon.Object{
			"kind": stepKind(st), "model_id": vector.OrNull(st.Model), "success": st.Success, "cost_usd": st.Cost.Dollars(),
			"failure": stepFailure(st), "prompt_sha256": st.Prompt.String(), "reads": reads,
		})
	}
	for q := range res.Requests(s) {
		requests = append(requests, []any{q.Model().String(), len(q.Observations()), q.Digest()})
	}
	return canon.Object{
		"ending": string(res.Ending), "score": res.Score, "spend_usd": res.Spent.Dollars(), "conductor_turns": p.turns,
		"grader_failed": res.Void != "", "steps": steps, "requests": requests,
	}, nil
}

type armIn struct {
	Name         string              `json:"name"`
	Budget       *float64            `json:"budget_usd"`
	Concurrency  int                 `json:"concurrency"`
	Replies      map[string][]string `json:"replies"`
	RefuseReplay []string            `json:"refuse_replay"`
}

type windowIn struct {
	Instructions string                             `json:"instructions"`
	Catalog      []row                              `json:"catalog"`
	Nonce        string                             `json:"nonce"`
	Tasks        []taskIn                           `json:"tasks"`
	Table        bool                               `json:"table"`
	Worker       map[string]map[string][]workerSays `json:"worker"`
	Arms         []armIn                            `json:"arms"`
	world
}

// windowRun is the state that the arms of one line share.
type windowRun struct {
	windowIn
	rules    profile.Profile
	renderer *state.Renderer
	slice    []task.Pinned
	table    *outcome.Table
	calls    map[[2]string]int
	now      time.Duration
}

func runWindow(rules profile.Profile, _ string, in jsontext.Value) (any, error) {
	v, err := vector.Read[windowIn](in)
	if err != nil {
		return nil, err
	}
	w := &windowRun{windowIn: v, rules: rules, calls: map[[2]string]int{}}
	s, err := catalogOf(v.Catalog)
	if err != nil {
		return nil, err
	}
	if w.renderer, err = state.NewRenderer(v.Instructions, s, rules); err != nil {
		return nil, err
	}
	specs := make([]task.Spec, len(v.Tasks))
	for i, t := range v.Tasks {
		specs[i] = t.spec()
	}
	if w.slice, err = window.Slice(v.Nonce, specs); err != nil {
		return nil, err
	}
	if v.Table {
		w.table = outcome.NewTable()
	}
	order := []any{}
	for _, t := range w.slice {
		order = append(order, t.ID())
	}
	arms := []any{}
	for _, a := range v.Arms {
		out, err := w.arm(a)
		if err != nil {
			return nil, err
		}
		arms = append(arms, out)
	}
	out := canon.Object{"order": order, "arms": arms, "table": nil}
	if w.table != nil {
		st := w.table.Stats()
		out["table"] = canon.Object{"rows": st.Rows, "failed_rows": st.FailedRows, "provider_usd": vector.Dollars(st.Provider.Dollars())}
	}
	return out, nil
}

// totals are an arm's sums.
type totals struct {
	calls          int
	live, replayed money.Pico
}

func (w *windowRun) arm(a armIn) (any, error) {
	left, limited, err := budget(a.Budget)
	if err != nil {
		return nil, err
	}
	plan := arm.New(len(w.slice), arm.Settings{Concurrency: a.Concurrency, Allowance: left, Limited: limited})
	began := w.now
	var sum totals
	episodes := []any{}
	for !plan.Over() {
		start, cut := plan.Next(w.now - began)
		for i := range cut.N {
			episodes = append(episodes, w.episodeOut(episode.Zeroed(w.slice[cut.First+i], cut.Ending), nil))
		}
		var batch []*episode.Result
		for i := range start.N {
			set := episode.Settings{Profile: w.rules, Inspector: w.Inspect != nil, Budget: start.Left, Limited: limited, UseTable: w.table != nil}
			m := episode.New(w.slice[start.First+i], w.renderer, set)
			p := w.player(a, m, &sum)
			if err := p.play(m); err != nil {
				return nil, err
			}
			batch = append(batch, m.Result())
			episodes = append(episodes, w.episodeOut(m.Result(), p))
		}
		for _, r := range batch {
			plan.Done(r.Spent)
		}
	}
	return canon.Object{
		"name": a.Name, "episodes": episodes, "spend_usd": plan.Spent().Dollars(), "live_calls": sum.calls,
		"live_usd": sum.live.Dollars(), "replayed_usd": sum.replayed.Dollars(),
	}, nil
}

func (w *windowRun) player(a armIn, m *episode.Machine, sum *totals) *player {
	id := m.Result().Task.ID()
	replies, ok := a.Replies[id]
	if !ok {
		replies = a.Replies["*"]
	}
	p := &player{world: w.world, replies: replies, now: &w.now}
	p.worker = func(model string) workerSays {
		k := [2]string{id, model}
		w.calls[k]++
		said := nth(w.Worker[id][model], w.calls[k]-1)
		sum.calls++
		if cost, err := money.FromFloat(said.Cost); err == nil {
			sum.live = sum.live.Plus(cost)
		}
		return said
	}
	if w.table == nil {
		return p
	}
	p.replay = func(k outcome.Key) (episode.Event, bool) {
		r, ok := w.table.Get(k)
		if !ok {
			return episode.Event{}, false
		}
		if slices.Contains(a.RefuseReplay, k.Model) {
			return episode.Event{Told: episode.Refused, Text: "no allowance left"}, true
		}
		p.hits++
		w.table.Hit()
		sum.replayed = sum.replayed.Plus(r.Cost)
		return episode.Event{Told: episode.Replayed, Row: &r}, true
	}
	p.fill = w.table.Put
	return p
}

func (w *windowRun) episodeOut(r *episode.Result, p *player) any {
	steps := []any{}
	for _, s := range r.Steps {
		steps = append(steps, []any{stepKind(s), vector.OrNull(s.Model), s.Success, s.Cost.Dollars(), stepFailure(s)})
	}
	hits, fills := 0, 0
	if p != nil {
		hits, fills = p.hits, p.fills
	}
	return canon.Object{
		"task_id": r.Task.ID(), "ending": string(r.Ending), "score": r.Score, "spend_usd": r.Spent.Dollars(),
		"hits": hits, "fills": fills, "steps": steps,
	}
}
