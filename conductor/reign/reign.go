// Package reign settles who holds the crown after a window and what everybody is paid.
//
// Invariants:
//   - Commit order decides between winners: a later one takes the crown only by beating its holder on the same slice.
//   - What an arm's clock or a failed grader took away is void for both arms; what the allowance took away counts as zero.
//   - A hotkey is paid only while the live map holds it. A slot that nobody can take burns; nobody moves up.
//   - The weights of every state add up to exactly one.
//
// Format: docs/spec/duel.md, "The window" and "Emissions".
package reign

import (
	"cmp"
	"slices"

	"assay/conductor"
	"assay/conductor/duel"
	"assay/conductor/ending"
	"assay/conductor/score"
	"assay/core/fault"
)

// MinReached is the share of its rows that an arm must have reached to wear the crown.
const MinReached = 0.5

// Challenger is one queued arm.
type Challenger struct {
	Hotkey string
	Block  int64 // the block of its commitment: seniority
	Rows   []score.Row
}

// Window is what adjudication needs of a window: all arms, once all have run.
type Window struct {
	Nonce       string
	Tasks       []score.Task // the slice; a row of any other task is refused
	Exchange    score.Exchange
	Failed      []string // ids of tasks whose grading failed in any arm
	King        []score.Row
	Challengers []Challenger
}

// Rematch is a later winner's duel against the holder of the crown.
type Rematch struct {
	Incumbent string       // the hotkey that held the crown
	Verdict   *duel.Result // nil when the clock left too little to judge
}

// Clears reports whether the challenger took the crown.
func (r Rematch) Clears() bool { return r.Verdict != nil && r.Verdict.Wins() }

// Judgement is what the window says about one challenger.
type Judgement struct {
	Hotkey    string
	Block     int64
	Rows      int  // of its arm
	Reached   int  // rows that neither the allowance nor the arm's clock cut off
	Clocked   int  // rows that the arm's clock cut off
	Exhausted int  // rows that the allowance cut off
	Paid      bool // whether the arm spent anything
	Eligible  bool // whether it may wear the crown: it paid, and reached half of the slice
	Excluded  []duel.Exclusion
	Verdict   *duel.Result // nil when the clock left too little to judge
	Card      *score.Card  // over the tasks that both arms answered; nil without a verdict
	Rematch   *Rematch     // nil unless somebody held the crown when its turn came
	HeldUntil string       // the hotkey that took the crown from it in this window; "" for none
}

// Wins reports whether the challenger beats the king and may wear the crown.
func (j Judgement) Wins() bool { return j.Eligible && j.Verdict != nil && j.Verdict.Wins() }

// Outcome is a window's settlement.
type Outcome struct {
	Crowned    string      // hotkey; "" when the king stays
	Judgements []Judgement // in the order of Window.Challengers
	KingRows   []score.Row // the published arm: less failed tasks and its own clock's tail; nil without challengers
	KingCard   *score.Card // over KingRows; nil when there are none
}

// Adjudicate judges every challenger against the king and then settles the succession. A window in which no duel can
// be judged at all, for instance with one benchmark, is refused; only what a clock took away leaves a verdict open.
func Adjudicate(w Window) (Outcome, error) {
	slice, err := sliceOf(w.Tasks)
	if err != nil {
		return Outcome{}, err
	}
	j := judge{slice: slice, exchange: w.Exchange, failed: w.Failed, settings: duel.Standard(w.Nonce)}
	king, err := j.labelled(w.King)
	if err != nil {
		return Outcome{}, err
	}
	arms := make([][]score.Row, len(w.Challengers))
	out := Outcome{Judgements: make([]Judgement, len(w.Challengers))}
	for i, c := range w.Challengers {
		if arms[i], err = j.labelled(c.Rows); err != nil {
			return Outcome{}, err
		}
		if out.Judgements[i], err = j.against(king, c, arms[i]); err != nil {
			return Outcome{}, err
		}
	}
	if err := j.succeed(&out, arms); err != nil {
		return Outcome{}, err
	}
	if len(w.Challengers) > 0 {
		out.KingRows = Published(king, w.Failed)
	}
	if len(out.KingRows) > 0 {
		card, err := score.Of(out.KingRows, w.Exchange)
		if err != nil {
			return Outcome{}, err
		}
		out.KingCard = &card
	}
	return out, nil
}

