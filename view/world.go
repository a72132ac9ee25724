package view

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

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

// WorldModel sums up one model: its price, and over its outcomes the mean score and the total cost, null where none are recorded.
type WorldModel struct {
	ID        string   `json:"id"`
	In        float64  `json:"price_in_per_mtok"`
	Out       float64  `json:"price_out_per_mtok"`
	Context   int64    `json:"context_length"`
	Mean      *float64 `json:"mean_score"`          // what a run counts: computed here where it can be, else as recorded
	Recorded  *float64 `json:"mean_recorded_score"` // null unless every answer has a recorded score
	TotalUSD  *float64 `json:"total_usd"`
	Estimated int      `json:"estimated_costs"`
	Failed    int      `json:"failed_outcomes"`
}

// Metric is how many tasks name a metric, and to how many of them answers are scored here.
type Metric struct {
	Name     string `json:"metric"`
	Tasks    int    `json:"tasks"`
	Computed int    `json:"computed_here"`
}

// WorldOf sums up a world.
func WorldOf(name string, w *world.World) World {
	s := World{Name: name, Tasks: len(w.Tasks), Recorded: w.Recorded()}
	benchmarks, metrics := map[string]bool{}, map[string]Metric{}
	for i, t := range w.Tasks {
		benchmarks[t.Benchmark] = true
		m := metrics[t.Metric]
		m.Name = t.Metric
		m.Tasks++
		if w.Computed(i) {
			m.Computed++
		}
		metrics[t.Metric] = m
	}
	s.Benchmarks = len(benchmarks)
	for _, n := range w.Notes {
		s.Notes = append(s.Notes, n.String())
	}
	for _, m := range slices.Sorted(maps.Keys(metrics)) {
		s.Metrics = append(s.Metrics, metrics[m])
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
	var mean, recorded float64
	scored := true
	for t := range w.Tasks {
		o := w.Outcome(t, at)
		cost = cost.Plus(o.Cost)
		worth, _ := w.Worth(t, at) // a world with outcomes has a score for each
		mean += worth
		recorded += o.Score
		scored = scored && (o.HasScore || !o.OK)
		if o.Estimated {
			out.Estimated++
		}
		if !o.OK {
			out.Failed++
		}
	}
	mean, recorded = mean/float64(len(w.Tasks)), recorded/float64(len(w.Tasks))
	usd := cost.Dollars()
	out.Mean, out.TotalUSD = &mean, &usd
	if scored {
		out.Recorded = &recorded
	}
	return out
}

// Counted returns a number with its noun: "1 task", "2 tasks".
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// maxNotes is how many notes are printed; JSON holds all.
const maxNotes = 20

// WriteText prints the summary.
func (s World) WriteText(w io.Writer) error {
	p := &printer{w: w}
	p.f("world %s: %s, %s, %s, ", text.Clean(s.Name, 80), Counted(s.Tasks, "task"), Counted(s.Benchmarks, "benchmark"), Counted(len(s.Models), "model"))
	p.f("%s\n", map[bool]string{true: "with recorded outcomes", false: "no recorded outcomes: workers are called live"}[s.Recorded])
	rows := [][]string{{"model", "$/Mtok in", "$/Mtok out", "context", "mean score", "total $", ""}}
	for _, m := range s.Models {
		rows = append(rows, []string{
			text.Clean(m.ID, 80), fmt.Sprint(m.In), fmt.Sprint(m.Out), fmt.Sprint(m.Context),
			orDash("%.4f", m.Mean), orDash("%.6f", m.TotalUSD), m.remark(),
		})
	}
	p.table(rows)
	rows = [][]string{{"metric", "tasks", ""}}
	for _, m := range s.Metrics {
		rows = append(rows, []string{cmp.Or(text.Clean(m.Name, 60), "(none)"), fmt.Sprint(m.Tasks), m.how()})
	}
	p.table(rows)
	for i, n := range s.Notes {
		if i == maxNotes {
			p.f("note: and %s more\n", Counted(len(s.Notes)-i, "note"))
			break
		}
		p.f("note: %s\n", text.Clean(n, 300))
	}
	return p.err
}

func orDash(format string, f *float64) string {
	if f == nil {
		return "-"
	}
	return fmt.Sprintf(format, *f)
}

// remark says what a model's numbers rest on.
func (m WorldModel) remark() string {
	var said []string
	if m.Recorded != nil && fmt.Sprintf("%.4f", *m.Recorded) != fmt.Sprintf("%.4f", *m.Mean) {
		said = append(said, fmt.Sprintf("recorded score %.4f", *m.Recorded))
	}
	if m.Failed > 0 {
		said = append(said, Counted(m.Failed, "failed outcome"))
	}
	if m.Estimated > 0 {
		said = append(said, Counted(m.Estimated, "cost")+" estimated")
	}
	return strings.Join(said, ", ")
}

func (m Metric) how() string {
	switch m.Computed {
	case m.Tasks:
		return "computed here"
	case 0:
		return "scored as recorded"
	}
	return fmt.Sprintf("%d computed here, %d scored as recorded", m.Computed, m.Tasks-m.Computed)
}
