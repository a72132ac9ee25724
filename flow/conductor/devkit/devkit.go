// Package devkit judges one Conductor on one world with the rules that decide a window, and says where it stands.
//
// Invariants:
//   - The slice, the prompts, the scores and the duels are made by the rules; nothing is computed a second way here.
//   - Reference arms are played on recorded outcomes only: the dev kit never spends money on them.
//   - A run that fails leaves no report.
package devkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"assay/conductor/action"
	"assay/conductor/catalog"
	"assay/conductor/episode"
	"assay/conductor/policy"
	"assay/conductor/profile"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/trace"
	"assay/conductor/window"
	"assay/conductor/world"
	"assay/core/money"
	"assay/flow/conductor/play"
	"assay/run"
	"assay/view"
)

// Settings of a stage.
type Settings struct {
	World        *world.World
	Name         string // of the world, as reports show it
	Profile      profile.Profile
	Nonce        string
	PerBenchmark int // tasks drawn from each benchmark; 0 takes every task
}

// Stage is a world made ready: the catalog, the prompts and the slice that every arm plays.
type Stage struct {
	Settings
	Snapshot *catalog.Snapshot
	Renderer *state.Renderer
	Slice    []task.Pinned
	Entry    window.Entry
}

// Open makes a stage. A world whose models or tasks the rules refuse is an error.
func Open(s Settings) (*Stage, error) {
	st := &Stage{Settings: s}
	entries := make([]catalog.Entry, len(s.World.Models))
	for i, m := range s.World.Models {
		entries[i] = catalog.Entry{ID: m.ID, In: m.In, Out: m.Out, Context: m.Context}
	}
	var err error
	if st.Snapshot, err = catalog.New(entries, s.Profile); err != nil {
		return nil, fmt.Errorf("freezing the catalog: %w", err)
	}
	if st.Renderer, err = state.NewRenderer(state.Instructions(), st.Snapshot, s.Profile); err != nil {
		return nil, fmt.Errorf("freezing the catalog: %w", err)
	}
	if err := st.draw(); err != nil {
		return nil, fmt.Errorf("drawing the slice: %w", err)
	}
	return st, nil
}

func (st *Stage) draw() (err error) {
	specs := make([]task.Spec, len(st.World.Tasks))
	for i, t := range st.World.Tasks {
		specs[i] = t.Spec()
	}
	pool, err := window.PoolDigest(specs, st.Profile)
	if err != nil {
		return err
	}
	st.Entry = window.Entry{
		PerBenchmark: int64(st.PerBenchmark), Minimum: 1, PoolDigest: pool,
		Profile: st.Profile, InstructionsDigest: state.InstructionsDigest(state.Instructions()),
	}
	if st.PerBenchmark == 0 {
		st.Slice, err = window.Slice(st.Nonce, specs)
		return err
	}
	d, err := window.Draw(specs, st.Nonce, "0", st.PerBenchmark, 1)
	st.Slice = d.Tasks
	return err
}

// Arm is the Conductor under test and what it is played with.
type Arm struct {
	Conductor   play.Conductor // nil: the cheapest policy stands in
	Name        string
	Workers     play.Workers   // nil: the world's recorded outcomes
	Counter     action.Counter // nil: the endpoint's count, else an estimate
	Budget      *money.Pico
	Concurrency int
	Journal     run.Journal
	Drain       <-chan struct{} // see play.Arm
	Trace       io.Writer       // nil: no trace
	Progress    func(done int)
	Decisions   int // tasks whose decisions are reported; below 0 all
	Now         func() time.Time
}

// errNoOutcomes says what a world without recorded outcomes needs.
var errNoOutcomes = errors.New("the world has no recorded outcomes, and no worker endpoint was given")

// Run plays the arm and the references and reports.
func (st *Stage) Run(ctx context.Context, a Arm) (*view.DevKit, error) {
	if a.Workers == nil && !st.World.Recorded() {
		return nil, errNoOutcomes
	}
	standIn := a.Conductor == nil
	if standIn {
		p, err := policy.New(policy.Cheapest, st.Nonce, st.Snapshot)
		if err != nil {
			return nil, err
		}
		a.Conductor, a.Name = play.Fixed{Policy: p}, "builtin:"+policy.Cheapest
	}
	results, err := st.play(ctx, a)
	if err != nil {
		return nil, err
	}
	r, err := st.report(a, results)
	if err != nil {
		return nil, fmt.Errorf("scoring the arm: %w", err)
	}
	r.StandIn = standIn
	if err := st.compare(ctx, r, a, results); err != nil {
		return nil, err
	}
	return r, nil
}

func (st *Stage) play(ctx context.Context, a Arm) ([]*episode.Result, error) {
	arm := &play.Arm{
		Conductor: a.Conductor, Workers: a.Workers, Grader: play.Metrics{World: st.World}, Counter: a.Counter,
		Renderer: st.Renderer, Profile: st.Profile, Concurrency: a.Concurrency,
		Journal: a.Journal, ID: "dev", About: a.Name + "\x00" + st.Nonce, Paid: a.Workers != nil, Drain: a.Drain, Now: a.Now,
	}
	if a.Workers == nil {
		arm.Workers = play.Recorded{World: st.World}
	}
	if a.Budget != nil {
		arm.Allowance, arm.Limited = *a.Budget, true
	}
	var w *play.TraceWriter
	if a.Trace != nil {
		var err error
		if w, err = play.NewTraceWriter(a.Trace, st.header(a.Name), len(st.Slice)); err != nil {
			return nil, fmt.Errorf("writing the trace: %w", err)
		}
	}
	arm.Finished = finished(w, a.Progress)
	results, err := arm.Run(ctx, st.Slice)
	if w != nil {
		if cerr := w.Close(); cerr != nil && err == nil {
			err = fmt.Errorf("writing the trace: %w", cerr)
		}
	}
	return results, err
}

// finished tells trace and progress of every episode; nil where neither wants to know.
func finished(w *play.TraceWriter, progress func(int)) func(int, *episode.Result) error {
	switch {
	case w == nil && progress == nil:
		return nil
	case progress == nil:
		return w.Finished
	}
	return func(i int, r *episode.Result) error {
		defer progress(1)
		if w != nil {
			return w.Finished(i, r)
		}
		return nil
	}
}

func (st *Stage) header(arm string) trace.Header {
	return trace.Header{
		Window: st.Entry.Object(), Nonce: st.Nonce, Instructions: state.Instructions(), Catalog: st.Snapshot.Freeze(), Arm: arm,
	}
}
