package round

import (
	"assay/conductor"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/receipt"
	"assay/conductor/score"
	"assay/conductor/trace"
	"assay/core/fault"
	"assay/core/money"
)

// Tally reads an arm's traces, in the slice's order, into what the window needs of them. Whoever plays an arm and whoever
// audits it use the same one.
type Tally struct {
	Arm     string
	Rows    []score.Row
	Voids   []Void
	Spent   money.Pico
	Refused int // steps that the meter refused
	Table   Table
	Hits    []outcome.Key // draws that were served to this arm
}

// Add takes the next episode. group is the task's cluster label.
func (t *Tally) Add(e trace.Episode, group string) error {
	spent, err := t.Spent.Add(e.Spent)
	if err != nil {
		return err
	}
	t.Spent = spent
	t.Rows = append(t.Rows, score.Row{
		TaskID: e.TaskID, Benchmark: e.Benchmark, Score: e.Score, Spend: e.Spent.Dollars(), Ending: e.Ending, Group: group,
	})
	if e.Void != "" {
		v, err := voidOf(e)
		if err != nil {
			return err
		}
		v.Arm = t.Arm
		t.Voids = append(t.Voids, v)
	}
	for i := range e.Steps {
		t.step(e.TaskID, &e.Steps[i])
	}
	return nil
}

func (t *Tally) step(task string, s *episode.Step) {
	switch {
	case s.Refused:
		t.Refused++
	case s.Model == "" || s.Lost:
	case s.Replayed:
		t.Table.Hits++
		t.Hits = append(t.Hits, outcome.Key{Task: task, Model: s.Model, Attempt: s.Attempt})
	default:
		t.Table.Rows++
		t.Table.Fills++
		t.Table.Provider = t.Table.Provider.Plus(s.Cost)
		if s.Failed {
			t.Table.Failed++
		}
	}
}

// voidOf says why an episode is void. One that names another model's answer must show the step.
func voidOf(e trace.Episode) (Void, error) {
	v := Void{Task: e.TaskID, Reason: string(e.Void)}
	if e.Void != episode.VoidServed {
		return v, nil
	}
	for _, s := range e.Steps {
		if s.Failed && s.Failure == episode.OtherModel && !s.Replayed {
			v.Model, v.Served = s.Model, s.Served
			return v, nil
		}
	}
	return Void{}, conductor.BadTrace.With(fault.Str("task_id", e.TaskID), fault.Str("void", string(e.Void)))
}

// Add sums up the tables of two arms.
func (t Table) Add(o Table) Table {
	return Table{t.Rows + o.Rows, t.Fills + o.Fills, t.Hits + o.Hits, t.Failed + o.Failed, t.Provider.Plus(o.Provider)}
}

// Played returns the event of an arm that was played, or that was cut off where aborted says why.
func (t *Tally) Played(a Arm, duel string, ownKey bool, audited receipt.Audited, aborted string) Event {
	e := Event{Told: Played, Rows: t.Rows, Voids: t.Voids, Detail: aborted}
	if aborted != "" {
		e.Told = Aborted
	}
	e.Metering = Metering{
		Arm: a.Name, Duel: duel, Payer: a.Payer, Scoreable: audited.OK(), Reason: string(audited.Reason), Metered: audited.Metered,
		Recorded: t.Spent, Charged: audited.Metered, Provider: audited.Provider, Calls: audited.Calls, Hits: audited.Hits, Fills: audited.Fills,
		Unfunded: t.Refused, OwnKey: ownKey,
	}
	return e
}
