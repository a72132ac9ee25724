package window

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"assay/conductor/outcome"
	"assay/conductor/publication"
	"assay/conductor/receipt"
	"assay/conductor/round"
	"assay/conductor/task"
	"assay/conductor/worker"
	"assay/core/canon"
	"assay/core/money"
	"assay/flow/conductor/meter"
	"assay/flow/conductor/publish"
	"assay/store"
)

// publishReveal publishes arms, receipts, outcome digests and the reveal, then moves the pointer.
func (a *acting) publishReveal(ctx context.Context, reveal *round.Reveal) error {
	base, err := a.openingLeaves()
	if err != nil {
		return err
	}
	b := a.public.Batch()
	dir := publication.WindowDir(a.Window)
	for _, m := range reveal.Metering {
		if err := a.publishArm(b, dir, m, reveal); err != nil {
			return fmt.Errorf("publishing the arm %s: %w", m.Arm, err)
		}
	}
	if _, err := b.Numbered(path.Join(dir, publication.OutcomesDir), a.outcomeLines()); err != nil {
		return err
	}
	record, err := reveal.Record()
	if err != nil {
		return err
	}
	if err := a.envelope(b, path.Join(dir, publication.RevealFile), record); err != nil {
		return err
	}
	if err := b.Append(ctx, a.Base+base); err != nil {
		return err
	}
	if err := a.public.Point(a.Window); err != nil {
		return err
	}
	return a.Store.Update(ctx, func(tx store.Tx) error { return tx.Conductor.Windows.Advance(a.Window, store.Published) })
}

// openingLeaves counts the leaves of the window's opening.
func (a *acting) openingLeaves() (int64, error) {
	n := int64(3 + len(a.Dropped) + len(a.pool) + len(a.slice)) // record, rules, source
	if a.Base == 0 {
		n++ // schedule
	}
	return n, nil
}

func (a *acting) publishArm(b *publish.Batch, dir string, m round.Meter, reveal *round.Reveal) (err error) {
	who := a.armFile(m, reveal)
	slots := a.slice
	if who.Kind == publication.Gate {
		slots = a.gate
	}
	played, err := openEpisodes(a.checkpointPath(m.Arm), a.checkpointFormat(m.Arm), len(slots))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, played.close()) }()
	who.Aborted = played.aborted
	for who.Tasks < len(slots) && played.spans[who.Tasks].length > 0 {
		who.Tasks++
	}
	line, err := canon.Marshal(who)
	if err != nil {
		return err
	}
	if err := b.File(path.Join(dir, publication.ArmsDir, m.Arm, publication.ArmFile), line); err != nil {
		return err
	}
	if _, err := b.Numbered(path.Join(dir, publication.ArmsDir, m.Arm), played.lines()); err != nil {
		return err
	}
	return a.publishReceipts(b, path.Join(dir, publication.ReceiptsDir, m.Arm), m.Duel)
}

// lines yields the traces in the slice's order, up to the first that never ended in an arm that was given up.
func (e *episodes) lines() func(func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		var buf []byte
		for i := range e.spans {
			line, err := e.line(i, buf)
			if line == nil && err == nil || !yield(line, err) {
				return
			}
			buf = line[:0]
		}
	}
}

// armFile says who played an arm.
func (a *acting) armFile(m round.Meter, reveal *round.Reveal) publication.Arm {
	who := publication.Arm{V: publication.Version, Name: m.Arm, Duel: m.Duel, Payer: m.Payer}
	switch {
	case strings.HasPrefix(m.Arm, "gate-"):
		who.Kind, who.Policy = publication.Gate, strings.TrimPrefix(m.Arm, "gate-")
	case m.Arm == "king":
		who.Kind, who.Hotkey = publication.King, reveal.KingHotkey
		if reveal.KingIsGenesis {
			who.Policy = a.rules.KingZero
		}
	default:
		who.Kind, who.Hotkey = publication.Challenger, m.Arm
	}
	return who
}

