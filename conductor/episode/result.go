package episode

import (
	"iter"

	"assay/conductor/action"
	"assay/conductor/catalog"
	"assay/conductor/ending"
	"assay/conductor/reading"
	"assay/conductor/score"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/worker"
	"assay/core/digest"
	"assay/core/money"
)

// Step is one turn and what came of it.
type Step struct {
	Kind         action.Kind             // None for a turn that could not be read
	Model        string                  // "" unless a model was called
	Attempt      int                     // how often this episode had asked the model, this time included; 0 without a model
	Raw          string                  // the turn, verbatim
	Reason       action.Measure          // tokens of reasoning
	Prompt       digest.Of[state.Prompt] // of the prompt that was shown
	ParseFailure action.Failure
	Success      bool // the delegate's grade was 1
	Score        float64
	Cost         money.Pico
	TokensIn     int64
	TokensOut    int64
	Served       string // model as the provider named it
	Provider     string
	Failed       bool // the worker failed, the meter refused, or the call was lost
	Refused      bool // the meter refused: not an outcome
	Lost         bool // nobody knows what became of the call: not an outcome
	Failure      string
	Replayed     bool // served from the outcome table
	Observations []reading.Observation
}

// Result is one episode.
type Result struct {
	Task   task.Pinned
	Ending ending.Ending
	Score  float64 // best grade, in [0,1]; 0 when the episode's clock ran out
	Spent  money.Pico
	Steps  []Step
	Void   Void // why the task leaves every arm of the window; "" for most
}

// Void says why a task leaves both arms of every duel: something failed that is no Conductor's doing. The first reason stands.
type Void string

// The reasons.
const (
	VoidInspector Void = "inspector"    // a read could not be run
	VoidGrader    Void = "grader"       // an answer could not be graded
	VoidServed    Void = "served_model" // another model answered than the one that was asked
	VoidLost      Void = "lost_call"    // a crash cut a paid call off
)

// Known reports whether v is one of the reasons.
func (v Void) Known() bool {
	return v == VoidInspector || v == VoidGrader || v == VoidServed || v == VoidLost
}

// OtherModel is the failure of a step that another model answered.
const OtherModel = "served_model: another model answered"

// calls returns how many steps have called the model.
func (r *Result) calls(model string) int {
	n := 0
	for i := range r.Steps {
		if r.Steps[i].Model == model {
			n++
		}
	}
	return n
}

// Turns returns how many turns the Conductor took.
func (r *Result) Turns() int { return len(r.Steps) }

// Row returns the episode as one row of its arm.
func (r *Result) Row() score.Row {
	return score.Row{
		TaskID: r.Task.ID(), Benchmark: r.Task.Benchmark(), Group: r.Task.Group(),
		Score: r.Score, Spend: r.Spent.Dollars(), Ending: r.Ending,
	}
}

// Requests yields every worker request of the episode in order, replayed delegates included: what was sent is a function
// of the task, the models and the observations.
func (r *Result) Requests(s *catalog.Snapshot) iter.Seq[worker.Request] {
	return func(yield func(worker.Request) bool) {
		for i := range r.Steps {
			m, ok := s.Lookup(r.Steps[i].Model)
			if !ok {
				continue
			}
			req := worker.NewRequest(r.Task, m)
			if !yield(req) {
				return
			}
			for _, o := range r.Steps[i].Observations {
				if req = req.Observe(o); !yield(req) {
					return
				}
			}
		}
	}
}

// Zeroed returns the row of a task that was never begun.
func Zeroed(t task.Pinned, why ending.Ending) *Result { return &Result{Task: t, Ending: why} }
