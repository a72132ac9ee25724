package window

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"assay/chain"
	"assay/conductor/admission"
	"assay/conductor/outcome"
	"assay/conductor/reign"
	"assay/conductor/round"
	"assay/conductor/submission"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/canon"
	"assay/core/fault"
	"assay/flow/conductor/meter"
	"assay/flow/conductor/play"
	"assay/flow/conductor/submit"
	"assay/flow/conductor/table"
	"assay/run"
	"assay/store"
)

// Run runs a window to its publication, or goes on where it was cut off. A window that is published is only read again.
func (o *Owner) Run(ctx context.Context, n int64) (*round.Reveal, error) {
	funds, err := meter.OpenFunds(ctx, filepath.Join(o.Dir, "funds"), n)
	if err != nil {
		return nil, fmt.Errorf("opening the accounts: %w", err)
	}
	o.funds = funds
	if _, err := o.Refresh(ctx); err != nil {
		return nil, err
	}
	d, err := o.draw(ctx, n)
	if err != nil {
		return nil, err
	}
	r, err := o.open(d)
	if err != nil {
		return nil, err
	}
	m := round.New(r.setup())
	err = r.drive(ctx, m)
	if err = errors.Join(err, r.close()); err != nil {
		return nil, err
	}
	return m.Reveal(), nil
}

// open makes a drawn window ready to be played.
func (o *Owner) open(d *drawn) (*running, error) {
	r := &running{Owner: o, drawn: d, tasks: labels(d.slice), hit: map[outcome.Key]bool{}}
	slots := make([]task.Label, len(d.slice))
	byID := make(map[string]task.Pinned, len(d.slice))
	for i, t := range d.slice {
		slots[i], byID[t.ID()] = task.Label{ID: t.ID(), Benchmark: t.Benchmark()}, t
	}
	ids, err := task.Subsample(d.Nonce, o.GateTasks, slots)
	if err != nil {
		return nil, fmt.Errorf("choosing the power gate's tasks: %w", err)
	}
	for _, id := range ids {
		r.gate = append(r.gate, byID[id])
	}
	opening := make(chan error, 1)
	go func() { // both files are large, and each is read whole
		var err error
		r.meter, err = meter.Open(o.work(d.Window, "meter"), meter.Settings{Window: d.Window, Signer: o.Gateway, RowDigest: outcome.Digest, Idempotent: o.idempotent()})
		opening <- err
	}()
	r.table, err = table.Open(o.work(d.Window, "outcomes"), table.Window{Number: d.Window, Nonce: d.Nonce}, o.Now)
	merr := <-opening
	switch {
	case err != nil:
		err = fmt.Errorf("opening the outcome table: %w", err)
		if merr == nil {
			err = errors.Join(err, r.meter.Close())
		}
		return nil, err
	case merr != nil:
		return nil, errors.Join(fmt.Errorf("opening the meter: %w", merr), r.table.Close())
	}
	return r, nil
}

// idempotent reports whether workers may be asked again under the same id.
func (o *Owner) idempotent() bool { return o.Deps.Idempotent }

func (r *running) close() error { return errors.Join(r.table.Close(), r.meter.Close()) }

// setup says what the window's machine begins with.
func (r *running) setup() round.Setup {
	s := round.Setup{
		Window: r.Window, Nonce: r.Nonce, Tasks: r.tasks, Rules: r.rules, Freshness: freshness(r.record), Seen: r.record.Seen,
		King: r.King, KingGone: r.KingGone, Coronations: r.Coronations,
	}
	for _, t := range r.gate {
		s.Gate = append(s.Gate, t.ID())
	}
	for _, q := range r.Queue {
		s.Queue = append(s.Queue, round.Place{Hotkey: q.Hotkey, Block: q.Block, Status: q.Status, Detail: q.Detail})
	}
	return s
}

// freshness returns the record's member as canonical JSON.
func freshness(r window.Record) string {
	text, err := canon.UTF8(r.Object()["freshness"])
	if err != nil {
		panic("window: a record's freshness is made of numbers and names: " + err.Error())
	}
	return string(text)
}