// judge holds what is the same for every duel of a window.
type judge struct {
	slice    map[string]score.Task
	exchange score.Exchange
	failed   []string
	settings duel.Settings
}

// sliceOf finds the slice's tasks by id.
func sliceOf(tasks []score.Task) (map[string]score.Task, error) {
	slice := make(map[string]score.Task, len(tasks))
	for _, t := range tasks {
		if _, twice := slice[t.ID]; twice {
			return nil, conductor.DuplicateTask.With(fault.Str("task", t.ID))
		}
		slice[t.ID] = t
	}
	return slice, nil
}

// labelled copies an arm's rows with the slice's group labels. A row that is not of the slice is refused.
func (j *judge) labelled(rows []score.Row) ([]score.Row, error) {
	out := slices.Clone(rows)
	for i, r := range out {
		t, ok := j.slice[r.TaskID]
		if !ok || t.Benchmark != r.Benchmark {
			return nil, conductor.Misaligned.With(fault.Str("task", r.TaskID))
		}
		out[i].Group = t.Group
	}
	return out, nil
}

// against judges one challenger against the king.
func (j *judge) against(king []score.Row, c Challenger, rows []score.Row) (Judgement, error) {
	out := Judgement{Hotkey: c.Hotkey, Block: c.Block, Rows: len(rows), Paid: score.TotalSpend(rows) > 0}
	for _, r := range rows {
		switch r.Ending {
		case ending.DuelWallClock:
			out.Clocked++
		case ending.BudgetExhausted:
			out.Exhausted++
		}
		if r.Ending.Reached() {
			out.Reached++
		}
	}
	// An arm that leaves tasks out altogether has not reached them either.
	out.Eligible = out.Paid && float64(out.Reached) >= MinReached*float64(max(len(rows), len(j.slice)))
	kept, verdict, err := j.duel(king, rows)
	if err != nil {
		return Judgement{}, err
	}
	out.Excluded, out.Verdict = kept.Excluded, verdict
	if verdict != nil {
		card, err := score.Of(kept.Challenger, j.exchange)
		if err != nil {
			return Judgement{}, err
		}
		out.Card = &card
	}
	return out, nil
}

// duel judges two arms on the tasks that both answered. The verdict is nil when a clock left too few benchmarks.
func (j *judge) duel(king, challenger []score.Row) (duel.Kept, *duel.Result, error) {
	kept, result, err := duel.Judge(king, challenger, j.failed, j.exchange, j.settings)
	switch {
	case err == nil:
		return kept, &result, nil
	case fault.Of(err) == conductor.Breadth && kept.Clocked():
		return kept, nil, nil
	}
	return duel.Kept{}, nil, err
}

// succeed walks the winners in the order of their commitments and lets each hold the crown until a later one takes it.
func (j *judge) succeed(out *Outcome, arms [][]score.Row) error {
	holder := -1
	for _, i := range seniority(out.Judgements) {
		if holder < 0 {
			holder = i
			continue
		}
		_, verdict, err := j.duel(arms[holder], arms[i])
		if err != nil {
			return err
		}
		incumbent := &out.Judgements[holder]
		rematch := Rematch{Incumbent: incumbent.Hotkey, Verdict: verdict}
		out.Judgements[i].Rematch = &rematch
		if rematch.Clears() {
			incumbent.HeldUntil = out.Judgements[i].Hotkey
			holder = i
		}
	}
	if holder >= 0 {
		out.Crowned = out.Judgements[holder].Hotkey
	}
	return nil
}

// seniority lists the winners by block, then by hotkey.
func seniority(all []Judgement) []int {
	var winners []int
	for i, j := range all {
		if j.Wins() {
			winners = append(winners, i)
		}
	}
	slices.SortStableFunc(winners, func(a, b int) int {
		return cmp.Or(cmp.Compare(all[a].Block, all[b].Block), cmp.Compare(all[a].Hotkey, all[b].Hotkey))
	})
	return winners
}

// Published leaves failed tasks and the arm's own clock tail out of the king's rows.
func Published(king []score.Row, failed []string) []score.Row {
	return slices.DeleteFunc(slices.Clone(king), func(r score.Row) bool {
		return r.Ending == ending.DuelWallClock || slices.Contains(failed, r.TaskID)
	})
}
