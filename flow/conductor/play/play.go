// Package play runs a Conductor over a slice: it is where the rules of episode and arm meet endpoints, processes and the clock.
//
// Invariants:
//   - A worker call that costs money is journaled before it is made when the arm has a journal, and is never made again.
//   - A serving failure ends the arm with an error; it never becomes an empty turn or a zero.
//   - Results come back in the slice's order, whatever ran beside what.
package play

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"assay/conductor/action"
	"assay/conductor/arm"
	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/profile"
	"assay/conductor/reading"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/worker"
	"assay/core/limit"
	"assay/core/money"
	"assay/core/text"
	"assay/run"
)

// Ask is one turn that a Conductor is asked for.
type Ask struct {
	Prompt state.Prompt
	TaskID string
	Step   int // from 1
}

// Said is a Conductor's turn.
type Said struct {
	Text   string
	Tokens int // completion tokens as the endpoint counted them, or below 0
}

// Conductor answers prompts. It must be safe for concurrent use.
type Conductor interface {
	// Turn returns what the Conductor says. Its error is a serving failure and ends the arm.
	Turn(ctx context.Context, a Ask) (Said, error)
}

// Workers answer worker requests. They must be safe for concurrent use.
type Workers interface {
	// Call returns an Answered, Failed or Refused event. Its error means that nothing is known and ends the arm.
	Call(ctx context.Context, r worker.Request) (episode.Event, error)
}

// Grader scores answers. It must be a function of its arguments and safe for concurrent use.
type Grader interface {
	// Grade returns a score in [0,1]. Its error is infrastructure: the task leaves the slice.
	Grade(ctx context.Context, r worker.Request, answer string) (float64, error)
}

// Inspector runs reads. It must be safe for concurrent use.
type Inspector interface {
	Inspect(ctx context.Context, t task.Pinned, c reading.Call) (output string, truncated bool, err error)
}

// Arm is what one arm is run with.
type Arm struct {
	Conductor   Conductor
	Workers     Workers
	Grader      Grader
	Inspector   Inspector      // nil: reads are answers
	Counter     action.Counter // nil: the endpoint's count, else an estimate
	Renderer    *state.Renderer
	Profile     profile.Profile
	Concurrency int
	Allowance   money.Pico
	Limited     bool
	// Journal makes the arm survive a crash. ID names the arm there, and About says what it is played with, so that
	// another arm is not mistaken for it. Paid says that a worker call costs money.
	Journal run.Journal
	ID      string
	About   string
	Paid    bool
	// Drain, when it is closed, ends the arm without cutting off what is under way: no effect begins any more, and
	// what ends is recorded. The arm's error is ErrDrained then.
	Drain <-chan struct{}
	// Table, when set, is shared by the arms of a window.
	Table Table
	// Meter, when set, pays calls and replays; without one a paid arm's allowance is all that bounds it.
	Meter Meter
	// Serves says which names may answer for a model; nil lets every name pass. See episode.Settings.
	Serves func(asked, served string) bool
	// Batches lets nothing start before all that is in flight has ended, so that two runs start the same.
	Batches bool
	// Stop is asked between batches, with how many tasks have ended from the front, whether the rest is given up, and as what.
	Stop func(ended int) (ending.Ending, bool)
	// Decided names tasks that never begin, and how they end; nil decides none.
	Decided func(i int) (ending.Ending, bool)
	// Past names tasks that an earlier process has finished, and what they spent. Their results stay nil.
	Past func(i int) (spent money.Pico, ok bool)
	// Finished is told of every episode that ended or was cut off, from any goroutine, with its place in the slice. Its
	// error ends the arm.
	Finished func(i int, r *episode.Result) error
	// Light keeps no result behind Finished: Run returns nil for every episode.
	Light bool
	// Now is the clock.
	Now func() time.Time
}

