package view

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"assay/conductor/grade"
	"assay/conductor/world"
	"assay/core/money"
	"assay/core/text"
)

// WorldDefects are everything that is wrong with a world.
type WorldDefects struct {
	World   string        `json:"world"`
	Defects []WorldDefect `json:"defects"`
}

// WorldDefect is one thing that is wrong.
type WorldDefect struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// World sums up a sound world.
type World struct {
	Name       string       `json:"world"`
	Tasks      int          `json:"tasks"`
	Benchmarks int          `json:"benchmarks"`
	Recorded   bool         `json:"recorded_outcomes"`
	Models     []WorldModel `json:"models"`
	Metrics    []Metric     `json:"metrics"`
	Notes      []string     `json:"notes"` // what was changed while reading, and why
}

// WorldModel sums up one model: its price, and over its recorded outcomes the mean score and the total cost.
type WorldModel struct {
	ID        string  `json:"id"`
	In        float64 `json:"price_in_per_mtok"`
	Out       float64 `json:"price_out_per_mtok"`
	Context   int64   `json:"context_length"`
	Mean      float64 `json:"mean_recorded_score"`
	TotalUSD  float64 `json:"total_usd"`
	Estimated int     `json:"estimated_costs"`
	Failed    int     `json:"failed_outcomes"`
}

// Metric is how many tasks a metric scores, and whether it is computed here.
type Metric struct {
	Name  string `json:"metric"`
	Tasks int    `json:"tasks"`
	Known bool   `json:"computed_here"`
}

// WorldOf sums up a world.
func WorldOf(name string, w *world.World) World {
	s := World{Name: name, Tasks: len(w.Tasks), Recorded: w.Recorded()}
	benchmarks, metrics := map[string]bool{}, map[string]int{}
	for _, t := range w.Tasks {
		benchmarks[t.Benchmark] = true
		metrics[t.Metric]++
	}
	s.Benchmarks = len(benchmarks)
	for _, n := range w.Notes {
		s.Notes = append(s.Notes, n.String())
	}
	for _, m := range slices.Sorted(maps.Keys(metrics)) {
		s.Metrics = append(s.Metrics, Metric{m, metrics[m], grade.Known(m)})
	}
	for i, m := range w.Models {
		s.Models = append(s.Models, modelOf(w, i, m))
	}
	return s
}

func modelOf(w *world.World, at int, m world.Model) WorldModel {
	out := WorldModel{ID: m.ID, In: m.In, Out: m.Out, Context: m.Context}
	if !w.Recorded() {
		return out
	}
	var cost money.Pico
	for t := range w.Tasks {
		o := w.Outcome(t, at)
		cost = cost.Plus(o.Cost)
		out.Mean += o.Score / float64(len(w.Tasks))
		if o.Estimated {
			out.Estimated++
		}
		if !o.OK {
			out.Failed++
		}
	}
	out.TotalUSD = cost.Dollars()
	return out
}

// WriteText prints the summary.
func (s World) WriteText(w io.Writer) error {
	p := &printer{w: w}
	p.f("world %s: %d tasks, %d benchmarks, %d models, ", text.Clean(s.Name, 80), s.Tasks, s.Benchmarks, len(s.Models))
	p.f("%s\n", map[bool]string{true: "with recorded outcomes", false: "no recorded outcomes: workers are called live"}[s.Recorded])
	rows := [][]string{{"model", "$/Mtok in", "$/Mtok out", "context", "mean score", "total $", ""}}
	for _, m := range s.Models {
		note := ""
		if m.Estimated > 0 {
			note = fmt.Sprintf("%d costs estimated", m.Estimated)
		}
		rows = append(rows, []string{text.Clean(m.ID, 80), fmt.Sprint(m.In), fmt.Sprint(m.Out), fmt.Sprint(m.Context), fmt.Sprintf("%.4f", m.Mean), fmt.Sprintf("%.6f", m.TotalUSD), note})
	}
	p.table(rows)
	rows = [][]string{{"metric", "tasks", ""}}
	for _, m := range s.Metrics {
		rows = append(rows, []string{text.Clean(m.Name, 60), fmt.Sprint(m.Tasks), map[bool]string{true: "computed here", false: "scored as recorded"}[m.Known]})
	}
	p.table(rows)
	for _, n := range s.Notes {
		p.f("note: %s\n", text.Clean(n, 300))
	}
	return p.err
}
