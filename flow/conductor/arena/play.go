package arena

import (
	"fmt"
	"time"

	"assay/conductor/arm"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/profile"
	"assay/conductor/score"
	"assay/conductor/task"
	"assay/core/money"
)

// Arm is a player's rows over a slice, in the slice's order, and the tasks that were voided in it.
type Arm struct {
	Rows []score.Row
	Void []string
}

// played is one episode's part of an arm.
type played struct {
	row   score.Row
	spent money.Pico
	took  time.Duration
	void  bool
}

// Play runs a player over a slice, one episode at a time. An episode that depends on nothing but its prompts and what bears
// on it is played once and remembered.
func (m *Market) Play(p *Player, slice []task.Pinned) (Arm, error) {
	plan := arm.New(len(slice), arm.Settings{Concurrency: 1, Allowance: p.Budget, Limited: p.Limited})
	out := Arm{Rows: make([]score.Row, 0, len(slice))}
	var now time.Duration
	for !plan.Over() {
		s, cut := plan.Next(now)
		for i := cut.First; i < cut.First+cut.N; i++ {
			out.Rows = append(out.Rows, episode.Zeroed(slice[i], cut.Ending).Row())
		}
		for i := s.First; i < s.First+s.N; i++ {
			e, err := m.remembered(p, slice[i], s.Left)
			if err != nil {
				return Arm{}, fmt.Errorf("task %s: %w", slice[i].ID(), err)
			}
			if e.void {
				out.Void = append(out.Void, e.row.TaskID)
			}
			out.Rows = append(out.Rows, e.row)
			now += e.took
			plan.Done(e.spent)
		}
	}
	return out, nil
}

// remembered plays an episode, unless it is known. What an allowance cuts short depends on the episodes before it.
func (m *Market) remembered(p *Player, t task.Pinned, left money.Pico) (played, error) {
	at := m.index(t)
	if p.Limited {
		return m.episode(p, t, at, left)
	}
	c := cell{player: p, task: at}
	if p.Bears != nil {
		c.bears = p.Bears(View{Benchmark: t.Benchmark(), Text: t.Prompt()})
	}
	e, ok := m.known[c]
	if ok {
		return e, nil
	}
	e, err := m.episode(p, t, at, left)
	m.known[c] = e
	return e, err
}

// episode plays one task out against the recorded outcomes.
func (m *Market) episode(p *Player, t task.Pinned, at int, left money.Pico) (played, error) {
	e := episode.New(t, m.Renderer, episode.Settings{
		Profile: profile.Strict, Budget: left, Limited: p.Limited, Serves: func(asked, served string) bool { return asked == served },
	})
	var now time.Duration
	ready := e.Start()
	for !ready.Done {
		d := ready.Do[0]
		var ev episode.Event
		switch d.Do {
		case episode.Ask:
			v := read(d.Prompt)
			if p.Took != nil {
				now += p.Took(v)
			}
			ev = episode.Event{Told: episode.Turn, Text: p.Turn(v)}
		case episode.Call:
			ev = m.call(p, at, d.Key)
		case episode.Grade:
			ev = m.grade(p, at, d.Request.Model().String())
		default:
			return played{}, fmt.Errorf("a recorded world has no answer to effect %d", d.Do)
		}
		ev.Now = now
		var err error
		if ready, err = e.Step(ev); err != nil {
			return played{}, err
		}
	}
	r := e.Result()
	return played{row: r.Row(), spent: r.Spent, took: now, void: r.Void != ""}, nil
}

// call answers a worker request with the recorded outcome, or with another model's where the arm's workers are swapped.
func (m *Market) call(p *Player, at int, key outcome.Key) episode.Event {
	by, _ := m.World.Model(key.Model) // a parsed id is in the catalog
	if p.Swap != nil {
		by = p.Swap(at, by)
	}
	o := m.World.Outcome(at, by)
	e := episode.Event{
		Told: episode.Answered, Text: o.Text, Cost: o.Cost, TokensIn: o.TokensIn, TokensOut: o.TokensOut, Served: m.World.Models[by].ID,
	}
	if !o.OK {
		e.Told, e.Text = episode.Failed, o.Failure
	}
	return e
}

// grade counts what the world says that the answer is worth.
func (m *Market) grade(p *Player, at int, model string) episode.Event {
	by, _ := m.World.Model(model)
	if p.Break != nil && p.Break(at, by) {
		return episode.Event{Told: episode.GraderFailed}
	}
	return episode.Event{Told: episode.Graded, Score: m.worths[at*len(m.World.Models)+by]}
}
