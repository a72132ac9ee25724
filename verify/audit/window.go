package audit

import (
	"path"

	"assay/conductor"
	"assay/conductor/catalog"
	"assay/conductor/outcome"
	"assay/conductor/profile"
	"assay/conductor/publication"
	"assay/conductor/round"
	"assay/conductor/score"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/sign"
)

// opened is a window whose opening was recomputed.
type opened struct {
	number   int64
	dir      string
	record   window.Record
	entry    window.Entry
	profile  profile.Profile
	rules    publication.Rules
	exchange score.Exchange
	gateway  sign.Key
	renderer *state.Renderer
	slice    []task.Pinned
	tasks    []score.Task
	gate     []task.Pinned
	trees    map[string]string // content addresses of repositories, by task
	opened   repositories
	notes    []string
	// What the arms have bought so far, and the published digests of it.
	fills   map[outcome.Key]fill
	digests map[outcome.Key]string
	draws   round.Table
	hits    map[outcome.Key]bool
	beyond  map[pair]bool // bought by episodes that never ended
}

// schedule reads the schedule of all windows.
func (a *auditor) schedule() (window.Manifest, error) {
	record, err := a.open(publication.ScheduleFile)
	if err != nil {
		return window.Manifest{}, err
	}
	text, err := canon.ASCII(record)
	if err != nil {
		return window.Manifest{}, err
	}
	m, err := window.ParseManifest(text)
	return m, find(publication.ScheduleFile, 1, err)
}

// openWindow recomputes a window's opening: rules, catalog, pool and slice.
func (a *auditor) openWindow(n int64, schedule window.Manifest, revealed []string) (*opened, error) {
	w := &opened{
		number: n, dir: publication.WindowDir(n), fills: map[outcome.Key]fill{}, digests: map[outcome.Key]string{}, hits: map[outcome.Key]bool{},
		beyond: map[pair]bool{},
	}
	file := path.Join(w.dir, publication.RecordFile)
	object, err := a.open(file)
	if err != nil {
		return nil, err
	}
	text, err := canon.ASCII(object)
	if err != nil {
		return nil, err
	}
	if w.record, err = window.ParseRecord(text); err != nil {
		return nil, find(file, 1, err)
	}
	if w.entry, err = w.record.Entry(); err != nil {
		return nil, find(file, 1, err)
	}
	w.profile = w.entry.Profile
	pool, err := a.pool(w)
	if err != nil {
		return nil, err
	}
	verified, err := window.Verify(w.record, n, schedule, pool)
	if err != nil {
		return nil, find(file, 1, err)
	}
	w.slice = verified.Tasks
	if w.renderer, err = a.prompts(w, verified); err != nil {
		return nil, err
	}
	return w, a.fresh(w, file, revealed)
}

// pool reads the pool's lines and the slice's statements.
func (a *auditor) pool(w *opened) (window.Pool, error) {
	var p window.Pool
	var whole []task.Spec // of a compat pool, whose digest is over the statements
	err := a.numbered(path.Join(w.dir, publication.PoolDir), 0, func(file string, number int, line []byte) error {
		if w.profile.Strict() {
			l, err := window.ParsePoolLine(line)
			p.Lines = append(p.Lines, l)
			return err
		}
		var t publication.Task
		err := publication.Parse(file, number, line, &t)
		p.Lines, whole = append(p.Lines, window.LineOf(t.Spec())), append(whole, t.Spec())
		return err
	})
	if err != nil {
		return p, err
	}
	err = a.numbered(path.Join(w.dir, publication.TasksDir), 0, func(file string, number int, line []byte) error {
		var t publication.Task
		if err := publication.Parse(file, number, line, &t); err != nil {
			return err
		}
		if i := len(p.Specs); i >= len(w.record.TaskIDs) || w.record.TaskIDs[i] != t.ID {
			return Differs.With(fault.Str("record", "the slice's order"))
		}
		p.Specs = append(p.Specs, t.Spec())
		if w.trees == nil {
			w.trees = map[string]string{}
		}
		w.trees[t.ID] = t.Tree
		return nil
	})
	if err != nil {
		return p, err
	}
	if len(p.Specs) != len(w.record.TaskIDs) {
		return p, find(path.Join(w.dir, publication.TasksDir), 0, Missing.With(fault.Int("tasks", int64(len(p.Specs)))))
	}
	for i, l := range window.SortPool(p.Lines) {
		if l.String() != p.Lines[i].String() {
			return p, find(publication.Numbered(path.Join(w.dir, publication.PoolDir), i), i%publication.Chunk+1, Differs.With(fault.Str("record", "the pool's order")))
		}
	}
	if !w.profile.Strict() {
		return p, w.wholePool(&p, whole)
	}
	return p, nil
}