// drive runs the machine under the window's journal.
func (r *running) drive(ctx context.Context, m *round.Machine) error {
	journal, err := run.OpenJournal(r.work(r.Window, "journal"))
	if err != nil {
		return fmt.Errorf("opening the window's journal: %w", err)
	}
	a := &acting{running: r, machine: m}
	loop := run.Loop[round.Event, round.Effect]{Act: a.act, Durable: &run.Durable[round.Event, round.Effect]{
		Journal: journal, Care: care, Key: effectKey, AppendEvent: appendEvent, ParseEvent: parseEvent,
		Uncertain: func(round.Effect) round.Event { return round.Event{} },
	}}
	about, err := canon.Marshal(r.begun)
	if err == nil {
		err = loop.Run(ctx, fmt.Sprintf("window/%d", r.Window), hexOf(about), m)
	}
	return errors.Join(err, journal.Close())
}

// care: an arm is on record by its own checkpoint and is read from there; everything else is written down, and is such
// that doing it again after a cut changes nothing.
func care(e round.Effect) run.Care {
	if e.Do == round.Play {
		return run.Repeatable
	}
	return run.Recorded
}

func effectKey(e round.Effect) string {
	names := [...]string{"", "admit", "play", "retest", "promote", "look", "persist", "weigh", "publish"}
	return names[e.Do] + "/" + e.Hotkey
}

// eventLine is an event as the journal holds it.
type eventLine struct {
	Told    uint8             `json:"told"`
	Detail  string            `json:"detail,omitzero"`
	Table   round.Table       `json:"table,omitzero"`
	Retests []round.Again     `json:"retests,omitzero"`
	Live    map[string]string `json:"live,omitzero"`
}

func appendEvent(dst []byte, e round.Event) ([]byte, error) {
	l := eventLine{Told: uint8(e.Told), Detail: e.Detail, Table: e.Table, Retests: e.Retests}
	if e.Live != nil {
		l.Live = map[string]string{}
		for uid, h := range e.Live {
			l.Live[fmt.Sprint(uid)] = h
		}
	}
	b, err := json.Marshal(l, json.Deterministic(true))
	return append(dst, b...), err
}

func parseEvent(text []byte) (round.Event, error) {
	var l eventLine
	if err := canon.Strict(text, &l); err != nil {
		return round.Event{}, fmt.Errorf("reading a window's event: %w", err)
	}
	e := round.Event{Told: round.Told(l.Told), Detail: l.Detail, Table: l.Table, Retests: l.Retests}
	if l.Live != nil {
		e.Live = map[int]string{}
		for k, h := range l.Live {
			var uid int
			if _, err := fmt.Sscan(k, &uid); err != nil {
				return round.Event{}, fmt.Errorf("reading a window's event: %w", err)
			}
			e.Live[uid] = h
		}
	}
	return e, nil
}

// acting carries out the machine's effects.
type acting struct {
	*running
	machine *round.Machine
}

func (a *acting) act(ctx context.Context, e round.Effect) (round.Event, error) {
	select {
	case <-a.Drain:
		return round.Event{}, play.ErrDrained
	default:
	}
	switch e.Do {
	case round.Admit:
		return a.admit(ctx, e.Hotkey)
	case round.Play:
		return a.play(ctx, e.Arm)
	case round.Retest:
		return a.retest(ctx)
	case round.Promote:
		return a.promote(ctx, e.Hotkey)
	case round.Look:
		return a.lookUp(ctx)
	case round.Persist:
		return round.Event{Told: round.Persisted}, a.persist(ctx)
	case round.Weigh:
		return round.Event{Told: round.Weighed}, a.weigh(ctx, e.Payout)
	}
	return round.Event{Told: round.Published}, a.publishReveal(ctx, e.Reveal)
}

// admit fetches a submission and holds it against the reference.
func (a *acting) admit(ctx context.Context, hotkey string) (round.Event, error) {
	q, err := a.place(hotkey)
	if err != nil {
		return round.Event{}, err
	}
	registration, err := digestOf(q.Registration)
	if err != nil {
		return round.Event{}, err
	}
	manifest, err := digestOf(q.Manifest)
	if err != nil {
		return round.Event{}, err
	}
	artifact, err := submit.Fetch(ctx, submit.Fetching{
		Bucket: a.Bucket, Artifacts: a.Artifacts, Hotkey: hotkey, Ready: chain.Ready{Registration: registration, Manifest: manifest},
	})
	if err != nil {
		if submit.MinersFault(err) {
			return round.Event{Told: round.Refused, Detail: fault.Of(err).Public()}, nil
		}
		return round.Event{}, fmt.Errorf("fetching the submission of %s: %w", hotkey, err)
	}
	verdict, err := admission.Admit(artifact.Tree, a.Reference, a.profile)
	switch {
	case err != nil:
		return round.Event{}, fmt.Errorf("admitting the submission of %s: %w", hotkey, err)
	case !verdict.Admitted():
		return round.Event{Told: round.Refused, Detail: string(verdict.Refusal().Kind)}, nil
	}
	return round.Event{Told: round.Admitted}, nil
}

