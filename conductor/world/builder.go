package world

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"assay/conductor/grade"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/name"
)

// Place is where a row came from.
type Place struct {
	File string
	Line int // from 1; 0 where there is none
}

// Recorded is one outcome as a file gives it. A nil field was not recorded.
type Recorded struct {
	TaskID, Model       string
	Text, Failure       string
	OK                  bool
	Score, Cost         *float64 // cost in dollars
	TokensIn, TokensOut *int64
}

// Builder makes a world row by row and collects every defect. The zero Builder is ready for use.
// All models and tasks come before the first outcome.
type Builder struct {
	w        World
	defects  []Defect
	more     bool
	entries  []entry // one for each task
	filled   []bool
	outcomes bool
	file     string // of the outcomes
	lost     struct{ models, tasks, outcomes bool }
}

// entry is what can only be judged at the end about a task.
type entry struct {
	at       Place
	doubted  bool // its metric or reference is refused already
	unscored bool // an answer to it has no recorded score
}

// Defect notes that something is wrong.
func (b *Builder) Defect(at Place, code fault.Code, detail string, args ...any) {
	if len(b.defects) >= MaxDefects {
		b.more = true
		return
	}
	if len(args) > 0 {
		detail = fmt.Sprintf(detail, args...)
	}
	if detail == "" {
		detail = code.Public()
	}
	b.defects = append(b.defects, Defect{File: at.File, Line: at.Line, Code: code, Detail: detail})
}

// Note notes what was put right or left out, up to MaxDefects times. A note is no defect.
func (b *Builder) Note(at Place, code fault.Code, detail string, args ...any) {
	if len(args) > 0 {
		detail = fmt.Sprintf(detail, args...)
	}
	if len(b.w.Notes) < MaxDefects {
		b.w.Notes = append(b.w.Notes, Defect{File: at.File, Line: at.Line, Code: code, Detail: detail})
	}
}

// text notes text that is not UTF-8.
func (b *Builder) text(at Place, field, s string) {
	if !utf8.ValidString(s) {
		b.Defect(at, NotJSON, "%s is not UTF-8", field)
	}
}

// named is how a row is called in its defects.
func named(what, id string) string {
	if id == "" {
		return "the " + what
	}
	return what + " " + Quote(id)
}

// AddModel adds a model. A nil price is missing, which is never a price of zero.
func (b *Builder) AddModel(at Place, id string, in, out *float64, context int64) {
	b.addModel(at, modelRow{ID: id, In: in, Out: out, Context: &context}, nil)
}

func (b *Builder) addModel(at Place, r modelRow, d *doubt) {
	if d.of("id") {
		r.ID = ""
	}
	_, dup := b.w.models[r.ID]
	switch {
	case r.ID == "":
		b.lost.models = true // whatever names a model may mean this one
		if !d.of("id") {
			b.Defect(at, MissingField, "model without an id")
		}
	case dup:
		b.Defect(at, DuplicateID, "duplicate model id %s", Quote(r.ID))
	case len(b.w.Models) == MaxModels:
		b.Defect(at, TooLarge, "more than %d models", MaxModels)
		return
	default:
		b.noteID(at, r.ID)
	}
	b.text(at, "the model id", r.ID)
	m := Model{ID: r.ID}
	if !d.of("price_in_per_mtok") {
		m.In = b.price(at, r.ID, "input", r.In)
	}
	if !d.of("price_out_per_mtok") {
		m.Out = b.price(at, r.ID, "output", r.Out)
	}
	switch {
	case d.of("context_length"):
	case r.Context == nil:
		b.Defect(at, BadContext, "%s has no context length", named("model", r.ID))
	case *r.Context <= 0:
		b.Defect(at, BadContext, "%s has a context length of %d", named("model", r.ID), *r.Context)
	default:
		m.Context = *r.Context
	}
	if r.ID == "" || dup {
		return
	}
	if b.w.models == nil {
		b.w.models = map[string]int{}
	}
	b.w.models[r.ID] = len(b.w.Models)
	b.w.Models = append(b.w.Models, m)
}

