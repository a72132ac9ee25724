package audit

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"assay/conductor/outcome"
	"assay/conductor/publication"
	"assay/conductor/round"
	"assay/conductor/submission"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/money"
)

// window audits one window's arms and reveal, and returns the reveal; nil when it is not published yet.
func (a *auditor) window(w *opened, last *round.Reveal) (*round.Reveal, error) {
	file := path.Join(w.dir, publication.RevealFile)
	report := WindowReport{
		Window: w.number, Nonce: w.record.Nonce, Block: w.rules.Genesis + (w.number-1)*w.rules.WindowBlocks, Tasks: len(w.slice), Notes: w.notes,
	}
	if _, err := fs.Stat(a.fsys, file); errors.Is(err, fs.ErrNotExist) {
		a.report.Windows = append(a.report.Windows, report)
		return nil, nil
	}
	record, err := a.open(file)
	if err != nil {
		return nil, err
	}
	reveal, err := round.ParseReveal(record)
	if err != nil {
		return nil, find(file, 1, BadRecord.Because(err))
	}
	report.Revealed, report.Arms, report.Crowned, report.Reigns = true, reveal.Traces, reveal.Crowned, reveal.Reigns
	if a.Only != 0 && a.Only != w.number {
		report.Notes = append(report.Notes, "its arms and its reveal were not recomputed: another window was asked for")
		a.report.Windows = append(a.report.Windows, report)
		return reveal, nil
	}
	a.report.Windows = append(a.report.Windows, report)
	if err := a.outcomes(w); err != nil {
		return nil, err
	}
	d := &driver{auditor: a, w: w, reveal: reveal, machine: round.New(setup(w, reveal, last))}
	if err := d.drive(); err != nil {
		return nil, find(file, 1, err)
	}
	want, err := canon.Marshal(d.machine.Reveal())
	if err != nil {
		return nil, err
	}
	got, err := canon.UTF8(record)
	if err != nil {
		return nil, err
	}
	if err := compare(file, 1, want, got, "the reveal"); err != nil {
		return nil, err
	}
	a.report.Observations += w.opened.made.Load()
	return reveal, a.leftovers(w, reveal)
}

// outcomes reads the digests of the window's outcome table.
func (a *auditor) outcomes(w *opened) error {
	var before outcome.Key
	return a.numbered(path.Join(w.dir, publication.OutcomesDir), 0, func(file string, number int, line []byte) error {
		var o publication.Outcome
		if err := publication.Parse(file, number, line, &o); err != nil {
			return err
		}
		k := outcome.Key{Task: o.Task, Model: o.Model, Attempt: o.Attempt}
		if len(w.digests) > 0 && before.Compare(k) >= 0 {
			return Differs.With(fault.Str("record", "the order of the outcome table"))
		}
		before, w.digests[k] = k, o.Row
		return nil
	})
}

