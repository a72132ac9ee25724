package view

import (
	"fmt"
	"io"
	"strings"

	"assay/conductor/round"
	"assay/conductor/window"
)

// Draw is a drawn window as people see it.
type Draw struct {
	Window    int64        `json:"window"`
	Nonce     string       `json:"nonce"`
	Tasks     int          `json:"tasks"`
	Counts    []DrawnCount `json:"counts"`
	Narrowed  []DrawnCount `json:"narrowed"` // left out: fewer tasks than the minimum
	Seen      int          `json:"seen"`     // tasks that earlier windows revealed
	Staleness *float64     `json:"staleness"`
}

// DrawnCount is a benchmark's number of tasks.
type DrawnCount struct {
	Benchmark string `json:"benchmark"`
	Tasks     int    `json:"tasks"`
}

// NewDraw sums a window's record up.
func NewDraw(r *window.Record) *Draw {
	d := &Draw{Window: r.Epoch, Nonce: r.Nonce, Tasks: len(r.TaskIDs), Seen: len(r.Seen), Staleness: r.Freshness.Staleness}
	for _, c := range r.Counts {
		d.Counts = append(d.Counts, DrawnCount{c.Benchmark, c.N})
	}
	for _, c := range r.Narrowed {
		d.Narrowed = append(d.Narrowed, DrawnCount{c.Benchmark, c.N})
	}
	return d
}

// Text writes the draw for people.
func (d *Draw) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "window %d: %d tasks drawn by %s\n", d.Window, d.Tasks, d.Nonce)
	for _, c := range d.Counts {
		fmt.Fprintf(&b, "  %4d  %s\n", c.Tasks, c.Benchmark)
	}
	for _, c := range d.Narrowed {
		fmt.Fprintf(&b, "  left out: %s has only %d\n", c.Benchmark, c.Tasks)
	}
	if d.Staleness != nil {
		fmt.Fprintf(&b, "  %d tasks (%.1f%%) were revealed by earlier windows\n", d.Seen, 100**d.Staleness)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// RevealText writes what a window decided for people: who was judged, what it rests on, who is paid.
func RevealText(w io.Writer, r *round.Reveal) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# WINDOW %d: %d tasks, %d benchmarks\n", r.Window, r.NTasks, len(r.Benchmarks))
	if p := r.Power; p != nil {
		fmt.Fprintf(&b, "power gate: %s leads %s by %.4f (lower bound %.4f): the slice %s\n", p.Leader, p.Trailer, float64(p.Spread), float64(p.LCB),
			map[bool]string{true: "tells them apart", false: "does not tell them apart"}[p.Separates])
	}
	if r.Deferral != "" {
		fmt.Fprintf(&b, "no duel was held: %s\n", r.Deferral)
	}
	for _, v := range r.Void {
		fmt.Fprintf(&b, "void for every arm: %s (%s)\n", v.Task, v.Reason)
	}
	king := "the first policy"
	if !r.KingIsGenesis {
		king = r.KingHotkey
	}
	if r.King != nil {
		fmt.Fprintf(&b, "king %s: quality %.4f, final %.4f\n", king, float64(r.King.Quality), float64(r.King.Final))
	}
	for _, o := range r.Outcomes {
		fmt.Fprintf(&b, "%-10s %s (block %d)", o.Status, o.Hotkey, o.CommitBlock)
		if v := o.Verdict; v != nil {
			fmt.Fprintf(&b, ": delta %+.4f, lower bound %+.4f, without %s %+.4f, median %+.4f", float64(v.Delta), float64(v.LCB), v.LOODropped,
				float64(v.LOOMin), float64(v.Median))
		}
		if o.Detail != "" {
			fmt.Fprintf(&b, "\n           %s", o.Detail)
		}
		b.WriteByte('\n')
	}
	revealEnd(&b, r)
	_, err := io.WriteString(w, b.String())
	return err
}

// revealEnd says who reigns and who is paid.
func revealEnd(b *strings.Builder, r *round.Reveal) {
	switch {
	case r.Crowned != "" && r.Promotion.Forfeited != "":
		fmt.Fprintf(b, "the crown of %s fell: %s\n", r.Crowned, r.Promotion.Forfeited)
	case r.Crowned != "":
		fmt.Fprintf(b, "crowned %s; its artifact is public as %s\n", r.Crowned, r.CrownModel)
	}
	if r.ReignEnded != "" {
		fmt.Fprintf(b, "the reign of %s ended: %s\n", r.KingHotkey, r.ReignEnded)
	}
	for _, w := range r.Weights {
		fmt.Fprintf(b, "weight  uid %d  %.4f\n", w.UID, float64(w.Share))
	}
	t := r.OutcomeTable
	fmt.Fprintf(b, "draws: %d bought for $%.6f, %d served again, %d failed\n", t.Fills, float64(t.Provider), t.Hits, t.Failed)
}