// flaws says of an id what a strict catalog holds against it. An empty id and one that is not UTF-8 are defects.
var flaws = map[name.Flaw]string{
	name.TooLong: "is longer than " + strconv.Itoa(name.MaxID) + " bytes", name.LineEnd: "holds a line end",
	name.Blank: "holds white space", name.Control: "holds a control character", name.Unseen: "holds an invisible character",
}

// noteID notes an id by which no strict window takes a model; under the compat profile it plays.
func (b *Builder) noteID(at Place, id string) {
	if why := flaws[name.CheckID(id)]; why != "" {
		b.Note(at, BadID, "no strict window takes model %s: its id %s", Quote(id), why)
	}
}

func (b *Builder) price(at Place, id, side string, p *float64) float64 {
	switch {
	case p == nil:
		b.Defect(at, BadPrice, "%s has no %s price", named("model", id), side)
	case !(*p >= 0) || math.IsInf(*p, 0):
		b.Defect(at, BadPrice, "%s has an %s price of %v", named("model", id), side, *p)
	default:
		if _, err := money.FromFloat(*p); err != nil {
			b.Defect(at, BadPrice, "%s has an %s price of %v, beyond all accounts", named("model", id), side, *p)
		}
		return *p
	}
	return 0
}

// AddTask adds a task.
func (b *Builder) AddTask(at Place, t Task) { b.addTask(at, t, nil) }

func (b *Builder) addTask(at Place, t Task, d *doubt) {
	if d.of("task_id") {
		t.ID = ""
	}
	_, dup := b.w.tasks[t.ID]
	switch {
	case t.ID == "":
		b.lost.tasks = true // whatever names a task may mean this one
		if !d.of("task_id") {
			b.Defect(at, MissingField, "task without an id")
		}
	case dup:
		b.Defect(at, DuplicateID, "duplicate task id %s", Quote(t.ID))
	case len(t.ID) > MaxTaskID:
		b.Defect(at, BadID, "the id of task %s is longer than %d bytes", Quote(t.ID), MaxTaskID)
	case len(b.w.Tasks) == MaxRows:
		b.Defect(at, TooLarge, "more than %d tasks", MaxRows)
		return
	}
	b.taskFields(at, &t, d)
	if t.ID == "" || dup {
		return
	}
	if b.w.tasks == nil {
		b.w.tasks = map[string]int{}
	}
	b.w.tasks[t.ID] = len(b.w.Tasks)
	b.w.Tasks = append(b.w.Tasks, t)
	b.entries = append(b.entries, entry{at: at, doubted: d.of("reference") || d.of("metric")})
}

// taskFields judges a task's fields one by one.
func (b *Builder) taskFields(at Place, t *Task, d *doubt) {
	for _, f := range [...]struct{ name, value string }{{"benchmark", t.Benchmark}, {"prompt", t.Prompt}} {
		if f.value == "" && !d.of(f.name) {
			b.Defect(at, MissingField, "%s has no %s", named("task", t.ID), f.name)
		}
	}
	for _, f := range [...]struct{ name, value string }{
		{"the task id", t.ID}, {"the benchmark", t.Benchmark}, {"the prompt", t.Prompt}, {"the group", t.Group},
		{"the reference", t.Reference}, {"the metric", t.Metric},
	} {
		b.text(at, f.name, f.value)
	}
	if d.of("tools") {
		return
	}
	for _, tool := range t.Tools {
		if tool == "" || !utf8.ValidString(tool) {
			b.Defect(at, MissingField, "%s declares a tool without a name", named("task", t.ID))
		}
	}
	if len(t.Tools) == 0 {
		t.Tools = nil
	}
}

// Recorded says that the world has outcomes, even if none follows, and how their file is called.
func (b *Builder) Recorded(file string) {
	if b.outcomes {
		return
	}
	b.outcomes, b.file = true, file
	n := len(b.w.Tasks) * len(b.w.Models)
	if n > MaxRows {
		b.Defect(Place{File: file}, TooLarge, "%d tasks times %d models are more than %d", len(b.w.Tasks), len(b.w.Models), MaxRows)
		return
	}
	b.w.outcomes, b.filled = make([]Outcome, n), make([]bool, n)
}

