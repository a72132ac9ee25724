package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Replay says how a Conductor answered the prompts of published traces.
type Replay struct {
	All           ReplayLine     `json:"all"`
	Verbs         int            `json:"same_verb"` // steps with the trace's verb
	Unknown       int            `json:"unknown"`   // steps at which it asked a model that no arm of the window asked on that task
	ParseFailures map[string]int `json:"parse_failures"`
	Benchmarks    []ReplayLine   `json:"benchmarks"`
}

// ReplayLine is one benchmark, or all. Regrets are means of final for one step.
type ReplayLine struct {
	Benchmark  string  `json:"benchmark"`
	Steps      int     `json:"steps"`
	Agree      int     `json:"agree"`       // steps with the trace's model, or with its STOP
	Known      int     `json:"known"`       // steps whose answer can be priced
	Regret     float64 `json:"regret"`      // of the trace, against the best action in hindsight
	YourRegret float64 `json:"your_regret"` // of the answers that can be priced
}

// Mean returns the line with its sums made means.
func (l *ReplayLine) Mean() *ReplayLine {
	out := *l
	out.Regret /= float64(max(1, l.Steps))
	out.YourRegret /= float64(max(1, l.Known))
	return &out
}

// Text writes it for people.
func (r *Replay) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d prompts; the same model or STOP at %d (%.1f%%), the same verb at %d\n", r.All.Steps, r.All.Agree,
		100*float64(r.All.Agree)/float64(max(1, r.All.Steps)), r.Verbs)
	for _, k := range slices.Sorted(maps.Keys(r.ParseFailures)) {
		fmt.Fprintf(&b, "parse failures: %s %d\n", k, r.ParseFailures[k])
	}
	fmt.Fprintf(&b, "\n%-28s %7s %7s %10s %10s\n", "benchmark", "steps", "agree", "regret", "yours")
	for _, l := range append(slices.Clone(r.Benchmarks), r.All) {
		name := l.Benchmark
		if name == "" {
			name = "ALL"
		}
		fmt.Fprintf(&b, "%-28s %7d %7d %10.4f %10.4f\n", name, l.Steps, l.Agree, l.Regret, l.YourRegret)
	}
	fmt.Fprintf(&b, "\nregret is against the best action in hindsight, in final for one step; %d of your answers name a model that nobody asked there and are not priced.\n"+
		"Behind a step at which you differ, the prompts are the trace's and not your own.\n", r.Unknown)
	_, err := io.WriteString(w, b.String())
	return err
}
