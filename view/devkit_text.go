package view

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"assay/core/text"
)

// WriteText prints the report: what it is, failure modes, score, cost, duels, decisions.
func (d *DevKit) WriteText(w io.Writer) error {
	p := &printer{w: w}
	d.head(p)
	d.failureModes(p)
	d.scores(p)
	d.costs(p)
	d.duels(p)
	d.decisions(p)
	return p.err
}

// printer remembers the first write error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// table prints rows of cells in aligned columns, indented by two blanks.
func (p *printer) table(rows [][]string) {
	if p.err != nil {
		return
	}
	t := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(t, "  %s\n", strings.Join(r, "\t"))
	}
	p.err = t.Flush()
}

func (d *DevKit) head(p *printer) {
	if d.Admission != "" {
		p.f("ADMISSION: %s\n", d.Admission)
	}
	if d.StandIn {
		p.f("no Conductor was given: the cheapest policy stands in for one\n")
	}
	p.f("%s on world %s: %s, %s, %s (catalog about %d tokens), profile %s, nonce %s\n",
		text.Clean(d.Conductor, 120), text.Clean(d.World, 80), Counted(d.Tasks, "task"), Counted(d.Benchmarks, "benchmark"), Counted(d.Models, "model"),
		d.PrefixTokens, d.Profile, text.Clean(d.Nonce, 80))
}

func (d *DevKit) failureModes(p *printer) {
	f := d.Failures
	p.f("\n# FAILURE MODES\n")
	p.f("parse failures: %d of %d turns (%.1f%%)\n", f.ParseFailures, f.Turns, percent(f.ParseFailures, f.Turns))
	p.f("  by class:%s\n", counts(f.ByClass))
	for _, c := range f.ByClass {
		if c.N > 0 {
			p.f("    %s: %s\n", c.Name, classes[c.Name])
		}
	}
	p.f("endings:%s\n", counts(f.Endings))
	p.f("worker delegates: %d made, %d failed, %d refused by the meter, %d uncertain\n", f.Calls, f.Failed, f.Refused, f.Uncertain)
	if f.Uncertain > 0 {
		p.f("  uncertain calls were cut off and count $0 here; the provider may have charged them\n")
	}
	for _, r := range f.Reasons {
		p.f("  %d× %s\n", r.N, text.Clean(r.Name, 160))
	}
	if f.Void > 0 {
		p.f("infrastructure failures: %d tasks could not be graded or read; they leave every duel\n", f.Void)
	}
	p.f("reasoning: at most %d tokens in a turn, mean %.1f, %d turns over the cap of %d (measured by:%s)\n",
		f.Reason.Max, f.Reason.Mean, f.Reason.Over, f.Reason.Cap, counts(f.Reason.Sources))
}

// classes says what the classes of parse failures mean.
var classes = map[string]string{
	"empty": "the turn holds nothing", "untagged": "a line before the last does not begin with REASON",
	"trailing": "words follow STOP", "not_action": "the last line is no DELEGATE, RETRY or STOP",
	"arity": "DELEGATE and RETRY take exactly one model id", "unknown_id": "the id is not in the catalog, byte for byte",
	"reason_too_long": "the reasoning is over its cap",
}

func percent(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(n) / float64(of)
}

func counts(list []Count) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, " %s=%d", c.Name, c.N)
	}
	return b.String()
}

func final(f *float64) string {
	if f == nil {
		return "-"
	}
	return fmt.Sprintf("%.4f", *f)
}