// AddOutcome adds an outcome and estimates what it does not say.
func (b *Builder) AddOutcome(at Place, r Recorded) { b.addOutcome(at, r, nil) }

func (b *Builder) addOutcome(at Place, r Recorded, d *doubt) {
	b.Recorded(at.File)
	b.file = at.File
	if d.of("task_id") {
		r.TaskID = ""
	}
	if d.of("model") {
		r.Model = ""
	}
	t, knownTask := b.w.tasks[r.TaskID]
	m, knownModel := b.w.models[r.Model]
	switch {
	case r.TaskID == "" && !d.of("task_id"):
		b.Defect(at, MissingField, "outcome without a task id")
	case r.TaskID != "" && !knownTask && !b.lost.tasks && len(b.w.Tasks) > 0: // else a defect of the tasks says it
		b.Defect(at, UnknownTask, "no task %s", Quote(r.TaskID))
	}
	switch {
	case r.Model == "" && !d.of("model"):
		b.Defect(at, MissingField, "outcome without a model")
	case r.Model != "" && !knownModel && !b.lost.models && len(b.w.Models) > 0:
		b.Defect(at, UnknownModel, "no model %s", Quote(r.Model))
	}
	if r.TaskID == "" || r.Model == "" {
		b.lost.outcomes = true // whatever outcome is missing may be this one
	}
	task, judged, model := &Task{}, &entry{doubted: true}, Model{}
	if knownTask {
		task, judged = &b.w.Tasks[t], &b.entries[t]
	}
	if knownModel {
		model = b.w.Models[m]
	}
	o := b.outcome(at, r, task, model, judged, d)
	if !knownTask || !knownModel || b.filled == nil {
		return
	}
	cell := t*len(b.w.Models) + m
	if b.filled[cell] {
		b.Defect(at, DuplicateID, "second outcome of %s for task %s", Quote(r.Model), Quote(r.TaskID))
		return
	}
	b.filled[cell], b.w.outcomes[cell] = true, o
}

func (b *Builder) outcome(at Place, r Recorded, t *Task, m Model, judged *entry, d *doubt) Outcome {
	b.text(at, "the answer", r.Text)
	b.text(at, "the failure", r.Failure)
	o := Outcome{Text: r.Text, Failure: r.Failure, OK: r.OK}
	switch {
	case r.Score != nil:
		o.Score, o.HasScore = b.score(at, r, t.Metric), true
	case !o.OK || judged.doubted || d.of("score") || d.of("ok"):
	case !grade.Known(t.Metric):
		b.Defect(at, NoGrader, "no score, and the metric %s of task %s is not recomputed%s", Quote(t.Metric), Quote(t.ID), didYouMean(t.Metric))
	default:
		judged.unscored = true
	}
	o.TokensIn = b.tokens(at, "input", r.TokensIn, t.Prompt, o.OK)
	o.TokensOut = b.tokens(at, "output", r.TokensOut, r.Text, o.OK)
	switch {
	case r.Cost != nil:
		cost, err := money.FromFloat(*r.Cost)
		if err != nil || *r.Cost < 0 {
			b.Defect(at, BadCost, "cost of %v dollars", *r.Cost)
			cost = 0
		}
		o.Cost = cost
	case o.OK || r.TokensIn != nil || r.TokensOut != nil:
		o.Cost, o.Estimated = m.ListPrice(o.TokensIn, o.TokensOut), true
	}
	return o
}

// score returns the recorded score.
func (b *Builder) score(at Place, r Recorded, metric string) float64 {
	s := *r.Score
	switch {
	case s < 0 && s >= -1 && metric == penalised && r.OK:
		b.Note(at, BadScore, "score %v of %s counts as zero: %s subtracts a penalty", s, Quote(r.Model), penalised)
		return 0
	case !(s >= 0 && s <= 1):
		b.Defect(at, BadScore, "score %v of %s lies outside zero to one", s, Quote(r.Model))
	case !r.OK && s != 0:
		b.Defect(at, BadScore, "score %v for a call that failed", s)
	}
	return s
}

