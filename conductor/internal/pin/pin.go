// Package pin holds the one maker of pinned tasks, out of reach of everything but the Conductor's rules.
//
// Invariants:
//   - A pinned task's prompt is the benchmark's statement, byte for byte; nothing can change it.
//   - The zero Task is refused by every consumer.
package pin

import (
	"slices"
	"unicode/utf8"

	"assay/conductor"
	"assay/core/digest"
	"assay/core/fault"
)

// Spec is a task as a benchmark gives it.
type Spec struct {
	ID, Benchmark, Prompt string
	Tools                 []string // what a Conductor is shown and a worker may use, in declared order
	Group                 string   // cluster label such as a repository; "" for none
}

// Task is a task that a window's slice has pinned.
type Task struct{ spec *pinned }

type pinned struct {
	Spec
	digest string // hexadecimal SHA-256 of the prompt
}

// Check refuses a task without id or benchmark, or with text that is not UTF-8: conductor.BadTask.
func Check(s Spec) error {
	bad := func(text string) bool { return !utf8.ValidString(text) }
	if s.ID == "" || s.Benchmark == "" || bad(s.ID) || bad(s.Benchmark) || bad(s.Prompt) || bad(s.Group) || slices.ContainsFunc(s.Tools, bad) {
		return conductor.BadTask.With(fault.Str("task_id", s.ID))
	}
	return nil
}

// New pins a task that Check passes.
func New(s Spec) (Task, error) {
	if err := Check(s); err != nil {
		return Task{}, err
	}
	s.Tools = slices.Clone(s.Tools)
	return Task{&pinned{s, digest.HexOfBytes([]byte(s.Prompt))}}, nil
}

// IsZero reports whether t is no task.
func (t Task) IsZero() bool { return t.spec == nil }

// ID returns the task's id.
func (t Task) ID() string { return t.spec.ID }

// Benchmark returns the benchmark's name.
func (t Task) Benchmark() string { return t.spec.Benchmark }

// Prompt returns the statement that workers are sent.
func (t Task) Prompt() string { return t.spec.Prompt }

// Digest returns the hexadecimal SHA-256 of the prompt's bytes: how published records name the statement.
func (t Task) Digest() string { return t.spec.digest }

// Tools returns the declared tools in order. The caller must not change the slice.
func (t Task) Tools() []string { return t.spec.Tools }

// Group returns the cluster label, "" for none.
func (t Task) Group() string { return t.spec.Group }

// Declares reports whether the task declares the tool.
func (t Task) Declares(tool string) bool { return slices.Contains(t.spec.Tools, tool) }
