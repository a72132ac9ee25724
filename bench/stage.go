package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"assay/conductor/profile"
	"assay/conductor/world"
	"assay/core/money"
	"assay/flow/conductor/devkit"
	"assay/flow/conductor/play"
)

// newStage makes a recorded world of multiple-choice tasks in which only the dearest model answers rightly.
func newStage(tasks, models int) (*devkit.Stage, error) {
	var b world.Builder
	at := world.Place{File: "bench"}
	for m := range models {
		in, out := 0.1*float64(m+1), 0.4*float64(m+1)
		b.AddModel(at, modelID(m), &in, &out, 131072)
	}
	for t := range tasks {
		b.AddTask(at, world.Task{
			ID: fmt.Sprintf("task-%05d", t), Benchmark: fmt.Sprintf("bench-%d", t%6), Reference: "C", Metric: "mcq_accuracy",
			Prompt: fmt.Sprintf("Question %d: %sAnswer with a letter.", t, strings.Repeat("which of these holds for the given case? ", 8)),
		})
	}
	b.Recorded("bench")
	for t := range tasks {
		for m := range models {
			answer, score := "Answer: A", 0.0
			if m == models-1 {
				answer, score = "Answer: C", 1
			}
			cost := money.Pico(1_000_000 * int64(m+1)).Dollars()
			in, out := int64(100), int64(10)
			b.AddOutcome(at, world.Recorded{
				TaskID: fmt.Sprintf("task-%05d", t), Model: modelID(m), Text: answer, OK: true,
				Score: &score, Cost: &cost, TokensIn: &in, TokensOut: &out,
			})
		}
	}
	w, defects := b.Done()
	if err := world.Err(defects); err != nil {
		return nil, err
	}
	return devkit.Open(devkit.Settings{World: w, Name: "bench", Profile: profile.Strict, Nonce: "bench"})
}

func modelID(m int) string { return fmt.Sprintf("vendor-%d/model-%d-instruct", m%7, m) }

// talker says a typical turn at each step: the cheapest model, the dearest, stop.
type talker struct{ turns []string }

func newTalker(st *devkit.Stage) talker {
	return talker{[]string{
		"REASON a short question with options; the cheapest model may do\nDELEGATE " + st.Snapshot.At(0).ID,
		"REASON the first answer failed, so go up in price\nRETRY " + st.Snapshot.At(st.Snapshot.Len()-1).ID,
		"REASON it succeeded; nothing is left to gain\nSTOP",
	}}
}

// Turn answers by step alone.
func (c talker) Turn(_ context.Context, a play.Ask) (play.Said, error) {
	return play.Said{Text: c.turns[a.Step-1], Tokens: -1}, nil
}

func newArm(st *devkit.Stage, width int) *play.Arm {
	return &play.Arm{
		Conductor: newTalker(st), Workers: play.Recorded{World: st.World}, Grader: play.Metrics{World: st.World},
		Renderer: st.Renderer, Concurrency: width, Now: time.Now,
	}
}
