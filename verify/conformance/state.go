package conformance

import (
	"math"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/action"
	"assay/conductor/catalog"
	"assay/conductor/profile"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/canon"
	"assay/core/digest"
	"assay/core/money"
	"assay/verify/vector"
)

// row is one catalog entry as vectors write it: [id, in, out, context].
type row []jsontext.Value

// catalogOf is a world that a line sets up, so the profile does not judge it.
func catalogOf(rows []row) (*catalog.Snapshot, error) {
	entries := make([]catalog.Entry, len(rows))
	for i, r := range rows {
		var e catalog.Entry
		for j, to := range []any{&e.ID, &e.In, &e.Out, &e.Context} {
			if err := canon.Strict(r[j], to); err != nil {
				return nil, err
			}
		}
		entries[i] = e
	}
	return catalog.New(entries, profile.Compat)
}

func rowsOf(s *catalog.Snapshot) []any {
	out := []any{}
	for _, e := range s.Entries() {
		context := any(e.Context)
		if v, err := canon.Decode([]byte(oneRow(e))); err == nil {
			context = v.([]any)[0].(canon.Object)["context_length"]
		}
		out = append(out, []any{e.ID, priceOf(e.In), priceOf(e.Out), context})
	}
	return out
}

// oneRow freezes a single entry, to see its context length as it is frozen.
func oneRow(e catalog.Entry) string {
	if math.IsInf(e.In, 1) {
		e.In = 0
	}
	if math.IsInf(e.Out, 1) {
		e.Out = 0
	}
	s, err := catalog.New([]catalog.Entry{e}, profile.Compat)
	if err != nil {
		return ""
	}
	return s.Freeze()
}

func priceOf(p float64) any {
	if math.IsInf(p, 1) {
		return "Infinity"
	}
	return p
}

func runCatalog(p profile.Profile, op string, in jsontext.Value) (any, error) {
	switch op {
	case "snapshot":
		v, err := vector.Read[struct {
			Payload jsontext.Value `json:"payload"`
		}](in)
		if err != nil {
			return nil, err
		}
		s, drops, err := catalog.Admit(v.Payload, p)
		if err != nil {
			return nil, err
		}
		dropped := []any{}
		for _, d := range drops {
			dropped = append(dropped, []any{d.Row, string(d.Reason)})
		}
		return canon.Object{"entries": rowsOf(s), "dropped": dropped, "freeze_sha256": digest.HexOfBytes([]byte(s.Freeze()))}, nil
	case "narrow":
		v, err := vector.Read[struct {
			Catalog []row    `json:"catalog"`
			IDs     []string `json:"ids"`
		}](in)
		if err != nil {
			return nil, err
		}
		s, err := catalogOf(v.Catalog)
		if err != nil {
			return nil, err
		}
		n, err := s.Narrow(v.IDs)
		if err != nil {
			return nil, err
		}
		return canon.Object{"entries": rowsOf(n)}, nil
	}
	return nil, vector.UnknownOp(op)
}

func runFreeze(p profile.Profile, op string, in jsontext.Value) (any, error) {
	v, err := vector.Read[struct {
		Catalog []row  `json:"catalog"`
		Text    string `json:"text"`
	}](in)
	if err != nil {
		return nil, err
	}
	switch op {
	case "freeze":
		s, err := catalogOf(v.Catalog)
		if err != nil {
			return nil, err
		}
		return canon.Object{"freeze": s.Freeze(), "sha256": digest.HexOfBytes([]byte(s.Freeze()))}, nil
	case "thaw":
		s, err := catalog.Thaw(v.Text, p)
		if err != nil {
			return nil, err
		}
		return canon.Object{"entries": rowsOf(s), "freeze": s.Freeze()}, nil
	}
	return nil, vector.UnknownOp(op)
}

// taskIn is a task as vectors write it.
type taskIn struct {
	ID        string   `json:"task_id"`
	Benchmark string   `json:"benchmark"`
	Prompt    string   `json:"prompt"`
	Tools     []string `json:"tools"`
	Group     *string  `json:"group"`
}

func (t taskIn) spec() task.Spec {
	s := task.Spec{ID: t.ID, Benchmark: t.Benchmark, Prompt: t.Prompt, Tools: t.Tools}
	if t.Group != nil {
		s.Group = *t.Group
	}
	return s
}

func pinOne(t taskIn) (task.Pinned, error) {
	if t.Benchmark == "" {
		t.Benchmark = "-" // some lines leave it out where it does not matter
	}
	slice, err := window.Slice("", []task.Spec{t.spec()})
	if err != nil {
		return task.Pinned{}, err
	}
	return slice[0], nil
}

