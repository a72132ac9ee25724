package play

import (
	"fmt"
	"strconv"

	"assay/conductor/episode"
	"assay/conductor/task"
	"assay/core/digest"
	"assay/core/money"
	"assay/run"
)

// bind reads the arm's own record in the journal, or writes it, before anything else is recorded or called: an arm that
// was begun by another command is refused here.
func (r *running) bind() error {
	past, err := r.Journal.Enter(r.ID)
	if err != nil {
		return fmt.Errorf("entering the arm: %w", err)
	}
	defer r.Journal.Leave(r.ID)
	about := r.armAbout()
	if len(past) > 0 {
		if past[0].Key != about {
			return run.OtherRun.With()
		}
		return nil
	}
	at, err := r.Journal.Append(run.Record{Run: r.ID, Kind: run.Begin, Key: about})
	if err != nil {
		return fmt.Errorf("recording the arm: %w", err)
	}
	if err := r.Journal.Sync(at); err != nil {
		return fmt.Errorf("recording the arm: %w", err)
	}
	return nil
}

// armAbout says what the arm is played with: who plays, under which rules, with which allowance, and the slice in order.
func (r *running) armAbout() string {
	h := []byte(r.About + "\x00" + r.Profile.String() + "\x00" + r.Renderer.PrefixDigest() + "\x00")
	if r.Limited {
		h = r.Allowance.AppendDollars(h)
	}
	for _, t := range r.slice {
		h = append(append(append(append(h, 0), t.ID()...), 0), t.Digest()...)
	}
	return digest.HexOfBytes(h)
}

// spent sums what the journal says the arm's calls cost.
func (r *running) spent() (money.Pico, error) {
	var sum money.Pico
	for _, t := range r.slice {
		id := r.RunID(t)
		past, err := r.Journal.Enter(id)
		if err != nil {
			return 0, fmt.Errorf("entering run %q: %w", id, err)
		}
		r.Journal.Leave(id)
		for _, rec := range past {
			if rec.Event == nil {
				continue
			}
			e, err := parseEvent(rec.Event)
			if err != nil {
				return 0, err
			}
			if e.Cost > 0 {
				sum = sum.Plus(e.Cost)
			}
		}
	}
	return sum, nil
}

// maxRunID keeps run ids below the journal's limit.
const maxRunID = 400

// RunID names an episode in the journal: by its task, or by the task's digest where the name is too long for a line.
func (a *Arm) RunID(t task.Pinned) string {
	if id := a.ID + "/" + t.ID(); len(id) <= maxRunID {
		return id
	}
	return a.ID + "/sha256:" + digest.HexOfBytes([]byte(t.ID()))
}

// about binds an episode's records to what it was played with: the arm, the prompts' constant part and the task.
func (r *running) about(t task.Pinned) string {
	return digest.HexOfBytes([]byte(r.About + "\x00" + r.Profile.String() + "\x00" + r.Renderer.PrefixDigest() + "\x00" + t.Benchmark() + "\x00" + t.Digest()))
}

// UncertainCall is the failure of a worker call whose result was lost in a crash. It may have been charged.
const UncertainCall = "uncertain: the call was under way when the run was cut off; the provider may have charged it"

// durable says how the effects of one episode survive a crash.
func (p *player) durable() *run.Durable[episode.Event, episode.Effect] {
	return &run.Durable[episode.Event, episode.Effect]{
		Journal: p.Journal,
		Care:    p.care,
		Key:     key,
		Uncertain: func(episode.Effect) episode.Event {
			return episode.Event{Told: episode.Lost, Text: UncertainCall, Now: p.elapsed()}
		},
		Lookup:      p.lookup,
		AppendEvent: appendEvent,
		ParseEvent: func(text []byte) (episode.Event, error) {
			e, err := parseEvent(text)
			if err == nil {
				p.base, p.since = e.Now, p.Now() // the episode's clock goes on from where it stood
			}
			return e, err
		},
	}
}

// care: a worker call that costs money happens once. A turn and a read are written down, because asking again may give
// something else; so is a grade where money hangs on it, else it is a function.
func (p *player) care(d episode.Effect) run.Care {
	switch {
	case d.Do == episode.Call && p.Paid:
		return run.Once
	case d.Do == episode.Grade && p.Meter == nil, d.Do == episode.Fill:
		return run.Repeatable
	}
	return run.Recorded
}

// key is the effect's execution id within its episode.
func key(d episode.Effect) string {
	k := strconv.Itoa(d.Step)
	switch d.Do {
	case episode.Ask:
		return k + "/ask"
	case episode.Call:
		return k + "/call/" + strconv.Itoa(len(d.Request.Observations())) + "/" + d.Request.Model().String()
	}
	if d.Do == episode.Grade {
		return k + "/grade"
	}
	return k + "/inspect/" + strconv.Itoa(len(d.Request.Observations()))
}
