package play_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"assay/conductor/catalog"
	"assay/conductor/episode"
	"assay/conductor/profile"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/trace"
	"assay/conductor/window"
	"assay/conductor/world"
	"assay/flow/conductor/play"
)

// stage is a recorded world with a renderer and a slice, for tests and benchmarks.
type stage struct {
	world    *world.World
	snapshot *catalog.Snapshot
	renderer *state.Renderer
	slice    []task.Pinned
}

// newStage makes a world of nTasks multiple-choice tasks and nModels models of rising price, all of which answer wrongly
// but the last.
func newStage(tb testing.TB, nTasks, nModels int) *stage {
	tb.Helper()
	var models, tasks, outcomes strings.Builder
	models.WriteByte('[')
	for m := range nModels {
		if m > 0 {
			models.WriteByte(',')
		}
		fmt.Fprintf(&models, `{"id":"vendor-%d/model-%d-instruct","price_in_per_mtok":%g,"price_out_per_mtok":%g,"context_length":131072}`, m%7, m, 0.1*float64(m+1), 0.4*float64(m+1))
	}
	models.WriteByte(']')
	for t := range nTasks {
		fmt.Fprintf(&tasks, `{"task_id":"task-%05d","benchmark":"bench-%d","prompt":"Question %d: %s Answer with a letter.","reference":"C","metric":"mcq_accuracy"}`+"\n",
			t, t%6, t, strings.Repeat("which of these holds for the given case? ", 8))
		for m := range nModels {
			answer := "A"
			if m == nModels-1 {
				answer = "C"
			}
			fmt.Fprintf(&outcomes, `{"task_id":"task-%05d","model":"vendor-%d/model-%d-instruct","output":"Answer: %s","score":%d,"cost_usd":0.00%d,"input_tokens":100,"output_tokens":10,"ok":true}`+"\n",
				t, m%7, m, answer, map[bool]int{true: 1}[answer == "C"], m+1)
		}
	}
	w, defects := world.Read(fstest.MapFS{
		"models.json": {Data: []byte(models.String())}, "tasks.jsonl": {Data: []byte(tasks.String())}, "outcomes.jsonl": {Data: []byte(outcomes.String())},
	})
	if len(defects) > 0 {
		tb.Fatal(defects[0])
	}
	return stageOf(tb, w)
}

func stageOf(tb testing.TB, w *world.World) *stage {
	tb.Helper()
	s := &stage{world: w}
	entries := make([]catalog.Entry, len(w.Models))
	for i, m := range w.Models {
		entries[i] = catalog.Entry{ID: m.ID, In: m.In, Out: m.Out, Context: m.Context}
	}
	specs := make([]task.Spec, len(w.Tasks))
	for i, t := range w.Tasks {
		specs[i] = t.Spec()
	}
	var err error
	if s.snapshot, err = catalog.New(entries, profile.Strict); err != nil {
		tb.Fatal(err)
	}
	if s.renderer, err = state.NewRenderer(state.Instructions(), s.snapshot, profile.Strict); err != nil {
		tb.Fatal(err)
	}
	if s.slice, err = window.Slice("bench", specs); err != nil {
		tb.Fatal(err)
	}
	return s
}

// talker is a Conductor with a typical turn for each step.
type talker struct{ turns []string }

func (c talker) Turn(_ context.Context, a play.Ask) (play.Said, error) {
	return play.Said{Text: c.turns[a.Step-1], Tokens: -1}, nil
}

func (s *stage) talker() talker {
	last := s.snapshot.Len() - 1
	return talker{[]string{
		"REASON a short question with options; the cheapest model may do\nDELEGATE " + s.snapshot.At(0).ID,
		"REASON the first answer failed, so go up in price\nRETRY " + s.snapshot.At(last).ID,
		"REASON it succeeded; nothing is left to gain\nSTOP",
	}}
}

func (s *stage) arm(c play.Conductor, concurrency int) *play.Arm {
	return &play.Arm{
		Conductor: c, Workers: play.Recorded{World: s.world}, Grader: play.Metrics{World: s.world},
		Renderer: s.renderer, Concurrency: concurrency, Now: time.Now,
	}
}

// BenchmarkStep measures one routed step in memory: render, parse, look up, charge, grade. A third of the steps are STOPs.
func BenchmarkStep(b *testing.B) {
	for _, models := range []int{5, 300} {
		s := newStage(b, 500, models)
		for _, width := range []int{1, 16} {
			for _, traced := range []bool{false, true} {
				name := fmt.Sprintf("models=%d/inflight=%d/trace=%v", models, width, traced)
				b.Run(name, func(b *testing.B) { benchStep(b, s, width, traced) })
			}
		}
	}
}

func benchStep(b *testing.B, s *stage, width int, traced bool) {
	b.ReportAllocs()
	steps := 0
	for b.Loop() {
		a := s.arm(s.talker(), width)
		var w *play.TraceWriter
		if traced {
			var err error
			if w, err = play.NewTraceWriter(io.Discard, trace.Header{}, len(s.slice)); err != nil {
				b.Fatal(err)
			}
			a.Finished = w.Finished
		}
		results, err := a.Run(context.Background(), s.slice)
		if err != nil {
			b.Fatal(err)
		}
		steps += countSteps(results)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
}

func countSteps(results []*episode.Result) int {
	n := 0
	for _, r := range results {
		n += r.Turns()
	}
	return n
}