// wholePool takes a compat pool, in which every statement is published, and holds the slice's statements against it.
func (w *opened) wholePool(p *window.Pool, whole []task.Spec) error {
	in := make(map[string]bool, len(p.Lines))
	for _, l := range p.Lines {
		in[l.String()] = true
	}
	for i, s := range p.Specs {
		if !in[window.LineOf(s).String()] {
			dir := path.Join(w.dir, publication.TasksDir)
			return find(publication.Numbered(dir, i), i%publication.Chunk+1, conductor.StatementChanged.With(fault.Str("task_id", s.ID)))
		}
	}
	p.Specs, p.Lines = whole, nil
	return nil
}

// prompts reads the rules and makes what renders every prompt.
func (a *auditor) prompts(w *opened, v window.Verified) (*state.Renderer, error) {
	file := path.Join(w.dir, publication.RulesFile)
	line, err := a.only(file)
	if err != nil {
		return nil, err
	}
	if err := publication.Parse(file, 1, line, &w.rules); err != nil {
		return nil, find(file, 1, err)
	}
	if w.rules.V != publication.Version {
		return nil, find(file, 1, Differs.With(fault.Str("record", "the version of the rules")))
	}
	digest, err := w.rules.Digest()
	if err != nil {
		return nil, find(file, 1, err)
	}
	if w.profile.Strict() && digest != w.record.RulesDigest {
		return nil, find(file, 1, conductor.NoRules.With(fault.Str("committed", w.record.RulesDigest)))
	}
	if got := state.InstructionsDigest(w.rules.Instructions); w.profile.Strict() && got != w.entry.InstructionsDigest {
		return nil, find(file, 1, conductor.NotPinned.With(fault.Str("instructions_sha256", got)))
	}
	if w.gateway, err = sign.ParseKey(w.rules.Gateway); err != nil {
		return nil, find(file, 1, err)
	}
	w.exchange = w.rules.Rates()
	for _, t := range w.slice {
		w.tasks = append(w.tasks, score.Task{ID: t.ID(), Benchmark: t.Benchmark(), Group: t.Group()})
	}
	if err := w.subsample(); err != nil {
		return nil, find(file, 1, err)
	}
	if err := a.catalog(w); err != nil {
		return nil, err
	}
	r, err := state.NewRenderer(w.rules.Instructions, v.Catalog, w.profile)
	return r, find(path.Join(w.dir, publication.RecordFile), 1, err)
}

// subsample chooses the power gate's tasks.
func (w *opened) subsample() error {
	labels := make([]task.Label, len(w.slice))
	byID := make(map[string]task.Pinned, len(w.slice))
	for i, t := range w.slice {
		labels[i], byID[t.ID()] = task.Label{ID: t.ID(), Benchmark: t.Benchmark()}, t
	}
	ids, err := task.Subsample(w.record.Nonce, w.rules.GateTasks, labels)
	for _, id := range ids {
		w.gate = append(w.gate, byID[id])
	}
	return err
}

// catalog checks what is said of the rows that are no models.
func (a *auditor) catalog(w *opened) error {
	file := path.Join(w.dir, publication.CatalogFile)
	lines, err := a.chunk(file)
	if err != nil {
		return err
	}
	if len(lines) == 0 {
		return find(file, 0, Missing.With())
	}
	var source publication.Source
	if err := publication.Parse(file, 1, lines[0], &source); err != nil {
		return find(file, 1, err)
	}
	for i, line := range lines[1:] {
		var d publication.Dropped
		if err := publication.Parse(file, i+2, line, &d); err != nil {
			return find(file, i+2, err)
		}
	}
	if source.V != publication.Version || source.Dropped != len(lines)-1 {
		return find(file, 1, Differs.With(fault.Str("record", "the number of dropped rows")))
	}
	return nil
}

// fresh checks what the record says of tasks that earlier windows revealed.
func (a *auditor) fresh(w *opened, file string, revealed []string) error {
	seen, f := window.Recycled(w.slice, revealed)
	again := w.record
	again.Seen, again.Freshness = seen, f
	want, err := canon.ASCII(again.Object())
	if err != nil {
		return err
	}
	got, err := canon.ASCII(w.record.Object())
	if err != nil {
		return err
	}
	return compare(file, 1, want, got, "tasks that earlier windows revealed")
}

// thaw reads the record's catalog.
func thaw(w *opened) (*catalog.Snapshot, error) { return catalog.Thaw(w.record.Catalog, w.profile) }