// promote makes the winner's artifact public and checks what stands there.
func (a *acting) promote(ctx context.Context, hotkey string) (round.Event, error) {
	q, err := a.artifactOf(hotkey)
	if err != nil {
		return round.Event{}, err
	}
	id, err := digestOf(q.Manifest)
	if err != nil {
		return round.Event{}, err
	}
	wait := promotionWait
	for try := 1; ; try++ {
		err := submit.Promote(ctx, a.Artifacts, a.Models, id, nil)
		switch {
		case err == nil:
			return round.Event{Told: round.Promoted, Detail: "models/sha256/" + hex.EncodeToString(id[:])}, nil
		case ctx.Err() != nil:
			return round.Event{}, context.Cause(ctx)
		case try == promotions:
			return round.Event{Told: round.Forfeited, Detail: "the public copy did not verify: " + fault.Of(err).Public()}, nil
		}
		a.Log.Warn("promoting the winner again", "hotkey", hotkey, "try", try, "error", err)
		select {
		case <-time.After(wait):
			wait *= 2
		case <-ctx.Done():
			return round.Event{}, context.Cause(ctx)
		}
	}
}

// A promotion is tried eight times, 30 s after the first and then after twice as long each.
const (
	promotions    = 8
	promotionWait = 30 * time.Second
)

func (a *acting) lookUp(ctx context.Context) (round.Event, error) {
	graph, err := a.Chain.Metagraph(ctx)
	if err != nil {
		return round.Event{}, fmt.Errorf("asking the chain who is registered: %w", err)
	}
	live := map[int]string{}
	for _, n := range graph.Neurons {
		live[n.UID] = n.Hotkey
	}
	return round.Event{Told: round.Looked, Live: live}, nil
}

// persist keeps the history: who was judged, who was crowned, what was spent.
func (a *acting) persist(ctx context.Context) error {
	s := store.Settlement{Window: a.Window}
	for _, p := range a.machine.Seats() {
		if p.Status != submission.Queued {
			s.Shots = append(s.Shots, store.Shot{Hotkey: p.Hotkey, Window: a.Window, Status: p.Status, Detail: p.Detail})
		}
	}
	if king, coronations := a.machine.Reigns(); len(coronations) > len(a.Coronations) {
		s.Crowned = king
	}
	if a.Funding == AccountPays {
		for hotkey, owed := range a.meter.Owed() {
			if err := a.funds.Settle(ctx, a.Window, hotkey, owed); err != nil {
				return fmt.Errorf("settling the account of %s: %w", hotkey, err)
			}
		}
	}
	return a.Store.Update(ctx, func(tx store.Tx) error {
		if err := store.Settle(tx.Conductor, s); err != nil {
			return err
		}
		return tx.Conductor.Windows.Advance(a.Window, store.Settled)
	})
}

// weigh sets the weights.
func (a *acting) weigh(ctx context.Context, p reign.Payout) error {
	list := make([]chain.Weight, len(p.Weights))
	for i, w := range p.Weights {
		list[i] = chain.Weight{UID: w.UID, Share: w.Share}
	}
	if err := a.setWeights(ctx, list); err != nil {
		return err
	}
	return a.Store.Update(ctx, func(tx store.Tx) error { return tx.Conductor.Windows.Advance(a.Window, store.Weighed) })
}

// counter tells the progress of an arm.
func (r *running) counter(arm string, c *checkpoint) func() {
	var done atomic.Int64
	for i := range c.brief {
		if c.brief[i].line != 0 {
			done.Add(1)
		}
	}
	return func() {
		if n := done.Add(1); r.Progress != nil {
			r.Progress(Progress{Window: r.Window, Arm: arm, Done: int(n), All: len(c.brief)})
		}
	}
}
