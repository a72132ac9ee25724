package window

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/policy"
	"assay/conductor/publication"
	"assay/conductor/receipt"
	"assay/conductor/round"
	"assay/conductor/score"
	"assay/conductor/task"
	"assay/conductor/trace"
	"assay/core/secret"
	"assay/flow/conductor/meter"
	"assay/flow/conductor/play"
	"assay/flow/conductor/submit"
	"assay/flow/conductor/table"
	"assay/run"
	"assay/store"
)

// running is a window under way.
type running struct {
	*Owner
	*drawn
	table *table.Table
	meter *meter.Window
	tasks []score.Task
	gate  []task.Pinned // the power gate's subsample
	hit   map[outcome.Key]bool
	draws round.Table
}

// duel names an arm in call ids.
func (r *running) duel(arm string) string {
	return receipt.Duel{Window: r.Window, Arm: arm, Attempt: 1}.String()
}

// slots returns the tasks that an arm plays.
func (r *running) slots(a round.Arm) []task.Pinned {
	if a.Kind == publication.Gate {
		return r.gate
	}
	return r.slice
}

func (r *running) armDir(arm string) string { return r.work(r.Window, "arms", arm) }

func (r *running) checkpointFormat(arm string) string {
	return "assay arm " + r.duel(arm) + " " + r.Nonce + " v1"
}

func (r *running) checkpointPath(arm string) string { return filepath.Join(r.armDir(arm), "episodes") }

// play plays an arm to its end, or goes on where it was cut off, and returns what the window needs of it.
func (r *running) play(ctx context.Context, a round.Arm) (round.Event, error) {
	slots := r.slots(a)
	if err := os.MkdirAll(r.armDir(a.Name), 0o700); err != nil {
		return round.Event{}, fmt.Errorf("opening the arm: %w", err)
	}
	c, err := openCheckpoint(r.checkpointPath(a.Name), r.checkpointFormat(a.Name), len(slots))
	if err != nil {
		return round.Event{}, fmt.Errorf("opening the arm's checkpoint: %w", err)
	}
	played := c.aborted != "" || !slices.ContainsFunc(c.brief, func(b brief) bool { return b.line == 0 })
	bound, serve, err := r.bind(a)
	if err == nil && !played {
		err = r.playOn(ctx, a, slots, c, bound, serve)
	}
	if err = errors.Join(err, c.close()); err != nil {
		return round.Event{}, err
	}
	return r.tally(a, slots, bound)
}

// bound is an arm with its money.
type bounded struct {
	*meter.Arm
	workers play.Workers
}

// bind gives an arm its money and its workers.
func (r *running) bind(a round.Arm) (bounded, *queued, error) {
	b := meter.Binding{Duel: r.duel(a.Name), Hotkey: a.Hotkey, Payer: a.Payer}
	p := purse{}
	var q *queued
	var err error
	switch {
	case a.Hotkey != "":
		if q, err = r.artifactOf(a.Hotkey); err != nil {
			return bounded{}, nil, err
		}
		id, err := digestOf(q.Registration)
		if err != nil {
			return bounded{}, nil, err
		}
		if p, err = r.purseOf(a.Hotkey, id); err != nil {
			return bounded{}, nil, fmt.Errorf("opening the account of %s: %w", a.Hotkey, err)
		}
	default:
		if p.limit, p.limited, err = bound(r.OwnerBudget); err != nil {
			return bounded{}, nil, err
		}
	}
	b.Limit, b.Limited, b.OwnKey = p.limit, p.limited, !p.key.IsZero()
	workers, redactor, err := r.Workers(p.key)
	if err != nil {
		return bounded{}, nil, fmt.Errorf("reaching the workers: %w", err)
	}
	if redactor == nil {
		redactor = secret.NewRedactor(p.key)
	}
	arm, err := r.meter.Bind(b, redactor)
	return bounded{arm, workers}, q, err
}

