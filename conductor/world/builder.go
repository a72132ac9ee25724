package world

import (
	"fmt"
	"math"
	"unicode/utf8"

	"assay/conductor/grade"
	"assay/core/fault"
	"assay/core/money"
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
	places   []Place // of the tasks, for what can only be said at the end
	filled   []bool
	outcomes bool
	file     string // of the outcomes
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
	b.defects = append(b.defects, Defect{File: at.File, Line: at.Line, Code: code, Detail: detail})
}

// penalised is the one public metric that subtracts a penalty and so falls below zero at times.
const penalised = "meteor_score"

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

// AddModel adds a model. A nil price is missing, which is never a price of zero.
func (b *Builder) AddModel(at Place, id string, in, out *float64, context int64) {
	if id == "" {
		b.Defect(at, MissingField, "model without an id")
		return
	}
	if _, dup := b.w.models[id]; dup {
		b.Defect(at, DuplicateID, "duplicate model id %s", Quote(id))
		return
	}
	if len(b.w.Models) == MaxRows {
		b.Defect(at, TooLarge, "more than %d models", MaxRows)
		return
	}
	b.text(at, "the model id", id)
	m := Model{ID: id, In: b.price(at, id, "input", in), Out: b.price(at, id, "output", out), Context: context}
	if context <= 0 {
		b.Defect(at, BadContext, "model %s has a context length of %d", Quote(id), context)
	}
	if b.w.models == nil {
		b.w.models = map[string]int{}
	}
	b.w.models[id] = len(b.w.Models)
	b.w.Models = append(b.w.Models, m)
}

func (b *Builder) price(at Place, id, side string, p *float64) float64 {
	switch {
	case p == nil:
		b.Defect(at, BadPrice, "model %s has no %s price", Quote(id), side)
	case !(*p >= 0) || math.IsInf(*p, 0):
		b.Defect(at, BadPrice, "model %s has an %s price of %v", Quote(id), side, *p)
	default:
		if _, err := money.FromFloat(*p); err != nil {
			b.Defect(at, BadPrice, "model %s has an %s price of %v, beyond all accounts", Quote(id), side, *p)
		}
		return *p
	}
	return 0
}