// leftovers refuses outcome rows that no arm bought, and folders of arms that the reveal does not know.
func (a *auditor) leftovers(w *opened, reveal *round.Reveal) error {
	for k := range w.digests {
		if _, ok := w.fills[k]; !ok && !w.beyond[pair{k.Task, k.Model}] {
			return find(path.Join(w.dir, publication.OutcomesDir), 0, Stray.With(fault.Str("task_id", k.Task), fault.Str("model", k.Model)))
		}
	}
	for _, dir := range []string{publication.ArmsDir, publication.ReceiptsDir} {
		entries, err := fs.ReadDir(a.fsys, path.Join(w.dir, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if !slices.Contains(reveal.Traces, e.Name()) {
				return find(path.Join(w.dir, dir, e.Name()), 0, Stray.With())
			}
		}
	}
	return nil
}

// setup is what the window began with, as far as it follows from the window before; the rest is the reveal's word.
func setup(w *opened, r *round.Reveal, last *round.Reveal) round.Setup {
	freshness, _ := canon.UTF8(w.record.Object()["freshness"]) // it was read from a record
	s := round.Setup{
		Window: w.number, Nonce: w.record.Nonce, Tasks: w.tasks, Rules: w.rules, Freshness: string(freshness), Seen: w.record.Seen,
		KingGone: r.ReignEnded == round.EndedGone,
	}
	for _, t := range w.gate {
		s.Gate = append(s.Gate, t.ID())
	}
	if last != nil {
		s.King, s.Coronations = last.Reigns, last.Coronations
	}
	for _, o := range r.Outcomes {
		p := round.Place{Hotkey: o.Hotkey, Block: o.CommitBlock, Status: submission.Queued}
		if o.Status == submission.Skipped && slices.Contains(unasked, o.Detail) || o.Status == submission.Unqueued {
			p.Status, p.Detail = o.Status, o.Detail
		}
		s.Queue = append(s.Queue, p)
	}
	return s
}

// unasked lists why a submission has no place before admission is asked.
var unasked = []string{submission.WhyUnregistered, submission.WhyRegistration, submission.WhyResignalled, submission.WhyUnfunded}

// driver feeds the window's machine with what is published.
type driver struct {
	*auditor
	w       *opened
	reveal  *round.Reveal
	machine *round.Machine
}

func (d *driver) drive() error {
	ready := d.machine.Start()
	for !ready.Done {
		e, err := d.event(ready.Do[0])
		if err != nil {
			return err
		}
		if ready, err = d.machine.Step(e); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) event(do round.Effect) (round.Event, error) {
	r := d.reveal
	switch do.Do {
	case round.Admit:
		return d.admitted(do.Hotkey)
	case round.Play:
		own := false
		for _, m := range r.Metering {
			own = own || m.Arm == do.Arm.Name && m.OwnKey
		}
		return d.played(d.w, do.Arm, own)
	case round.Retest:
		return d.retested()
	case round.Promote:
		if r.CrownModel == "" {
			return round.Event{Told: round.Forfeited, Detail: r.Promotion.Forfeited}, nil
		}
		return round.Event{Told: round.Promoted, Detail: r.CrownModel}, nil
	case round.Look:
		live := map[int]string{}
		for _, s := range r.Metagraph {
			live[s.UID] = s.Hotkey
		}
		return round.Event{Told: round.Looked, Live: live}, nil
	case round.Persist:
		return round.Event{Told: round.Persisted}, nil
	case round.Weigh:
		return round.Event{Told: round.Weighed}, nil
	}
	return round.Event{Told: round.Published}, nil
}

// admitted says what became of a submission at admission, which only the reveal knows.
func (d *driver) admitted(hotkey string) (round.Event, error) {
	for _, o := range d.reveal.Outcomes {
		if o.Hotkey != hotkey {
			continue
		}
		switch {
		case slices.Contains(d.reveal.Traces, hotkey), o.Status == submission.Duelled, o.Status == submission.Deferred && o.Detail == d.reveal.Deferral:
			return round.Event{Told: round.Admitted}, nil
		case o.Status == submission.Refused:
			return round.Event{Told: round.Refused, Detail: o.Detail}, nil
		case o.Status == submission.Skipped:
			return round.Event{Told: round.Skipped, Detail: o.Detail}, nil
		}
		return round.Event{Told: round.Unready, Detail: o.Detail}, nil
	}
	return round.Event{}, Differs.With(fault.Str("record", "the queue"))
}

// retested sums the table up and checks which draws were bought again; what came of it is the reveal's word.
func (d *driver) retested() (round.Event, error) {
	e := round.Event{Told: round.Retested, Table: d.w.draws}
	keys := make([]outcome.Key, 0, len(d.w.hits))
	for k := range d.w.hits {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, outcome.Key.Compare)
	cost := func(k outcome.Key) money.Pico { return d.w.fills[k].cost }
	keys = outcome.Retest(d.w.record.Nonce, keys, cost, outcome.RetestKeys, outcome.RetestCost)
	if len(keys) != len(d.reveal.Retest) {
		return e, Differs.With(fault.Str("record", "the draws that are bought again"))
	}
	for i, k := range keys {
		said := d.reveal.Retest[i]
		paid, err := money.FromFloat(float64(said.Cost))
		if err != nil {
			return e, err
		}
		e.Retests = append(e.Retests, round.Again{Task: k.Task, Model: k.Model, Attempt: k.Attempt, Stored: cost(k), Cost: paid, Drift: said.Drift})
	}
	return e, nil
}
