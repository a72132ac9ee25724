package world

import (
	"strings"

	"assay/conductor/grade"
	"assay/core/text"
)

// metrics are the names that worlds are known to use: those that are computed here, and those of public data.
var metrics = []string{
	grade.MCQ, grade.FinalNumber, grade.Number, grade.ExactMatch, RecordedMetric, penalised,
	"code_accuracy", "math_metric", "chess_accuracy", "superglue_exact_match", "superglue_clozetest",
}

// RecordedMetric is the metric of tasks whose references are not known: their recorded scores count.
const RecordedMetric = "recorded"

// penalised is the one public metric that subtracts a penalty and so falls below zero at times.
const penalised = "meteor_score"

// meant returns the metric whose name a metric of no known name perhaps misspells, or "".
func meant(metric string) string {
	name := strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(metric))
	best, least := "", min(2, len(name)/3)+1
	for _, m := range metrics {
		switch d := text.Distance(name, m); {
		case m == metric:
			return ""
		case d < least:
			best, least = m, d
		case best == "" && len(name) >= 3 && strings.HasPrefix(m, name+"_"):
			best = m
		}
	}
	return best
}

// didYouMean is what is said behind a metric that is not known.
func didYouMean(metric string) string {
	if m := meant(metric); m != "" {
		return "; did you mean " + m + "?"
	}
	return ""
}

// Computed reports whether answers to a task, by its index in Tasks, are scored here: its metric is known and its reference
// fits it. Of any other task the recorded scores count.
func (w *World) Computed(task int) bool { return computed(&w.Tasks[task]) }

func computed(t *Task) bool {
	_, ok := grade.Mark(t.Metric, t.Reference, "")
	return ok
}

// Worth returns what the recorded answer of a model to a task counts, by their indices in Models and Tasks: the score computed
// here where the task is Computed, else the recorded one, and 0 for an answer that never came.
// ok is false where there is neither; a world with outcomes always has one of them.
func (w *World) Worth(task, model int) (score float64, ok bool) {
	if !w.Recorded() {
		return 0, false
	}
	o := w.Outcome(task, model)
	if !o.OK {
		return 0, true
	}
	t := &w.Tasks[task]
	if s, ok := grade.Mark(t.Metric, t.Reference, o.Text); ok {
		return s, true
	}
	return o.Score, o.HasScore
}