// AddTask adds a task.
func (b *Builder) AddTask(at Place, t Task) {
	if t.ID == "" {
		b.Defect(at, MissingField, "task without an id")
		return
	}
	if _, dup := b.w.tasks[t.ID]; dup {
		b.Defect(at, DuplicateID, "duplicate task id %s", Quote(t.ID))
		return
	}
	if len(b.w.Tasks) == MaxRows {
		b.Defect(at, TooLarge, "more than %d tasks", MaxRows)
		return
	}
	for _, f := range [...]struct{ name, value string }{{"benchmark", t.Benchmark}, {"prompt", t.Prompt}} {
		if f.value == "" {
			b.Defect(at, MissingField, "task %s has no %s", Quote(t.ID), f.name)
		}
	}
	for _, f := range [...]struct{ name, value string }{
		{"the task id", t.ID}, {"the benchmark", t.Benchmark}, {"the prompt", t.Prompt}, {"the group", t.Group},
		{"the reference", t.Reference}, {"the metric", t.Metric},
	} {
		b.text(at, f.name, f.value)
	}
	for _, tool := range t.Tools {
		if tool == "" || !utf8.ValidString(tool) {
			b.Defect(at, MissingField, "task %s declares a tool without a name", Quote(t.ID))
		}
	}
	if len(t.Tools) == 0 {
		t.Tools = nil
	}
	if b.w.tasks == nil {
		b.w.tasks = map[string]int{}
	}
	b.w.tasks[t.ID] = len(b.w.Tasks)
	b.w.Tasks = append(b.w.Tasks, t)
	b.places = append(b.places, at)
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
func (b *Builder) AddOutcome(at Place, r Recorded) {
	b.Recorded(at.File)
	b.file = at.File
	t, knownTask := b.w.tasks[r.TaskID]
	m, knownModel := b.w.models[r.Model]
	switch {
	case r.TaskID == "":
		b.Defect(at, MissingField, "outcome without a task id")
	case !knownTask && len(b.w.Tasks) > 0: // without any task the tasks' own defect says it all
		b.Defect(at, UnknownTask, "no task %s", Quote(r.TaskID))
	}
	switch {
	case r.Model == "":
		b.Defect(at, MissingField, "outcome without a model")
	case !knownModel && len(b.w.Models) > 0:
		b.Defect(at, UnknownModel, "no model %s", Quote(r.Model))
	}
	if !knownTask || !knownModel || b.filled == nil {
		return
	}
	cell := t*len(b.w.Models) + m
	if b.filled[cell] {
		b.Defect(at, DuplicateID, "second outcome of %s for task %s", Quote(r.Model), Quote(r.TaskID))
		return
	}
	b.filled[cell] = true
	b.w.outcomes[cell] = b.outcome(at, r, &b.w.Tasks[t], b.w.Models[m])
}

func (b *Builder) outcome(at Place, r Recorded, t *Task, m Model) Outcome {
	b.text(at, "the answer", r.Text)
	b.text(at, "the failure", r.Failure)
	o := Outcome{Text: r.Text, Failure: r.Failure, OK: r.OK}
	if r.Score != nil {
		o.Score, o.HasScore = *r.Score, true
		if o.Score < 0 && o.Score >= -1 && t.Metric == penalised {
			b.Note(at, BadScore, "score %v of %s counts as zero: %s subtracts a penalty", o.Score, Quote(r.Model), penalised)
			o.Score = 0
		}
		if !(o.Score >= 0 && o.Score <= 1) {
			b.Defect(at, BadScore, "score %v of %s lies outside zero to one", o.Score, Quote(r.Model))
		} else if !o.OK && o.Score != 0 {
			b.Defect(at, BadScore, "score %v for a call that failed", o.Score)
		}
	} else if o.OK {
		if _, ok := grade.Mark(t.Metric, t.Reference, ""); !ok {
			b.Defect(at, NoGrader, "no score, and the metric %s of task %s is not recomputed", Quote(t.Metric), Quote(t.ID))
		}
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

// Done returns the world, or nil and all defects in the order in which they were found.
func (b *Builder) Done() (*World, []Defect) {
	if len(b.defects) == 0 && (len(b.w.Models) == 0 || len(b.w.Tasks) == 0) {
		b.Defect(Place{}, Empty, "")
	}
	if b.outcomes {
		b.checkComplete()
	} else {
		b.checkGradeable()
	}
	if b.more {
		b.defects = append(b.defects, Defect{File: b.defects[len(b.defects)-1].File, Code: More})
	}
	if len(b.defects) > 0 {
		return nil, b.defects
	}
	return &b.w, nil
}

func (b *Builder) checkComplete() {
	for _, d := range b.defects {
		if (d.Code == Unreadable || d.Code == AmbiguousFile || d.Code == TooLarge) && d.File != ModelsFile {
			return // what was not read cannot be said to be missing
		}
	}
	for cell, ok := range b.filled {
		if !ok && !b.more {
			t, m := b.w.Tasks[cell/len(b.w.Models)], b.w.Models[cell%len(b.w.Models)]
			b.Defect(Place{File: b.file}, NoOutcome, "no outcome of %s for task %s", Quote(m.ID), Quote(t.ID))
		}
	}
}

func (b *Builder) checkGradeable() {
	for i, t := range b.w.Tasks {
		if !grade.Known(t.Metric) {
			b.Defect(b.places[i], NoGrader, "metric %s of task %s is not recomputed and no outcomes are recorded", Quote(t.Metric), Quote(t.ID))
		} else if _, ok := grade.Mark(t.Metric, t.Reference, ""); !ok {
			b.Defect(b.places[i], NoGrader, "reference %s of task %s does not fit the metric %s", Quote(t.Reference), Quote(t.ID), t.Metric)
		}
	}
}