func (d *DevKit) scores(p *printer) {
	p.f("\n# SCORE\n")
	rows := [][]string{{"benchmark", "n", "quality", "$/task", "final", ""}}
	for _, l := range d.Score.Lines {
		note := ""
		if l.Recorded > 0 {
			note = fmt.Sprintf("%d scored as recorded", l.Recorded)
		}
		if len(l.Excluded) > 0 {
			note = strings.TrimPrefix(note+"; not scored: "+strings.Join(l.Excluded, ", "), "; ")
		}
		rows = append(rows, []string{text.Clean(l.Benchmark, 60), fmt.Sprint(l.N), fmt.Sprintf("%.4f", l.Quality), fmt.Sprintf("%.6f", l.USD), final(l.Final), note})
	}
	rows = append(rows, []string{"ALL", fmt.Sprint(d.Tasks), fmt.Sprintf("%.4f", d.Score.Quality), fmt.Sprintf("%.6f", d.Score.MeanUSD), final(d.Score.Final), "mean of benchmarks"})
	p.table(rows)
	d.legend(p)
	p.f("total spend this run: $%.6f\n", d.Score.TotalUSD)
	if d.Score.Estimated > 0 {
		p.f("%d costs are estimated: tokens are not recorded, so ceil(bytes/4) times the list price counts\n", d.Score.Estimated)
	}
	if g := d.Grading; g.Regraded+g.Recorded > 0 {
		d.differing(p)
		p.f("grading: %d recorded answers regraded, %d agree with the recorded score (%.2f%%), %d differ; %d scored as recorded\n",
			g.Regraded, g.Agree, percent(g.Agree, g.Regraded), g.Regraded-g.Agree, g.Recorded)
		for _, m := range g.Metrics {
			if m.Regraded > 0 {
				p.f("  %s: %d of %d agree (%.2f%%)\n", text.Clean(m.Metric, 40), m.Agree, m.Regraded, percent(m.Agree, m.Regraded))
			}
			if rest := m.N - m.Regraded; rest > 0 {
				p.f("  %s: %d scored as recorded, not computed here\n", text.Clean(m.Metric, 40), rest)
			}
		}
	}
}

// maxDiffer is how many differing scores are listed.
const maxDiffer = 5

// differing lists answers whose computed score is not the recorded one.
func (d *DevKit) differing(p *printer) {
	for i, x := range d.Grading.Differ {
		if i == maxDiffer {
			p.f("  … %d more; --json lists all\n", len(d.Grading.Differ)-i)
			return
		}
		p.f("  differs: %s of %s is %g by %s, recorded as %g\n", text.Clean(x.Model, 80), text.Clean(x.TaskID, 80), x.Computed, text.Clean(x.Metric, 40), x.Recorded)
	}
}