// artifactOf finds the artifact of a hotkey: of a submission in this window's queue, or of the king, which was in an
// earlier one's.
func (r *running) artifactOf(hotkey string) (*queued, error) {
	if q, err := r.place(hotkey); err == nil {
		return &q, nil
	}
	var q queued
	err := r.Store.View(context.Background(), func(tx store.Tx) error {
		c, err := tx.Conductor.Submissions.Get(hotkey)
		q = queued{Hotkey: hotkey, Block: c.Block, Registration: hex.EncodeToString(c.Registration[:]), Manifest: hex.EncodeToString(c.Manifest[:])}
		return err
	})
	return &q, err
}

// conductor makes the arm's Conductor ready.
func (r *running) conductor(ctx context.Context, a round.Arm, q *queued) (play.Conductor, func() error, error) {
	if a.Policy != "" {
		p, err := policy.New(a.Policy, r.Nonce, r.snapshot)
		return play.Fixed{Policy: p}, func() error { return nil }, err
	}
	id, err := digestOf(q.Manifest)
	if err != nil {
		return nil, nil, err
	}
	if _, err := submit.Kept(r.Artifacts, id); err != nil {
		return nil, nil, fmt.Errorf("finding the artifact of %s: %w", a.Hotkey, err)
	}
	return r.Serve(ctx, Serving{Tree: filepath.Join(r.Kept, filepath.FromSlash(submit.TreePrefix(id))), Name: "v3-" + a.Hotkey + "@" + q.Manifest})
}

// servings is how often a Conductor that cannot be asked is served again before its arm is given up.
const servings = 3

// playOn plays what is missing of an arm. A Conductor that cannot be served ends the arm, which is kept; an interrupt and
// whatever is wrong with the owner's disk or meter is an error, and the arm goes on later.
func (r *running) playOn(ctx context.Context, a round.Arm, slots []task.Pinned, c *checkpoint, b bounded, q *queued) error {
	for try := 1; ; try++ {
		err := r.playOnce(ctx, a, slots, c, b, q)
		var u *unservable
		switch {
		case err == nil || ctx.Err() != nil || errors.Is(err, play.ErrDrained) || !play.Serving(err) && !errors.As(err, &u):
			return err
		case try < servings:
			r.Log.Warn("a Conductor is served again", "window", r.Window, "arm", a.Name, "try", try, "error", err)
		default:
			r.Log.Warn("an arm is given up", "window", r.Window, "arm", a.Name, "error", err)
			return c.abort("the Conductor could not be asked")
		}
	}
}

// unservable is a Conductor that did not start.
type unservable struct{ cause error }

func (u *unservable) Error() string { return u.cause.Error() }
func (u *unservable) Unwrap() error { return u.cause }

func (r *running) playOnce(ctx context.Context, a round.Arm, slots []task.Pinned, c *checkpoint, b bounded, q *queued) error {
	who, end, err := r.conductor(ctx, a, q)
	if err != nil {
		return &unservable{err}
	}
	journal, err := run.OpenJournal(filepath.Join(r.armDir(a.Name), "journal"))
	if err != nil {
		return errors.Join(err, end())
	}
	arm := r.armOf(a, slots, c, b, who, journal)
	for i := range slots {
		if _, ok := c.past(i); ok {
			if err := journal.Forget(arm.RunID(slots[i])); err != nil {
				return errors.Join(err, end(), journal.Close())
			}
		}
	}
	_, err = arm.Run(ctx, slots)
	return errors.Join(err, end(), journal.Close())
}

