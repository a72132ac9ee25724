package audit_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"assay/conductor/catalog"
	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/policy"
	"assay/conductor/profile"
	"assay/conductor/publication"
	"assay/conductor/reading"
	"assay/conductor/receipt"
	"assay/conductor/round"
	"assay/conductor/score"
	"assay/conductor/state"
	"assay/conductor/submission"
	"assay/conductor/task"
	"assay/conductor/trace"
	"assay/conductor/window"
	"assay/core/canon"
	"assay/core/money"
	"assay/core/sign"
	"assay/tlog"
)

var owner, gateway = sign.NewEd25519([32]byte{1}), sign.NewEd25519([32]byte{2})

func must(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

func verifier(t testing.TB) tlog.VerifierKey {
	key, err := tlog.NewVerifierKey("audit.test/conductor", owner.Public())
	must(t, err)
	return key
}

// world is what an owner's windows are made of here.
type world struct {
	tasks    int // of each of the two benchmarks
	miners   []miner
	windows  int
	inspects bool                            // tasks declare READ and workers use it
	served   func(task, model string) string // name that answers; nil: the model's
	broken   func(task, model string) bool   // the worker fails
	long     string                          // stands in every statement
	gate     int                             // tasks of the power gate; 0: all
	unfair   int                             // from which task on the first miner's arm is cut off as futile; 0: by the rule
	signer   sign.Signer                     // of receipts; nil: the gateway
	better   bool                            // the first miner is served better grades than were bought
	alone    bool                            // every arm buys its own draws
	limit    int                             // steps after which the first miner's arm is given up; 0: never
}

// miner always says one thing first and then stops.
type miner struct{ hotkey, turn string }

// publisher writes a publication into memory as the owner's flow does: lines into files, and every line into the log.
type publisher struct {
	t      testing.TB
	files  fstest.MapFS
	leaves [][]byte
}

func (p *publisher) file(name string, lines ...[]byte) {
	var text []byte
	for i, l := range lines {
		text = append(append(text, l...), '\n')
		p.leaves = append(p.leaves, publication.Leaf(nil, name, i+1, l))
	}
	p.files[name] = &fstest.MapFile{Data: text}
}

func (p *publisher) numbered(dir string, lines [][]byte) {
	for i := 0; i < len(lines); i += publication.Chunk {
		p.file(publication.Numbered(dir, i), lines[i:min(len(lines), i+publication.Chunk)]...)
	}
}

func (p *publisher) sealed(name string, record canon.Object) {
	line, err := sign.Seal(record, owner)
	must(p.t, err)
	p.file(name, line)
}

func (p *publisher) json(v any) []byte {
	line, err := canon.Marshal(v)
	must(p.t, err)
	return line
}

// log writes key, pointer and log, and returns the publication.
func (p *publisher) log(latest int64) fstest.MapFS {
	key := verifier(p.t)
	p.files[publication.KeyFile] = &fstest.MapFile{Data: []byte(key.String() + "\n")}
	if latest > 0 {
		p.files[publication.LatestFile] = &fstest.MapFile{Data: append(p.json(publication.Latest{Window: latest}), '\n')}
	}
	b := &tlog.Builder{}
	emit := func(t tlog.Tile, data []byte) {
		p.files[publication.LogDir+"/"+t.Path()] = &fstest.MapFile{Data: bytes.Clone(data)}
	}
	for _, l := range p.leaves {
		must(p.t, b.Add(l, emit))
	}
	b.Partial(0, emit)
	note, err := tlog.Checkpoint{Origin: key.Origin(), Size: b.Size(), Root: b.Root()}.Sign(owner)
	must(p.t, err)
	p.files[publication.LogDir+"/"+tlog.CheckpointPath] = &fstest.MapFile{Data: note}
	return p.files
}

// owned is one window under way.
type owned struct {
	*publisher
	world
	dir      string
	number   int64
	record   window.Record
	rules    publication.Rules
	slice    []task.Pinned
	gate     []task.Pinned
	renderer *state.Renderer
	rows     map[outcome.Key]outcome.Row
	draws    round.Table
	hits     map[outcome.Key]bool
	arms     []func() // publish them
}

// publish plays a world's windows.
func publish(t testing.TB, w world) fstest.MapFS {
	t.Helper()
	p := &publisher{t: t, files: fstest.MapFS{}}
	snapshot, err := catalog.New([]catalog.Entry{{ID: "c/c", In: .1, Out: .4, Context: 9000}, {ID: "s/s", In: 3, Out: 9, Context: 9000}}, profile.Strict)
	must(t, err)
	rules := publication.Rules{
		V: publication.Version, Instructions: "Route.", Aliases: map[string][]string{"s/s": {"s-2026"}}, KingZero: policy.Cheapest, Contrast: policy.Strongest,
		Exchange:  map[string]publication.Rate{"a": {Lam: .5, C: .01, Flags: []score.Flag{}}, "b": {Lam: .5, C: .01, Flags: []score.Flag{}}},
		GateTasks: 2 * w.tasks, Duels: 3, Concurrency: 1, Gateway: gateway.Public().String(), Genesis: 100, WindowBlocks: 50,
	}
	pool := w.pool()
	if w.gate > 0 {
		rules.GateTasks = w.gate
	}
	rulesDigest, err := rules.Digest()
	must(t, err)
	poolDigest, err := window.PoolDigest(pool, profile.Strict)
	must(t, err)
	var entries []window.Entry
	for n := range int64(max(w.windows, 1)) {
		entries = append(entries, window.Entry{
			Epoch: n + 1, PerBenchmark: int64(w.tasks), Minimum: 1, PoolDigest: poolDigest, InstructionsDigest: state.InstructionsDigest(rules.Instructions), RulesDigest: rulesDigest,
		})
	}
	manifest, err := window.NewManifest(entries)
	must(t, err)
	p.sealed(publication.ScheduleFile, manifest.Object())
	var last *round.Reveal
	var revealed []string
	for n := range int64(max(w.windows, 1)) {
		o := &owned{publisher: p, world: w, number: n + 1, dir: publication.WindowDir(n + 1), rules: rules, rows: map[outcome.Key]outcome.Row{}, hits: map[outcome.Key]bool{}}
		o.renderer, err = state.NewRenderer(rules.Instructions, snapshot, profile.Strict)
		must(t, err)
		o.record, o.slice, err = window.Build(window.Basis{
			Epoch: n + 1, Entry: entries[n], Pool: pool, Catalog: snapshot.Freeze(), Nonce: fmt.Sprintf("0x%064x", n), Revealed: revealed,
			Instructions: rules.Instructions, RulesDigest: rulesDigest,
		})
		must(t, err)
		revealed = append(revealed, o.record.TaskIDs...)
		o.open(pool)
		last = o.run(last)
	}
	return p.log(last.Window)
}

func (w world) pool() (pool []task.Spec) {
	for i := range 2 * w.tasks {
		s := task.Spec{ID: fmt.Sprint("t", i), Benchmark: string(rune('a' + i%2)), Prompt: fmt.Sprint(i, "+1?", w.long)}
		if w.inspects {
			s.Tools = []string{"READ"}
			s.Prompt += "\n" + reading.Invitation(s.Tools)
		}
		pool = append(pool, s)
	}
	return pool
}

func (o *owned) open(pool []task.Spec) {
	o.sealed(o.dir+"/"+publication.RecordFile, o.record.Object())
	o.file(o.dir+"/"+publication.RulesFile, o.json(o.rules))
	o.file(o.dir+"/"+publication.CatalogFile, o.json(publication.Source{V: 1, Name: "made up"}))
	var lines []window.PoolLine
	for _, s := range pool {
		lines = append(lines, window.LineOf(s))
	}
	var text [][]byte
	for _, l := range window.SortPool(lines) {
		text = append(text, l.Append(nil))
	}
	o.numbered(o.dir+"/"+publication.PoolDir, text)
	text = nil
	for _, t := range o.slice {
		text = append(text, o.json(publication.TaskOf(t)))
	}
	o.numbered(o.dir+"/"+publication.TasksDir, text)
}

// run drives the window's machine and publishes what it decided.
func (o *owned) run(last *round.Reveal) *round.Reveal {
	freshness, err := canon.UTF8(o.record.Object()["freshness"])
	must(o.t, err)
	set := round.Setup{Window: o.number, Nonce: o.record.Nonce, Rules: o.rules, Freshness: string(freshness), Seen: o.record.Seen}
	labels := make([]task.Label, len(o.slice))
	for i, t := range o.slice {
		labels[i] = task.Label{ID: t.ID(), Benchmark: t.Benchmark()}
		set.Tasks = append(set.Tasks, score.Task{ID: t.ID(), Benchmark: t.Benchmark()})
	}
	set.Gate, err = task.Subsample(o.record.Nonce, o.rules.GateTasks, labels)
	must(o.t, err)
	for _, t := range o.slice {
		if slices.Contains(set.Gate, t.ID()) {
			o.gate = append(o.gate, t)
		}
	}
	if last != nil {
		set.King, set.Coronations = last.Reigns, last.Coronations
	} else {
		for i, m := range o.miners {
			set.Queue = append(set.Queue, round.Place{Hotkey: m.hotkey, Block: int64(i), Status: submission.Queued})
		}
	}
	m := round.New(set)
	ready := m.Start()
	for !ready.Done {
		e := o.event(ready.Do[0])
		ready, err = m.Step(e)
		must(o.t, err)
	}
	for _, arm := range o.arms {
		arm()
	}
	keys := make([]outcome.Key, 0, len(o.rows))
	for k := range o.rows {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, outcome.Key.Compare)
	var lines [][]byte
	for _, k := range keys {
		sum, err := outcome.Digest(k, o.rows[k])
		must(o.t, err)
		lines = append(lines, o.json(publication.Outcome{Task: k.Task, Model: k.Model, Attempt: k.Attempt, Row: sum}))
	}
	o.numbered(o.dir+"/"+publication.OutcomesDir, lines)
	record, err := m.Reveal().Record()
	must(o.t, err)
	o.sealed(o.dir+"/"+publication.RevealFile, record)
	return m.Reveal()
}

func (o *owned) event(do round.Effect) round.Event {
	switch do.Do {
	case round.Admit:
		return round.Event{Told: round.Admitted}
	case round.Play:
		return o.play(do.Arm)
	case round.Retest:
		e := round.Event{Told: round.Retested, Table: o.draws}
		var keys []outcome.Key
		for k := range o.hits {
			keys = append(keys, k)
		}
		cost := func(k outcome.Key) money.Pico { return o.rows[k].Cost }
		for _, k := range outcome.Retest(o.record.Nonce, keys, cost, outcome.RetestKeys, outcome.RetestCost) {
			e.Retests = append(e.Retests, round.Again{Task: k.Task, Model: k.Model, Attempt: k.Attempt, Stored: cost(k), Cost: cost(k)})
		}
		return e
	case round.Promote:
		return round.Event{Told: round.Promoted, Detail: "models/" + do.Hotkey}
	case round.Look:
		live := map[int]string{0: "owner"}
		for i, m := range o.miners {
			live[i+1] = m.hotkey
		}
		return round.Event{Told: round.Looked, Live: live}
	case round.Persist:
		return round.Event{Told: round.Persisted}
	case round.Weigh:
		return round.Event{Told: round.Weighed}
	}
	return round.Event{Told: round.Published}
}

// played is an arm under way.
type played struct {
	*owned
	arm      round.Arm
	duel     string
	receipts [][]receipt.Receipt // by episode
}

func (o *owned) play(a round.Arm) round.Event {
	p := &played{owned: o, arm: a, duel: receipt.Duel{Window: o.number, Arm: a.Name, Attempt: 1}.String()}
	slots := o.slice
	if a.Kind == publication.Gate {
		slots = o.gate
	}
	tally := round.Tally{Arm: a.Name}
	who := publication.Arm{V: 1, Name: a.Name, Kind: a.Kind, Duel: p.duel, Hotkey: a.Hotkey, Policy: a.Policy, Payer: a.Payer}
	var traces [][]byte
	futile := false
	for i, t := range slots {
		if a.Beat != nil && !futile {
			var err error
			futile, err = round.Futile(tally.Rows, tasksOf(o.slice), o.rules.Rates(), a.Excluded, *a.Beat)
			must(o.t, err)
			futile = futile && i > 0
		}
		if o.unfair > 0 && a.Name == "m1" {
			futile = i >= o.unfair
		}
		p.receipts = append(p.receipts, nil)
		var r *episode.Result
		switch {
		case slices.Contains(a.Excluded, t.ID()):
			r = episode.Zeroed(t, ending.Excluded)
		case futile:
			r = episode.Zeroed(t, ending.Futile)
		default:
			r = p.episode(i, t)
		}
		if o.limit > 0 && i >= o.limit && a.Kind == publication.Challenger && a.Name == o.miners[0].hotkey {
			who.Aborted = "the Conductor could not be asked" // what this episode bought stays in the table
			break
		}
		line := trace.Append(nil, r)
		e, err := trace.Parse(line)
		must(o.t, err)
		must(o.t, tally.Add(e, t.Group()))
		traces = append(traces, line[:len(line)-1])
	}
	who.Tasks = len(traces)
	for _, k := range tally.Hits {
		o.hits[k] = true
	}
	o.draws = o.draws.Add(tally.Table)
	o.arms = append(o.arms, func() { p.publish(who, traces) })
	all := slices.Concat(p.receipts...)
	audited := receipt.Audit(receipt.Account{Duel: p.duel, Hotkey: a.Hotkey, Key: gateway.Public(), Recorded: tally.Spent}, all)
	return tally.Played(a, p.duel, false, audited, who.Aborted)
}

func tasksOf(slice []task.Pinned) (out []score.Task) {
	for _, t := range slice {
		out = append(out, score.Task{ID: t.ID(), Benchmark: t.Benchmark()})
	}
	return out
}

func (p *played) publish(who publication.Arm, traces [][]byte) {
	dir := p.dir + "/" + publication.ArmsDir + "/" + p.arm.Name
	p.file(dir+"/"+publication.ArmFile, p.json(who))
	p.numbered(dir, traces)
	for i := 0; i < len(p.receipts); i += publication.Chunk {
		var lines [][]byte
		for _, r := range slices.Concat(p.receipts[i:min(len(p.receipts), i+publication.Chunk)]...) {
			line, err := r.Append(nil)
			must(p.t, err)
			lines = append(lines, line[:len(line)-1])
		}
		if len(lines) > 0 {
			p.file(publication.Numbered(p.dir+"/"+publication.ReceiptsDir+"/"+p.arm.Name, i), lines...)
		}
	}
}

// turn is what the arm's Conductor says.
func (p *played) turn(prompt state.Prompt) string {
	if p.arm.Policy != "" {
		c, err := policy.New(p.arm.Policy, p.record.Nonce, p.renderer.Snapshot())
		must(p.t, err)
		return c.Turn(prompt)
	}
	if step, _ := policy.Position(prompt.History()); step == 1 {
		for _, m := range p.miners {
			if m.hotkey == p.arm.Hotkey {
				return m.turn
			}
		}
	}
	return "STOP"
}

// episode plays one episode with made-up workers: s/s is dear and right, c/c is cheap and wrong.
func (p *played) episode(place int, t task.Pinned) *episode.Result {
	m := episode.New(t, p.renderer, episode.Settings{Inspector: true, UseTable: true, Serves: p.rules.Serves})
	ready := m.Start()
	for !ready.Done {
		var e episode.Event
		switch do := ready.Do[0]; do.Do {
		case episode.Ask:
			e = episode.Event{Told: episode.Turn, Text: p.turn(do.Prompt)}
		case episode.Call:
			e = p.call(place, do)
		case episode.Inspect:
			e = episode.Event{Told: episode.Observed, Text: "line " + do.Inspection.Start}
		case episode.Grade:
			e = episode.Event{Told: episode.Graded, Score: float64(len(do.Answer) % 2)}
		case episode.Fill:
			row := *do.Row
			for c := range len(row.Observations) + 1 {
				row.ReceiptIDs = append(row.ReceiptIDs, receipt.Place{Duel: p.duel, Episode: place, Step: do.Step - 1, Call: c}.String())
			}
			p.rows[do.Key], e = row, episode.Event{Told: episode.Filled}
		}
		var err error
		ready, err = m.Step(e)
		must(p.t, err)
	}
	return m.Result()
}

func (p *played) call(place int, do episode.Effect) episode.Event {
	model, seen := do.Request.Model().String(), len(do.Request.Observations())
	r := receipt.Receipt{
		CallID: receipt.Place{Duel: p.duel, Episode: place, Step: do.Step, Call: seen}.String(), Duel: p.duel, Hotkey: p.arm.Hotkey, Model: model,
		PromptHash: receipt.BodyHash(do.Request.Body()),
	}
	e := episode.Event{Told: episode.Answered, Text: map[string]string{"s/s": "1", "c/c": "no"}[model], Cost: map[string]money.Pico{"s/s": 1e10, "c/c": 1e9}[model], TokensIn: 9, TokensOut: 1, Served: model, Provider: "P"}
	if row, ok := p.rows[do.Key]; ok && seen == 0 && !p.alone {
		sum, err := outcome.Digest(do.Key, row)
		must(p.t, err)
		text := row.Text
		if row.Failed {
			text = row.Failure
		}
		r.Replayed, r.Row, r.Cost, r.Failed, r.TokensIn, r.TokensOut = true, sum, row.Cost, row.Failed, row.TokensIn, row.TokensOut
		r.ServedModel, r.Provider, r.ResponseHash = row.ServedModel, row.Provider, receipt.TextHash(text)
		e = episode.Event{Told: episode.Replayed, Row: &row}
		if p.better && p.arm.Name == "m1" {
			row.Grade = .75
		}
	} else {
		switch {
		case p.broken != nil && p.broken(do.Request.Task().ID(), model):
			e.Told, e.Text, e.Served, e.Provider = episode.Failed, "timeout", "", ""
		case p.inspects && seen < 2:
			e.Text = fmt.Sprint("READ f.go ", seen+1)
		}
		if p.served != nil {
			e.Served = p.served(do.Request.Task().ID(), model)
		}
		r.Cost, r.TokensIn, r.TokensOut, r.ServedModel, r.Provider = e.Cost, e.TokensIn, e.TokensOut, e.Served, e.Provider
		r.Failed, r.ResponseHash = e.Told == episode.Failed, receipt.TextHash(e.Text)
	}
	r, err := r.Sign(cmp.Or(p.signer, gateway))
	must(p.t, err)
	p.receipts[place] = append(p.receipts[place], r)
	return e
}
