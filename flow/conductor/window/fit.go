package window

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay/conductor/policy"
	"assay/conductor/publication"
	"assay/conductor/score"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/conductor/world"
	"assay/flow/conductor/play"
)

var errNotRecorded = errors.New("the exchange is fitted on recorded outcomes, and the world has none: name a file with the exchange")

// References lists the policies that a season is fitted on.
func References() []string { return []string{policy.Cheapest, policy.Strongest, policy.Cascade} }

// Fit settles a season on a world's recorded outcomes: which of the reference policies reigns at first, and at what rate
// quality is bought. Only the named benchmarks are played; none names all.
func Fit(ctx context.Context, s Season, w *world.World, benchmarks []string, now func() time.Time) (Season, error) {
	s, _, err := FitArms(ctx, s, w, benchmarks, now)
	return s, err
}

// FitArms is Fit, and returns the reference policies' rows besides.
func FitArms(ctx context.Context, s Season, w *world.World, benchmarks []string, now func() time.Time) (Season, map[string][]score.Row, error) {
	if !w.Recorded() {
		return s, nil, errNotRecorded
	}
	s.Exchange = map[string]publication.Rate{}
	for _, t := range w.Tasks {
		if len(benchmarks) == 0 || slices.Contains(benchmarks, t.Benchmark) {
			s.Exchange[t.Benchmark] = publication.Rate{}
		}
	}
	st := &stage{Season: s, profile: s.Reading(), world: w}
	if err := st.freeze(); err != nil {
		return s, nil, err
	}
	slice, err := window.Slice("fit", st.pool)
	if err != nil {
		return s, nil, fmt.Errorf("taking the tasks: %w", err)
	}
	arms := map[string][]score.Row{}
	for _, name := range References() {
		if arms[name], err = st.reference(ctx, name, slice, now); err != nil {
			return s, nil, fmt.Errorf("playing %s: %w", name, err)
		}
	}
	s, err = FitSeason(s, arms)
	return s, arms, err
}

// reference plays a reference policy on recorded outcomes.
func (st *stage) reference(ctx context.Context, name string, slice []task.Pinned, now func() time.Time) ([]score.Row, error) {
	p, err := policy.New(name, "fit", st.snapshot)
	if err != nil {
		return nil, err
	}
	a := play.Arm{
		Conductor: play.Fixed{Policy: p}, Workers: play.Recorded{World: st.world}, Grader: play.Metrics{World: st.world}, Renderer: st.renderer,
		Profile: st.profile, Concurrency: 16, Now: now,
	}
	results, err := a.Run(ctx, slice)
	if err != nil {
		return nil, err
	}
	rows := make([]score.Row, len(results))
	for i, r := range results {
		rows[i] = r.Row()
	}
	return rows, nil
}
