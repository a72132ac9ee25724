// Package world reads and writes worlds: models with prices, tasks with references, and recorded answers.
//
// Invariants:
//   - A World that comes without defects is whole: ids are unique, amounts are finite and not negative, and where
//     outcomes are recorded there is exactly one for every task and model.
//   - Reading finds every defect at once, up to MaxDefects, each with its file, line and reason, and never a half-read world.
//   - Memory and time are bounded by MaxLine, MaxDoc, MaxFile, MaxRows, MaxModels and MaxDefects, whatever the bytes say.
//   - Writing depends on the world alone: the same world gives the same bytes.
//
// Specification: docs/spec/world.md.
package world

import (
	"assay/conductor/task"
	"assay/core/money"
)

// The files of a world. Each may also end in ".gz".
const (
	ModelsFile   = "models.json"
	TasksFile    = "tasks.jsonl"
	OutcomesFile = "outcomes.jsonl" // optional
)

// The bounds.
const (
	MaxLine    = 16 << 20  // bytes of one line
	MaxDoc     = 64 << 20  // bytes of one file that is a single JSON value
	MaxFile    = 512 << 20 // bytes of one file of lines, after decompression
	MaxRows    = 4 << 20   // lines of one file, tasks, and tasks times models
	MaxModels  = 100_000   // models
	MaxTaskID  = 512       // bytes of a task's id: it stands in the records of runs
	MaxDefects = 1000      // defects listed; behind the next one reading ends
)

// Model is one worker that a world offers.
type Model struct {
	ID      string
	In, Out float64 // list prices in dollars per million tokens
	Context int64   // context length in tokens
}

// Task is one task of a world.
type Task struct {
	ID, Benchmark, Prompt string
	Tools                 []string // in declared order
	Group                 string   // cluster label, "" for none
	Reference             string   // what Metric compares an answer with
	Metric                string   // how an answer is scored, for instance "mcq_accuracy"
}

// Spec returns what a window pins of the task: everything but how it is scored.
func (t Task) Spec() task.Spec {
	return task.Spec{ID: t.ID, Benchmark: t.Benchmark, Prompt: t.Prompt, Tools: t.Tools, Group: t.Group}
}

// Outcome is what one model once did with one task.
type Outcome struct {
	Text                string  // the answer
	Failure             string  // why there is no answer; only where OK is false
	Score               float64 // recorded score in [0, 1]
	HasScore            bool    // whether Score was recorded; if not, the task's metric gives it
	OK                  bool    // false: the worker failed, which is not an answer
	Estimated           bool    // the cost was not recorded: Cost is tokens times list price
	TokensIn, TokensOut int64   // where not recorded: a token for every four bytes begun
	Cost                money.Pico
}

// World is models, tasks and perhaps recorded outcomes. It is not changed after it was made.
type World struct {
	Models []Model
	Tasks  []Task
	Notes  []Defect // what was put right while reading; the world is whole all the same

	outcomes []Outcome // task by task, models in order within each; nil where none are recorded
	models   map[string]int
	tasks    map[string]int
}

// Recorded reports whether the world holds outcomes.
func (w *World) Recorded() bool { return w.outcomes != nil }

// Outcome returns the outcome of a model on a task, by their indices in Models and Tasks.
// It panics where none are recorded. The caller must not change what it points to.
func (w *World) Outcome(task, model int) *Outcome {
	if model < 0 || model >= len(w.Models) {
		panic("world: no such model")
	}
	return &w.outcomes[task*len(w.Models)+model]
}

// Model returns the index of the model with that id.
func (w *World) Model(id string) (int, bool) {
	i, ok := w.models[id]
	return i, ok
}

// Task returns the index of the task with that id.
func (w *World) Task(id string) (int, bool) {
	i, ok := w.tasks[id]
	return i, ok
}

// EstimateTokens returns the estimate for a worker's text that nobody metered: one token for every four bytes begun. It sets what
// a recorded call cost, in int64; a Conductor's reasoning and a window's prompt have estimates of their own by their rules.
func EstimateTokens(s string) int64 { return (int64(len(s)) + 3) / 4 }

// ListPrice returns what the tokens cost at the model's list price.
func (m Model) ListPrice(in, out int64) money.Pico {
	return perToken(in, m.In).Plus(perToken(out, m.Out))
}

func perToken(n int64, dollarsPerMillion float64) money.Pico {
	p, err := money.FromFloat(dollarsPerMillion)
	if err != nil || p < 0 {
		return money.Max // a price beyond the range of accounts buys nothing
	}
	return money.Tokens(n, p)
}
