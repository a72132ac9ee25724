// Package window pins what a window is played under: the schedule entry and the slice of tasks.
//
// Invariants:
//   - A slice is the only maker of pinned tasks.
//   - Changing a constant that decides results changes the schedule entry, so its digest.
//
// Specification: docs/spec/window.md.
package window

import (
	"cmp"
	"slices"

	"assay/conductor"
	"assay/conductor/internal/pin"
	"assay/conductor/profile"
	"assay/conductor/task"
	"assay/core/canon"
	"assay/core/digest"
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

// Entry is one line of the schedule that is committed before anybody submits.
type Entry struct {
	Epoch        int64
	PerBenchmark int64
	Minimum      int64
	PoolDigest   string // hexadecimal SHA-256, see PoolDigest
	// Profile and InstructionsDigest are published for every profile, but only a strict entry signs them:
	// the reference's entries have no room for them, and a compatible entry must keep its digest.
	Profile            profile.Profile
	InstructionsDigest string
}

// Object returns the entry as the record that is digested and signed.
func (e Entry) Object() canon.Object {
	o := canon.Object{
		"v": 1, "epoch": e.Epoch, "scaffold_version": ScaffoldVersion, "max_steps": MaxSteps, "temperature": Temperature,
		"max_conductor_tokens": MaxConductorTokens, "per_benchmark": e.PerBenchmark, "minimum": e.Minimum, "pool_digest": e.PoolDigest,
	}
	if e.Profile.Strict() {
		o["profile"] = e.Profile.String()
		o["instructions_sha256"] = e.InstructionsDigest
	}
	return o
}

// Digest returns the hexadecimal SHA-256 of the entry's canonical JSON.
func (e Entry) Digest() string {
	d, err := digest.HexOf(e.Object())
	if err != nil {
		panic("window: an entry's texts are checked UTF-8: " + err.Error())
	}
	return d
}

// PoolDigest returns the digest of a task pool: the sorted list of [benchmark, task_id, prompt, [tools], group].
func PoolDigest(specs []task.Spec) (string, error) {
	list := make([]any, 0, len(specs))
	for _, s := range slices.SortedFunc(slices.Values(specs), compare) {
		var group any
		if s.Group != "" {
			group = s.Group
		}
		list = append(list, []any{s.Benchmark, s.ID, s.Prompt, s.Tools, group})
	}
	return digest.HexOf(list)
}

// compare orders tasks by all that the pool's digest covers, so that the input's order never shows.
func compare(a, b task.Spec) int {
	return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Prompt, b.Prompt),
		slices.Compare(a.Tools, b.Tools), cmp.Compare(a.Group, b.Group))
}