// tokens returns a recorded count, or the estimate for an answered call.
func (b *Builder) tokens(at Place, side string, n *int64, s string, answered bool) int64 {
	switch {
	case n == nil && answered:
		return EstimateTokens(s)
	case n == nil:
		return 0
	case *n < 0:
		b.Defect(at, BadTokens, "%d %s tokens", *n, side)
		return 0
	}
	return *n
}

// Defects returns the defects found so far.
func (b *Builder) Defects() []Defect { return b.defects }

// Done returns the world, or nil and all defects: those of models, then of tasks, then of outcomes, by line.
func (b *Builder) Done() (*World, []Defect) {
	if len(b.defects) == 0 && (len(b.w.Models) == 0 || len(b.w.Tasks) == 0) {
		b.Defect(Place{}, Empty, "")
	}
	if b.outcomes {
		b.checkComplete()
	}
	b.checkMetrics()
	if len(b.defects) == 0 {
		return &b.w, nil
	}
	b.sort()
	if b.more {
		b.defects = append(b.defects, Defect{File: b.defects[len(b.defects)-1].File, Code: More, Detail: More.Public()})
	}
	return nil, b.defects
}

// sort brings the defects of one file together and into the order of its lines; what is said of a whole file stands last.
func (b *Builder) sort() {
	rank := map[string]int{ModelsFile: -2, TasksFile: -1}
	for i, d := range b.defects {
		if name := strings.TrimSuffix(d.File, ".gz"); rank[name] == 0 {
			rank[name] = i + 1
		}
	}
	line := func(d Defect) int {
		if d.Line == 0 {
			return math.MaxInt
		}
		return d.Line
	}
	slices.SortStableFunc(b.defects, func(x, y Defect) int {
		return cmp.Or(cmp.Compare(rank[strings.TrimSuffix(x.File, ".gz")], rank[strings.TrimSuffix(y.File, ".gz")]), cmp.Compare(line(x), line(y)))
	})
}

func (b *Builder) checkComplete() {
	if b.lost.outcomes {
		return // what was not read cannot be said to be missing
	}
	for cell, ok := range b.filled {
		if b.more {
			return
		}
		if !ok {
			t, m := b.w.Tasks[cell/len(b.w.Models)], b.w.Models[cell%len(b.w.Models)]
			b.Defect(Place{File: b.file}, NoOutcome, "no outcome of %s for task %s", Quote(m.ID), Quote(t.ID))
		}
	}
}

// checkMetrics tells the tasks whose answers are not scored here: a defect where no recorded score stands in, else a note.
func (b *Builder) checkMetrics() {
	told := map[string]bool{}
	for i := range b.w.Tasks {
		t, e := &b.w.Tasks[i], b.entries[i]
		if e.doubted || computed(t) {
			continue
		}
		known, unfit := grade.Known(t.Metric), fmt.Sprintf("reference %s of task %s does not fit the metric %s", Quote(t.Reference), Quote(t.ID), t.Metric)
		switch {
		case !known && !b.outcomes:
			b.Defect(e.at, NoGrader, "metric %s of task %s is not recomputed and no outcomes are recorded%s", Quote(t.Metric), Quote(t.ID), didYouMean(t.Metric))
		case !known && !told[t.Metric]:
			told[t.Metric] = true
			b.noteMetric(e.at, t)
		case known && !b.outcomes:
			b.Defect(e.at, NoGrader, "%s", unfit)
		case known && e.unscored:
			b.Defect(e.at, NoGrader, "%s, and an answer to it has no recorded score", unfit)
		case known:
			b.Note(e.at, NoGrader, "%s: its recorded scores count", unfit)
		}
	}
}

// noteMetric notes a metric that looks like a slip. One of which nothing is known may well be meant.
func (b *Builder) noteMetric(at Place, t *Task) {
	switch m := meant(t.Metric); {
	case t.Metric == "":
		b.Note(at, NoGrader, "task %s names no metric: its recorded scores count", Quote(t.ID))
	case m != "":
		b.Note(at, NoGrader, "unknown metric %s: its recorded scores count; did you mean %s?", Quote(t.Metric), m)
	}
}
