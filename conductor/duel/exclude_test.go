package duel_test

import (
	"testing"

	"assay/conductor"
	"assay/conductor/duel"
	"assay/conductor/ending"
	"assay/conductor/score"
	"assay/core/fault"

	"github.com/google/go-cmp/cmp"
)

func row(id string, how ending.Ending) score.Row {
	return score.Row{TaskID: id, Benchmark: "a", Score: 0.5, Spend: 0.1, Ending: how}
}

func stops(ids ...string) (rows []score.Row) {
	for _, id := range ids {
		rows = append(rows, row(id, ending.Stop))
	}
	return rows
}

func ids(rows []score.Row) (out []string) {
	for _, r := range rows {
		out = append(out, r.TaskID)
	}
	return out
}

func TestBehaviourN19toN23_Exclude(t *testing.T) {
	clock := func(id string) score.Row { return row(id, ending.DuelWallClock) }
	for _, tt := range []struct {
		name             string
		king, challenger []score.Row
		failed           []string
		kept             []string
		excluded         []duel.Exclusion
	}{
		{"N19 failed graders leave both arms", stops("c", "a", "b"), stops("a", "b", "c"), []string{"a", "nobody's", "a"},
			[]string{"c", "b"}, []duel.Exclusion{{"a", duel.Grader}, {"nobody's", duel.Grader}}},
		{"N20 clock rows leave both arms", append(stops("a", "b"), clock("c"), clock("d")), append(stops("c", "a"), clock("b"), clock("d")), nil,
			[]string{"a"}, []duel.Exclusion{{"b", duel.ClockChallenger}, {"c", duel.ClockKing}, {"d", duel.ClockKing}}},
		{"N21 a task in one arm only", stops("z", "a", "b"), stops("x", "b", "z"), nil,
			[]string{"z", "b"}, []duel.Exclusion{{"a", duel.MissingChallenger}, {"x", duel.MissingKing}}},
		{"N21 missing goes before the clock", append(stops("a"), clock("b")), append(stops("a"), clock("c")), nil,
			[]string{"a"}, []duel.Exclusion{{"b", duel.MissingChallenger}, {"c", duel.MissingKing}}},
		{"N19 the grader goes before all", append(stops("a"), clock("b")), stops("a"), []string{"b"},
			[]string{"a"}, []duel.Exclusion{{"b", duel.Grader}}},
		{"N23 the allowance excludes nothing", []score.Row{row("a", ending.BudgetExhausted), row("b", ending.Futile)},
			[]score.Row{row("b", ending.BudgetExhausted), row("a", ending.WallClock)}, nil, []string{"a", "b"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kept, err := duel.Exclude(tt.king, tt.challenger, tt.failed)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.kept, ids(kept.King)) + cmp.Diff(tt.kept, ids(kept.Challenger)) + cmp.Diff(tt.excluded, kept.Excluded); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("N22 a task twice in an arm", func(t *testing.T) {
		_, err := duel.Exclude(stops("a", "a"), stops("a"), nil)
		refuses(t, err, conductor.DuplicateTask)
		_, err = duel.Exclude(stops("a"), stops("a", "a"), nil)
		refuses(t, err, conductor.DuplicateTask)
	})
}

func TestMatch(t *testing.T) {
	b := score.Row{TaskID: "b", Benchmark: "b", Score: 1, Spend: 0.3}
	king := append(stops("x", "y"), b)
	pairs, err := duel.Match(king, king)
	if err != nil || len(pairs) != 2 || pairs[0].Benchmark() != "a" || pairs[0].Len() != 2 || pairs[1].Len() != 1 {
		t.Fatalf("%v %v", pairs, err)
	}
	change := func(f func(*score.Row)) []score.Row {
		rows := append(stops("x", "y"), b)
		f(&rows[1])
		return rows
	}
	for name, tt := range map[string]struct {
		challenger []score.Row
		want       fault.Code
	}{
		"shorter":         {king[:2], conductor.Misaligned},
		"another task":    {change(func(r *score.Row) { r.TaskID = "z" }), conductor.Misaligned},
		"other benchmark": {change(func(r *score.Row) { r.Benchmark = "b" }), conductor.Misaligned},
		"another group":   {change(func(r *score.Row) { r.Group = "g" }), conductor.MisalignedGroups},
		"bad score":       {change(func(r *score.Row) { r.Score = 2 }), conductor.BadGrade},
		"bad spend":       {change(func(r *score.Row) { r.Spend = -1 }), conductor.BadCost},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := duel.Match(king, tt.challenger)
			refuses(t, err, tt.want)
		})
	}
	twice := stops("x", "x")
	_, err = duel.Match(twice, twice)
	refuses(t, err, conductor.DuplicateTask)
	half := stops("x", "y")
	half[0].Group = "g"
	_, err = duel.Match(half, half)
	refuses(t, err, conductor.PartialGroups)
}

// Five void tasks leave both arms: the arm that failed on the hard half gains nothing from their absence.
func TestFault71_VoidForBothArms(t *testing.T) {
	var king, challenger []score.Row
	for i := range 10 {
		id := string(rune('a' + i))
		k, c := row(id, ending.Stop), row(id, ending.Stop)
		k.Score, c.Score = 0.9, 0.8 // the easy half
		if i >= 5 {
			k.Score = 0.2 // the hard half, which the challenger's clock never let it begin
			c.Score, c.Ending = 0, ending.DuelWallClock
		}
		king, challenger = append(king, k), append(challenger, c)
	}
	kept, err := duel.Exclude(king, challenger, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := score.Exchange{"a": {Lam: 0, C: 1}}
	a, errA := score.Of(kept.King, e)
	b, errB := score.Of(kept.Challenger, e)
	if errA != nil || errB != nil || a.N() != 5 || b.N() != 5 || !near(a.Final, 0.9) || !near(b.Final, 0.8) {
		t.Errorf("king %+v %v, challenger %+v %v", a, errA, b, errB)
	}
}