type historyIn struct {
	Kind        string  `json:"kind"`
	Model       string  `json:"model_id"`
	Success     bool    `json:"success"`
	Cost        float64 `json:"cost"`
	ParseFailed bool    `json:"parse_failed"`
}

func promptOf(r *state.Renderer, t taskIn, history []historyIn) (state.Prompt, error) {
	pinned, err := pinOne(t)
	if err != nil {
		return state.Prompt{}, err
	}
	e := r.Episode(pinned)
	for _, h := range history {
		if h.ParseFailed {
			e.Refused()
			continue
		}
		cost, err := money.FromFloat(h.Cost)
		if err != nil {
			return state.Prompt{}, err
		}
		kind := action.Delegate
		if h.Kind == "retry" {
			kind = action.Retry
		}
		e.Delegated(kind, h.Model, h.Success, cost)
	}
	return e.Prompt(), nil
}

func runRender(p profile.Profile, op string, in jsontext.Value) (any, error) {
	type stateIn struct {
		Task    taskIn      `json:"task"`
		History []historyIn `json:"history"`
	}
	v, err := vector.Read[struct {
		Instructions string      `json:"instructions"`
		Catalog      []row       `json:"catalog"`
		Task         taskIn      `json:"task"`
		History      []historyIn `json:"history"`
		States       []stateIn   `json:"states"`
	}](in)
	if err != nil {
		return nil, err
	}
	s, err := catalogOf(v.Catalog)
	if err != nil {
		return nil, err
	}
	r, err := state.NewRenderer(v.Instructions, s, p)
	if err != nil {
		return nil, err
	}
	out := canon.Object{"prefix_chars": r.PrefixChars(), "prefix_sha256": digest.HexOfBytes([]byte(r.Prefix()))}
	switch op {
	case "render":
		p, err := promptOf(r, v.Task, v.History)
		if err != nil {
			return nil, err
		}
		out["prompt"], out["sha256"] = p.String(), p.DigestHex()
		return out, nil
	case "prefix":
		tails, sums := []any{}, []any{}
		for _, st := range v.States {
			p, err := promptOf(r, st.Task, st.History)
			if err != nil {
				return nil, err
			}
			tails = append(tails, p.String()[len(r.Prefix()):])
			sums = append(sums, p.DigestHex())
		}
		out["tails"], out["prompt_sha256"], out["prefix_tokens"] = tails, sums, r.PrefixTokens()
		return out, nil
	}
	return nil, vector.UnknownOp(op)
}

func runTaskOrder(_ profile.Profile, op string, in jsontext.Value) (any, error) {
	v, err := vector.Read[struct {
		Nonce string   `json:"nonce"`
		IDs   []string `json:"task_ids"`
		Size  int      `json:"size"`
		Tasks []taskIn `json:"tasks"`
	}](in)
	if err != nil {
		return nil, err
	}
	switch op {
	case "task_order":
		order := task.Order(v.Nonce, v.IDs)
		var first any
		if len(order) > 0 {
			first = task.OrderKey(v.Nonce, order[0])
		}
		return canon.Object{"order": order, "first_key": first}, nil
	case "subsample":
		labels := make([]task.Label, len(v.Tasks))
		for i, t := range v.Tasks {
			labels[i] = task.Label{ID: t.ID, Benchmark: t.Benchmark}
		}
		order, err := task.Subsample(v.Nonce, v.Size, labels)
		if err != nil {
			return nil, err
		}
		return canon.Object{"order": order}, nil
	}
	return nil, vector.UnknownOp(op)
}

func runDraw(_ profile.Profile, _ string, in jsontext.Value) (any, error) {
	v, err := vector.Read[struct {
		Nonce        string         `json:"nonce"`
		Window       jsontext.Value `json:"window"`
		PerBenchmark int            `json:"per_benchmark"`
		Minimum      int            `json:"minimum"`
		Tasks        []taskIn       `json:"tasks"`
	}](in)
	if err != nil {
		return nil, err
	}
	pool := make([]task.Spec, len(v.Tasks))
	for i, t := range v.Tasks {
		pool[i] = t.spec()
	}
	d, err := window.Draw(pool, v.Nonce, string(v.Window), v.PerBenchmark, v.Minimum)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(d.Tasks))
	for i, t := range d.Tasks {
		ids[i] = t.ID()
	}
	return canon.Object{"task_ids": ids, "counts": countsOf(d.Counts), "narrowed": countsOf(d.Narrowed)}, nil
}

func countsOf(counts []window.Count) []any {
	out := []any{}
	for _, c := range counts {
		out = append(out, []any{c.Benchmark, c.N})
	}
	return out
}