// publishReceipts publishes an arm's receipts, in one file for each file of traces.
func (a *acting) publishReceipts(b *publish.Batch, dir, duel string) error {
	list, err := a.meter.Arm(duel).Receipts()
	if err != nil {
		return fmt.Errorf("reading the receipts: %w", err)
	}
	for len(list) > 0 {
		first, err := receipt.ParsePlace(list[0].CallID)
		if err != nil {
			return err
		}
		chunk := first.Episode / publication.Chunk
		var lines [][]byte
		for len(list) > 0 {
			p, err := receipt.ParsePlace(list[0].CallID)
			if err != nil {
				return err
			}
			if p.Episode/publication.Chunk != chunk {
				break
			}
			line, err := list[0].Append(nil)
			if err != nil {
				return err
			}
			lines, list = append(lines, line[:len(line)-trailing(line)]), list[1:]
		}
		if err := b.File(publication.Numbered(dir, chunk*publication.Chunk), lines...); err != nil {
			return err
		}
	}
	return nil
}

// trailing counts the line end at the end of a line.
func trailing(line []byte) int {
	if len(line) > 0 && line[len(line)-1] == '\n' {
		return 1
	}
	return 0
}

func (a *acting) outcomeLines() func(func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		for e, digest := range a.table.Rows() {
			line, err := canon.Marshal(publication.Outcome{Task: e.Key.Task, Model: e.Key.Model, Attempt: e.Key.Attempt, Row: digest})
			if !yield(line, err) {
				return
			}
		}
	}
}

// retest buys some draws that were served to more than one arm again, to see whether the provider drifts.
func (a *acting) retest(ctx context.Context) (round.Event, error) {
	e := round.Event{Told: round.Retested, Table: a.draws}
	rows := map[outcome.Key]outcome.Row{}
	for entry := range a.table.Rows() {
		rows[entry.Key] = entry.Row
	}
	keys := make([]outcome.Key, 0, len(a.hit))
	for k := range a.hit {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, outcome.Key.Compare)
	keys = outcome.Retest(a.Nonce, keys, func(k outcome.Key) money.Pico { return rows[k].Cost }, outcome.RetestKeys, outcome.RetestCost)
	if len(keys) == 0 {
		return e, nil
	}
	workers, redactor, err := a.Workers(noKey)
	if err != nil {
		return e, fmt.Errorf("reaching the workers: %w", err)
	}
	arm, err := a.meter.Bind(meter.Binding{Duel: a.duel("retest")}, redactor)
	if err != nil {
		return e, fmt.Errorf("binding the retest: %w", err)
	}
	for i, k := range keys {
		again, err := a.buyAgain(ctx, arm, workers, i, k)
		if err != nil {
			return e, fmt.Errorf("buying a draw again: %w", err)
		}
		c := outcome.Compare(k, rows[k], again)
		r := round.Again{Task: k.Task, Model: k.Model, Attempt: k.Attempt, Stored: c.Stored.Cost, Cost: c.Again.Cost}
		for _, d := range c.Drift {
			r.Drift = append(r.Drift, string(d))
		}
		e.Retests = append(e.Retests, r)
	}
	return e, nil
}

// buyAgain buys one delegate again, outside the table.
func (a *acting) buyAgain(ctx context.Context, arm *meter.Arm, workers callers, i int, k outcome.Key) (outcome.Row, error) {
	at := slices.IndexFunc(a.slice, func(t task.Pinned) bool { return t.ID() == k.Task })
	model, ok := a.snapshot.Lookup(k.Model)
	if at < 0 || !ok {
		return outcome.Row{}, errCheckpoint
	}
	one := &again{acting: a, arm: arm, workers: workers, id: strconv.Itoa(i) + "/0/"}
	return one.delegate(ctx, worker.NewRequest(a.slice[at], model))
}