// armOf says how an arm is played.
func (r *running) armOf(a round.Arm, slots []task.Pinned, c *checkpoint, b bounded, who play.Conductor, journal *run.FileJournal) *play.Arm {
	excluded := make(map[string]bool, len(a.Excluded))
	for _, id := range a.Excluded {
		excluded[id] = true
	}
	arm := &play.Arm{
		Conductor: who, Workers: b.workers, Grader: r.Grader, Inspector: r.Inspector, Counter: r.Counter, Renderer: r.renderer, Profile: r.profile,
		Concurrency: r.Concurrency, Allowance: b.Limit, Limited: b.Limited, Journal: journal, ID: r.duel(a.Name), About: r.about(a), Paid: true,
		Drain: r.Drain, Table: r.table, Meter: b.Arm, Serves: r.rules.Serves, Batches: true, Light: true, Now: r.Now, Past: c.past,
		Decided: func(i int) (ending.Ending, bool) { return ending.Excluded, excluded[slots[i].ID()] },
	}
	done := r.counter(a.Name, c)
	arm.Finished = func(i int, e *episode.Result) error {
		if err := c.add(i, e); err != nil {
			return err
		}
		done()
		if len(e.Steps) == 0 {
			return nil // never begun: nothing is in the journal
		}
		return journal.Forget(arm.RunID(slots[i]))
	}
	if a.Beat != nil {
		arm.Stop = r.futility(a, slots, c)
	}
	return arm
}

// about binds an arm's journal to what it is played with.
func (r *running) about(a round.Arm) string {
	return r.duel(a.Name) + "\x00" + a.Hotkey + "\x00" + a.Policy + "\x00" + r.begun.Season + "\x00" + r.Nonce
}

// futilityLooks is how often an arm is asked whether it can still win: each look adds up all that has ended.
const futilityLooks = 100

// futility tells when a challenger can no longer win. It looks at the first border between batches behind each hundredth of the
// slice, so that a run that was cut off looks at the same places.
func (r *running) futility(a round.Arm, slots []task.Pinned, c *checkpoint) func(int) (ending.Ending, bool) {
	step, looked := max(1, len(slots)/futilityLooks), 0
	return func(ended int) (ending.Ending, bool) {
		if ended/step == looked {
			return "", false
		}
		looked = ended / step
		rows := make([]score.Row, ended)
		for i := range ended {
			b := c.at(i)
			rows[i] = score.Row{
				TaskID: slots[i].ID(), Benchmark: slots[i].Benchmark(), Score: b.score, Spend: b.spent.Dollars(), Ending: b.ending, Group: slots[i].Group(),
			}
		}
		futile, err := round.Futile(rows, r.tasks, r.rules.Rates(), a.Excluded, *a.Beat)
		return ending.Futile, err == nil && futile
	}
}

// tally reads an arm's traces and receipts into what the window needs of them.
func (r *running) tally(a round.Arm, slots []task.Pinned, b bounded) (round.Event, error) {
	t := round.Tally{Arm: a.Name}
	played, err := openEpisodes(r.checkpointPath(a.Name), r.checkpointFormat(a.Name), len(slots))
	if err != nil {
		return round.Event{}, err
	}
	defer played.close()
	var buf []byte
	for i := range slots {
		if buf, err = played.line(i, buf); err != nil {
			return round.Event{}, fmt.Errorf("reading an episode: %w", err)
		}
		if buf == nil {
			break // of an arm that was given up: what stands behind a gap is not looked at
		}
		e, err := trace.Parse(buf)
		if err != nil {
			return round.Event{}, fmt.Errorf("reading an episode: %w", err)
		}
		if err := t.Add(e, slots[i].Group()); err != nil {
			return round.Event{}, err
		}
	}
	s, err := b.Summary(t.Spent)
	if err != nil {
		return round.Event{}, fmt.Errorf("auditing the arm's receipts: %w", err)
	}
	r.note(&t)
	return t.Played(a, b.Duel, b.OwnKey, s.Audited, played.aborted), nil
}

// note notes what the arm adds to the window's table, for the retest and the sums.
func (r *running) note(t *round.Tally) {
	for _, k := range t.Hits {
		r.hit[k] = true
	}
	r.draws = r.draws.Add(t.Table)
}
