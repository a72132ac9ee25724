// Package window pins what a window is played under: the schedule of all windows, and the record of one with its slice of tasks.
//
// Invariants:
//   - A slice is the only maker of pinned tasks.
//   - Changing a constant that decides results changes the schedule entry, so its digest and the committed root.
//   - A record says nothing that does not follow from its entry, pool, nonce and what was revealed before; Verify derives it again.
//
// Specification: docs/spec/window.md.
package window

import (
	"assay/conductor"
	"assay/conductor/internal/pin"
	"assay/conductor/task"
	"assay/core/fault"
)

// The constants that every schedule entry carries.
const (
	ScaffoldVersion    = "v3-scaffold-1"
	MaxSteps           = 12 // turns of an episode
	Temperature        = 0.0
	MaxConductorTokens = 576 // tokens of one turn
)

// Slice pins the tasks and puts them in the nonce's order. A repeated id is conductor.DuplicateTask.
func Slice(nonce string, specs []task.Spec) ([]task.Pinned, error) {
	if len(specs) == 0 {
		return nil, conductor.NoTasks.With()
	}
	pinned := make([]task.Pinned, 0, len(specs))
	seen := make(map[string]bool, len(specs))
	for _, s := range specs {
		t, err := pin.New(s)
		if err != nil {
			return nil, err
		}
		if seen[s.ID] {
			return nil, conductor.DuplicateTask.With(fault.Str("task_id", s.ID))
		}
		seen[s.ID] = true
		pinned = append(pinned, t)
	}
	return task.OrderBy(nonce, pinned, task.Pinned.ID), nil
}
