package reign

import (
	"fmt"
	"strings"

	"assay/conductor/duel"
)

// Detail says in one sentence what was decided about a challenger and why.
func (j Judgement) Detail() string {
	var b strings.Builder
	if j.Verdict == nil {
		b.WriteString("no verdict: the clock left fewer than two benchmarks to compare")
	} else {
		b.WriteString(clauses(*j.Verdict))
		if n := clockVoided(j.Excluded); n > 0 {
			fmt.Fprintf(&b, " — judged on the %d tasks both arms answered, after an arm's clock took %d away", j.Verdict.NTasks, n)
		}
		if j.Verdict.Wins() && !j.Eligible {
			b.WriteString(j.withheld())
		}
	}
	if r := j.Rematch; r != nil && !r.Clears() {
		fmt.Fprintf(&b, " — but %s committed earlier and holds the crown ahead of it: %s", r.Incumbent, r.reason())
	}
	if r := j.Rematch; r != nil && r.Clears() {
		fmt.Fprintf(&b, " — and takes the crown from %s, which committed earlier", r.Incumbent)
	}
	if j.HeldUntil != "" {
		fmt.Fprintf(&b, " — held the crown until %s beat it on the same slice", j.HeldUntil)
	}
	return b.String()
}

// withheld says why a winner may not wear the crown.
func (j Judgement) withheld() string {
	if !j.Paid {
		return " — but the crown is withheld: the arm spent nothing"
	}
	return fmt.Sprintf(" — but the crown is withheld: the arm reached only %d of its %d tasks", j.Reached, j.Rows)
}

// reason says why a rematch did not move the crown.
func (r Rematch) reason() string {
	if r.Verdict == nil {
		return "the clock left fewer than two benchmarks to compare"
	}
	return clauses(*r.Verdict)
}

// clauses names what a verdict rests on: the win, or every condition that is not met.
func clauses(v duel.Result) string {
	if v.Wins() {
		return "clears eps, the bootstrap lower bound, breadth and the median"
	}
	var out []string
	for _, word := range v.Conditions.Refused() {
		switch word {
		case "delta":
			out = append(out, "delta does not clear eps")
		case "lcb":
			out = append(out, "lower bound not separable from zero")
		case "breadth":
			out = append(out, "does not survive dropping "+v.LOODropped)
		case "median":
			out = append(out, "median benchmark's delta is not positive")
		}
	}
	return strings.Join(out, "; ")
}

// clockVoided counts the tasks that a clock took away.
func clockVoided(excluded []duel.Exclusion) int {
	n := 0
	for _, e := range excluded {
		if e.Reason == duel.ClockKing || e.Reason == duel.ClockChallenger {
			n++
		}
	}
	return n
}