// legend explains the finals and what is left out of them.
func (d *DevKit) legend(p *printer) {
	scored, undefined, dominated := 0, 0, 0
	for _, l := range d.Score.Lines {
		if l.Final != nil {
			scored++
		}
		for _, e := range l.Excluded {
			undefined += count(e == "lambda-undefined")
			dominated += count(e == "dominator")
		}
	}
	if scored == 0 && d.Score.Final == nil {
		p.f("no final: there is no exchange rate on this run\n")
		return
	}
	p.f("final = quality - lambda * spend / mean spend, mean of %d of %d benchmarks; lambda makes always-cheapest and King0 tie\n", scored, d.Benchmarks)
	if undefined > 0 {
		p.f("lambda-undefined (%d): the two reference arms cost about the same, so no rate can be fitted\n", undefined)
	}
	if dominated > 0 {
		p.f("dominator (%d): the dearer reference arm is no better, so spending buys nothing\n", dominated)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (d *DevKit) costs(p *printer) {
	p.f("\n# COST PER MODEL\n")
	rows := [][]string{{"model", "calls", "succeeded", "failed", "$", "tokens in", "tokens out", "$/Mtok paid"}}
	for _, c := range d.Costs {
		realised := "-"
		if c.RealisedUSD != nil {
			realised = fmt.Sprintf("%.4g", *c.RealisedUSD)
		}
		rows = append(rows, []string{text.Clean(c.Model, 80), fmt.Sprint(c.Calls), fmt.Sprint(c.Succeeded), fmt.Sprint(c.Failed),
			fmt.Sprintf("%.6f", c.USD), fmt.Sprint(c.TokensIn), fmt.Sprint(c.TokensOut), realised})
	}
	p.table(rows)
}

func (d *DevKit) duels(p *printer) {
	p.f("\n# DUELS\n")
	if len(d.References) > 0 {
		rows := [][]string{{"on the same slice", "quality", "$/task", "final", ""}}
		rows = append(rows, []string{"this Conductor", fmt.Sprintf("%.4f", d.Score.Quality), fmt.Sprintf("%.6f", d.Score.MeanUSD), final(d.Score.Final), ""})
		for _, r := range d.References {
			note := ""
			if r.KingZero {
				note = "King0"
			}
			rows = append(rows, []string{text.Clean(r.Name, 80), fmt.Sprintf("%.4f", r.Quality), fmt.Sprintf("%.6f", r.USD), final(r.Final), note})
		}
		p.table(rows)
	}
	if d.NoDuel != "" {
		p.f("no duel: %s\n", d.NoDuel)
		return
	}
	rows := [][]string{{"against", "delta", "lower bound", "less its best", "median", "verdict", "its best benchmark"}}
	for _, x := range d.Duels {
		if x.Refused != "" {
			rows = append(rows, []string{text.Clean(x.Against, 80), "-", "-", "-", "-", "no verdict", text.Clean(x.Refused, 120)})
			continue
		}
		c := x.Conditions
		rows = append(rows, []string{
			text.Clean(x.Against, 80), mark(x.Delta, c.Delta), mark(x.LCB, c.LCB), mark(x.LOOMin, c.Breadth), mark(x.Median, c.Median),
			map[bool]string{true: "wins", false: "does not win"}[x.Wins], text.Clean(x.LOODropped, 60),
		})
	}
	p.table(rows)
	if len(d.Duels) > 0 && d.Duels[0].Refused == "" {
		p.f("a win needs delta > %.3f, lower bound > 0, a mean without its best benchmark > 0 and a median > 0; yes met, no not met\n", d.Duels[0].Eps)
		if d.oneEach() {
			p.f("one task a benchmark: the noise of this slice cannot be told\n")
		} else {
			p.f("smallest delta that this slice can tell from noise against %s: about %.3f\n", text.Clean(d.Duels[0].Against, 80), d.Duels[0].Detectable)
		}
	}
}

// oneEach reports whether no benchmark has a second task.
func (d *DevKit) oneEach() bool {
	for _, l := range d.Score.Lines {
		if l.N > 1 {
			return false
		}
	}
	return true
}

func mark(v float64, met bool) string {
	if math.Abs(v) < 0.00005 {
		v = 0 // no sign for what rounds to nothing
	}
	return fmt.Sprintf("%+.4f %s", v, map[bool]string{true: "yes", false: "no"}[met])
}

func (d *DevKit) decisions(p *printer) {
	p.f("\n# DECISIONS\n")
	for _, t := range d.Decisions {
		note := ""
		if !t.Reached {
			note = " (never reached)"
		}
		p.f("%s [%s] score %.3f $%.6f ended=%s%s\n", text.Clean(t.TaskID, 100), text.Clean(t.Benchmark, 60), t.Score, t.USD, t.Ending, note)
		for i, s := range t.Steps {
			p.f("  step %d: %s\n", i+1, s.text())
		}
	}
	if d.Omitted > 0 {
		p.f("… %d more tasks: --decisions all prints them, --trace FILE writes them\n", d.Omitted)
	}
}

func (c Choice) text() string {
	switch {
	case c.ParseFailure != "":
		s := "REFUSED, unparseable — no model was called (" + c.ParseFailure
		if c.Nearest != "" {
			s += "; the nearest id is " + text.Clean(c.Nearest, 80)
		}
		return s + "): " + text.Quote(c.Said, 100)
	case c.Model == "":
		return c.Verb
	}
	s := fmt.Sprintf("%s %s -> %s ($%.6f)", c.Verb, text.Clean(c.Model, 80), map[bool]string{true: "succeeded", false: "failed"}[c.Success], c.USD)
	if c.Failure != "" {
		s += ": " + text.Clean(c.Failure, 120)
	}
	return s
}