// Run plays the slice and returns one result for each task, in the slice's order.
func (a *Arm) Run(ctx context.Context, slice []task.Pinned) ([]*episode.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	width := max(1, min(a.Concurrency, len(slice)))
	r := &running{
		Arm: a, slice: slice, results: make([]*episode.Result, len(slice)), began: a.Now(),
		plan: arm.New(len(slice), arm.Settings{Concurrency: a.Concurrency, Allowance: a.Allowance, Limited: a.Limited, Batches: a.Batches}),
		jobs: make(chan job, width), done: make(chan ended, width),
	}
	if a.Journal != nil {
		if err := r.bind(); err != nil {
			return nil, err
		}
	}
	if err := r.openMeter(); err != nil {
		return nil, err
	}
	if width > 1 { // a serial arm hands nothing over
		for range width { // goroutines that stay keep their grown stacks
			go r.work(ctx)
		}
	}
	defer close(r.jobs)
	var failed error
	inFlight := 0
	for {
		if failed == nil {
			n, err := r.start(inFlight)
			inFlight, failed = inFlight+n, err
		}
		if inFlight == 0 {
			break
		}
		if width == 1 {
			r.done <- r.play(ctx, <-r.jobs)
		}
		e := <-r.done
		inFlight--
		if e.err != nil && failed == nil {
			failed = e.err
			if !errors.Is(e.err, ErrDrained) {
				cancel(e.err)
			}
		}
		if failed == nil {
			r.plan.Done(e.spent)
		}
	}
	if failed == nil && ctx.Err() != nil {
		failed = context.Cause(ctx)
	}
	if failed != nil {
		return nil, failed
	}
	return r.results, nil
}

// job is one episode to play with what is left of the allowance.
type job struct {
	i    int
	left money.Pico
}

type ended struct {
	spent money.Pico
	err   error
}

// running is one arm under way. Only the goroutine of Run touches plan; each results element is written once, before done is told.
type running struct {
	*Arm
	slice   []task.Pinned
	results []*episode.Result
	plan    *arm.Arm
	front   int // tasks that have been started or settled, from the front
	began   time.Time
	jobs    chan job
	done    chan ended
	meter   *limit.Ledger // what a paid arm's calls may still spend, whoever makes them; nil: no limit
}

// start hands out what may begin now, settles what is cut off or over already, and returns how many episodes it handed out.
func (r *running) start(inFlight int) (out int, err error) {
	for {
		if r.Stop != nil && r.front > 0 && inFlight+out == 0 {
			if why, ok := r.Stop(r.front); ok {
				return out, r.cutOff(r.plan.Abandon(why))
			}
		}
		s, cut := r.plan.Next(r.Now().Sub(r.began))
		if err := r.cutOff(cut); err != nil {
			return out, err
		}
		for i := s.First; i < s.First+s.N; i++ {
			over, err := r.over(i)
			switch {
			case err != nil:
				return out, err
			case !over:
				r.jobs <- job{i, s.Left} // never blocks: no more are in flight than jobs holds
				out++
			}
		}
		if s.N == 0 {
			return out, nil
		}
		r.front = s.First + s.N
	}
}

// over settles a task that need not be played.
func (r *running) over(i int) (bool, error) {
	if r.Decided != nil {
		if how, ok := r.Decided(i); ok {
			r.plan.Done(0)
			return true, r.settle(i, episode.Zeroed(r.slice[i], how))
		}
	}
	if r.Past != nil {
		if spent, ok := r.Past(i); ok {
			r.plan.Done(spent)
			return true, nil
		}
	}
	return false, nil
}

func (r *running) cutOff(c arm.Cut) error {
	for i := c.First; i < c.First+c.N; i++ {
		how := c.Ending
		if r.Past != nil {
			if _, ok := r.Past(i); ok {
				continue
			}
		}
		if r.Decided != nil {
			if d, ok := r.Decided(i); ok {
				how = d
			}
		}
		if err := r.settle(i, episode.Zeroed(r.slice[i], how)); err != nil {
			return err
		}
	}
	return nil
}

// work plays episodes until the arm is over.
func (r *running) work(ctx context.Context) {
	for j := range r.jobs {
		r.done <- r.play(ctx, j)
	}
}

func (r *running) play(ctx context.Context, j job) ended {
	e, err := r.episode(ctx, j.i, j.left)
	if err == nil {
		err = r.settle(j.i, e)
	}
	if err != nil {
		return ended{err: fmt.Errorf("task %s: %w", text.Quote(r.slice[j.i].ID(), 100), err)}
	}
	return ended{spent: e.Spent}
}

