package reign_test

import (
	"testing"

	"assay/conductor"
	"assay/conductor/reign"
	"assay/conductor/score"
)

func TestBehaviourF9_PowerGate(t *testing.T) {
	all := slice("x", "y")
	reference := func(policy string, quality float64) reign.Reference {
		return reign.Reference{Policy: policy, Rows: flat(all, quality)}
	}
	for _, tt := range []struct {
		name      string
		king, low float64
		leader    string
		spread    float64
		separates bool
	}{
		{"the king leads clearly", 0.75, 0.5, "cascade", 0.25, true},
		{"the contrast leads clearly", 0.25, 0.75, score.Cheapest, 0.5, true},
		{"a lead below the margin", 0.04, 0, "cascade", 0.04, false},
		{"no lead", 0.5, 0.5, "cascade", 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := reign.PowerGate(reference("cascade", tt.king), reference(score.Cheapest, tt.low), nil, "n1")
			if err != nil || g.Leader != tt.leader || g.Leader == g.Trailer || !near(g.Spread, tt.spread) || g.Separates != tt.separates || g.NTasks != 40 {
				t.Errorf("%+v %v", g, err)
			}
		})
	}
	t.Run("noise without a lower bound", func(t *testing.T) {
		king := reference("cascade", 0)
		king.Rows[0].Score, king.Rows[20].Score = 1, 1
		king.Rows[1].Score, king.Rows[21].Score = 1, 1
		low := reference(score.Cheapest, 0)
		low.Rows[5].Score = 1
		g, err := reign.PowerGate(king, low, nil, "n1")
		if err != nil || g.Spread <= 0.05 || g.LCB > 0 || g.Separates {
			t.Errorf("%+v %v", g, err)
		}
	})
	_, err := reign.PowerGate(reference("cascade", 1), reference("cascade", 0), nil, "n1")
	refuses(t, err, conductor.SameArm)
	short := reference("cascade", 1)
	short.Rows = short.Rows[1:]
	_, err = reign.PowerGate(short, reference(score.Cheapest, 0), nil, "n1")
	refuses(t, err, conductor.Misaligned)
	_, err = reign.PowerGate(reference("cascade", 1), reference(score.Cheapest, 0), nil, "")
	refuses(t, err, conductor.NoSeed)
}

func TestBehaviourF10_FailedGradersLeaveBothArms(t *testing.T) {
	all := slice("x", "y")
	king, low := reign.Reference{Policy: "cascade", Rows: flat(all, 0.75)}, reign.Reference{Policy: score.Cheapest, Rows: flat(all, 0.5)}
	king.Rows[3].Score = 0 // its grader failed
	g, err := reign.PowerGate(king, low, []string{all[3].ID, "elsewhere"}, "n1")
	if err != nil || g.NTasks != 39 || !near(g.Spread, 0.25) {
		t.Errorf("%+v %v", g, err)
	}
}
