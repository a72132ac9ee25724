package grade

import (
	"strings"

	"assay/core/digest"
)

// MockAnswer is how a mock worker's answer begins; its model's id follows.
const MockAnswer = "solution attempt by "

// Mock is a benchmark without content: a task's difficulty comes from its name, an answer's worth from who gave it.
type Mock struct {
	Name, Seed string
	Low, High  int            // difficulty, both ends included; Low <= High
	Subgoals   int            // parts of every task, at least 1
	Strengths  map[string]int // by model id; an unknown model has none
}

// Difficulty returns a task's difficulty, in [Low, High].
func (m Mock) Difficulty(taskID string) int {
	n := digest.First32([]byte(m.Seed + "|" + m.Name + "|" + taskID))
	return m.Low + int(uint64(n)%uint64(m.High-m.Low+1))
}

// Grade returns the subgoals less what the model's strength falls short of the task's difficulty.
// An answer that names no model completes nothing.
func (m Mock) Grade(taskID, submission string) (Grade, error) {
	g := Grade{Total: m.Subgoals}
	if err := g.Check(); err != nil {
		return Grade{}, err
	}
	if model, ok := strings.CutPrefix(submission, MockAnswer); ok {
		short := max(0, m.Difficulty(taskID)-m.Strengths[model])
		g.Completed = max(0, m.Subgoals-short)
	}
	return g, nil
}
