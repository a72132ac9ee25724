package learn

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"assay/conductor/action"
	"assay/conductor/state"
	"assay/flow/conductor/play"
	"assay/view"
)

// Replay asks a Conductor the prompts of published traces, at no cost: no worker is called.
type Replay struct {
	Conductor   play.Conductor
	Concurrency int
	Arm         string // "" replays all arms
	Progress    func(done int)
}

// asked is one prompt with what the trace says of it.
type asked struct {
	row    Row
	prompt state.Prompt
	set    *Set
	best   float64 // best score before the step
}

// Run asks and compares.
func (r Replay) Run(ctx context.Context, sets []*Set) (*view.Replay, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	jobs := make(chan asked)
	var mu sync.Mutex
	t := &tally{byBenchmark: map[string]*view.ReplayLine{}}
	var wg sync.WaitGroup
	for range max(1, r.Concurrency) {
		wg.Go(func() {
			for a := range jobs {
				said, err := r.Conductor.Turn(ctx, play.Ask{Prompt: a.prompt, TaskID: a.row.Task, Step: int(a.row.Step)})
				if err != nil {
					cancel(fmt.Errorf("asking the Conductor: %w", err))
					continue
				}
				mu.Lock()
				t.take(a, said.Text)
				mu.Unlock()
				if r.Progress != nil {
					r.Progress(1)
				}
			}
		})
	}
	err := r.feed(ctx, sets, jobs)
	close(jobs)
	wg.Wait()
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	return t.report(), nil
}

// feed hands every step to whoever asks.
func (r Replay) feed(ctx context.Context, sets []*Set, jobs chan<- asked) error {
	for _, s := range sets {
		for _, arm := range s.Arms {
			if r.Arm != "" && arm != r.Arm {
				continue
			}
			best := 0.0
			err := s.Rows(arm, func(row Row, prompt state.Prompt) error {
				if row.Step == 1 {
					best = 0
				}
				select {
				case jobs <- asked{row, prompt, s, best}:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				best = max(best, row.Score)
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// tally adds up answers.
type tally struct {
	all         view.ReplayLine
	verbs       int
	failures    map[string]int
	byBenchmark map[string]*view.ReplayLine
	unknown     int
}

func (t *tally) take(a asked, said string) {
	act, failure := action.Parse(said, a.set.Snapshot, a.set.Profile)
	l := t.byBenchmark[a.row.Benchmark]
	if l == nil {
		l = &view.ReplayLine{Benchmark: a.row.Benchmark}
		t.byBenchmark[a.row.Benchmark] = l
	}
	if failure != action.Readable {
		if t.failures == nil {
			t.failures = map[string]int{}
		}
		t.failures[failure.String()]++
	}
	model := ""
	if m := act.Model(); failure == action.Readable && act.Kind() != action.Stop {
		model = m.String()
	}
	yours, known := a.worth(act, model, failure)
	if !known {
		t.unknown++
	}
	readable := failure == action.Readable && a.row.ParseFailure == ""
	if readable && act.Kind().String() == a.row.Action {
		t.verbs++
	}
	for _, line := range []*view.ReplayLine{l, &t.all} {
		line.Steps++
		line.Regret += a.row.Regret
		if readable && model == a.row.Model && (model != "" || act.Kind().String() == a.row.Action) {
			line.Agree++
		}
		if known {
			line.Known++
			line.YourRegret += a.row.Gain - yours
		}
	}
}

// worth is what the answer would have been worth; known is false for a model that no arm asked on this task.
func (a asked) worth(act action.Action, model string, failure action.Failure) (float64, bool) {
	if failure != action.Readable || model == "" {
		return 0, true // a wasted step and a STOP gain nothing
	}
	return a.set.Worth(a.row.Task, a.row.Benchmark, model, a.best)
}

func (t *tally) report() *view.Replay {
	v := &view.Replay{All: *t.all.Mean(), Verbs: t.verbs, Unknown: t.unknown, ParseFailures: t.failures}
	for _, l := range slices.SortedFunc(maps.Values(t.byBenchmark), func(a, b *view.ReplayLine) int { return cmp.Compare(a.Benchmark, b.Benchmark) }) {
		v.Benchmarks = append(v.Benchmarks, *l.Mean())
	}
	return v
}