// settle keeps one result and tells of it.
func (r *running) settle(i int, e *episode.Result) error {
	if !r.Light {
		r.results[i] = e
	}
	if r.Finished != nil {
		return r.Finished(i, e)
	}
	return nil
}

// episode plays one task.
func (r *running) episode(ctx context.Context, i int, left money.Pico) (*episode.Result, error) {
	t := r.slice[i]
	m := episode.New(t, r.Renderer, episode.Settings{
		Profile: r.Profile, Budget: left, Limited: r.Limited, Inspector: r.Inspector != nil, UseTable: r.Table != nil, Serves: r.Serves,
	})
	p := &player{running: r, task: t, place: i, since: r.Now()}
	defer p.release()
	loop := run.Loop[episode.Event, episode.Effect]{Act: p.act}
	var id, bound string
	if r.Journal != nil {
		loop.Durable = p.durable()
		id, bound = r.RunID(t), r.about(t)
	}
	if err := loop.Run(ctx, id, bound, m); err != nil {
		return nil, err
	}
	return m.Result(), nil
}

// player carries out the effects of one episode.
type player struct {
	*running
	task  task.Pinned
	place int // in the slice
	since time.Time
	base  time.Duration // time that a resumed episode had already taken
	claim *outcome.Key  // of the table, still to be filled or released
}

func (p *player) elapsed() time.Duration { return p.base + p.Now().Sub(p.since) }

// unserved is a Conductor that could not be asked.
type unserved struct{ cause error }

func (u *unserved) Error() string { return u.cause.Error() }
func (u *unserved) Unwrap() error { return u.cause }

// Serving reports whether an arm ended because its Conductor could not be asked: the owner's serving failed, and nothing else.
func Serving(err error) bool {
	var u *unserved
	return errors.As(err, &u)
}

// ErrDrained is the error of an arm that was drained before its end.
var ErrDrained = errors.New("drained")

func (p *player) act(ctx context.Context, d episode.Effect) (e episode.Event, err error) {
	select {
	case <-p.Drain:
		return episode.Event{}, ErrDrained
	default:
	}
	switch d.Do {
	case episode.Ask:
		e, err = p.ask(ctx, d)
	case episode.Call:
		e, err = p.call(ctx, d)
	case episode.Inspect:
		e = p.inspect(ctx, d)
	case episode.Grade:
		e = p.grade(ctx, d)
	case episode.Fill:
		e, err = p.fill(d)
	}
	if err == nil && ctx.Err() != nil && (e.Told == episode.InspectorFailed || e.Told == episode.GraderFailed) {
		err = context.Cause(ctx) // an interrupt is nobody's infrastructure failure
	}
	e.Text, e.Served, e.Provider = utf8Text(e.Text), utf8Text(e.Served), utf8Text(e.Provider)
	e.Now = p.elapsed()
	return e, err
}

// utf8Text makes text from outside recordable: bytes that are not UTF-8 become U+FFFD before anything is read from it.
func utf8Text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

func (p *player) ask(ctx context.Context, d episode.Effect) (episode.Event, error) {
	said, err := p.Conductor.Turn(ctx, Ask{Prompt: d.Prompt, TaskID: p.task.ID(), Step: d.Step + 1})
	if err != nil {
		return episode.Event{}, fmt.Errorf("asking the Conductor for step %d: %w", d.Step+1, &unserved{err})
	}
	return episode.Event{Told: episode.Turn, Text: said.Text, Reason: action.MeasureTurn(said.Text, p.Profile, p.Counter, said.Tokens)}, nil
}

func (p *player) inspect(ctx context.Context, d episode.Effect) episode.Event {
	out, truncated, err := p.Inspector.Inspect(ctx, p.task, d.Inspection)
	if err != nil {
		return episode.Event{Told: episode.InspectorFailed}
	}
	return episode.Event{Told: episode.Observed, Text: out, Truncated: truncated}
}

func (p *player) grade(ctx context.Context, d episode.Effect) episode.Event {
	s, err := p.Grader.Grade(ctx, d.Request, d.Answer)
	if err != nil {
		return episode.Event{Told: episode.GraderFailed}
	}
	return episode.Event{Told: episode.Graded, Score: s}
}
