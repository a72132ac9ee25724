package duel

import (
	"cmp"
	"slices"

	"assay/conductor"
	"assay/conductor/ending"
	"assay/conductor/score"
	"assay/core/fault"
)

// Reason says why a task left both arms.
type Reason string

// The reasons, in the order in which the first that holds is given.
const (
	Grader            Reason = "grader"
	MissingChallenger Reason = "missing from challenger arm"
	MissingKing       Reason = "missing from king arm"
	ClockKing         Reason = "duel wall clock (king)"
	ClockChallenger   Reason = "duel wall clock (challenger)"
)

// Exclusion is a task that left both arms.
type Exclusion struct {
	TaskID string
	Reason Reason
}

// Kept is what two arms can be compared on: the same tasks, in the king's order, and what left.
type Kept struct {
	King, Challenger []score.Row
	Excluded         []Exclusion // by task id
}

// Clocked reports whether a clock took any task away. Then too few tasks are nobody's fault.
func (k Kept) Clocked() bool {
	return slices.ContainsFunc(k.Excluded, func(e Exclusion) bool { return e.Reason == ClockKing || e.Reason == ClockChallenger })
}

// Exclude voids, for both arms alike, the tasks whose grading failed, those that one arm lacks, and those that an
// arm's clock cut off. Rows that the allowance cut off stay and count as they are. A failed task is listed even if
// neither arm has it. A task that stands twice in an arm is refused.
func Exclude(king, challenger []score.Row, failed []string) (Kept, error) {
	kings, err := byTask(king)
	if err != nil {
		return Kept{}, err
	}
	challengers, err := byTask(challenger)
	if err != nil {
		return Kept{}, err
	}
	void := map[string]Reason{}
	exclude := func(id string, why Reason) {
		if _, ok := void[id]; !ok {
			void[id] = why
		}
	}
	for _, id := range failed {
		exclude(id, Grader)
	}
	for _, r := range challenger {
		if _, ok := kings[r.TaskID]; !ok {
			exclude(r.TaskID, MissingKing)
		}
	}
	kept := Kept{}
	for i, r := range king {
		at, both := challengers[r.TaskID]
		switch {
		case !both:
			exclude(r.TaskID, MissingChallenger)
		case r.Ending == ending.DuelWallClock:
			exclude(r.TaskID, ClockKing)
		case challenger[at].Ending == ending.DuelWallClock:
			exclude(r.TaskID, ClockChallenger)
		}
		if _, gone := void[r.TaskID]; !gone {
			kept.King = append(kept.King, king[i])
			kept.Challenger = append(kept.Challenger, challenger[at])
		}
	}
	kept.Excluded = list(void)
	return kept, nil
}

// byTask finds an arm's rows by task id.
func byTask(rows []score.Row) (map[string]int, error) {
	at := make(map[string]int, len(rows))
	for i, r := range rows {
		if _, twice := at[r.TaskID]; twice {
			return nil, conductor.DuplicateTask.With(fault.Str("task", r.TaskID))
		}
		at[r.TaskID] = i
	}
	return at, nil
}

// list puts exclusions into the order of their task ids.
func list(void map[string]Reason) []Exclusion {
	var out []Exclusion
	for id, why := range void {
		out = append(out, Exclusion{id, why})
	}
	slices.SortFunc(out, func(a, b Exclusion) int { return cmp.Compare(a.TaskID, b.TaskID) })
	return out
}
