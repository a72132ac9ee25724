package episode_test

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/state"
	"assay/conductor/trace"
	"assay/core/money"
)

// Whatever Conductor and workers do, the sums of an episode are those of its steps, and the same script plays the same episode.
func TestProperty_an_episode_is_the_sum_of_its_steps(t *testing.T) {
	st := newStage(t, "READ", "LIST")
	rapid.Check(t, func(t *rapid.T) {
		s := genScript(t)
		r, err := s.play(st)
		if err != nil {
			t.Fatal(err)
		}
		var spent money.Pico
		best := 0.0
		for i, x := range r.Steps {
			spent, best = spent+x.Cost, max(best, x.Score)
			if x.Success != (x.Score >= 1) || len(x.Observations) > 3 || (x.Model == "") != (x.Attempt == 0) {
				t.Fatalf("step %d: %+v", i, x)
			}
		}
		if r.Ending == ending.WallClock {
			best = 0
		}
		if r.Spent != spent || r.Score != best || len(r.Steps) > state.MaxSteps || r.Ending == ending.MaxSteps && len(r.Steps) != state.MaxSteps {
			t.Fatalf("%+v for steps of %v and %g", r, spent, best)
		}
		again := clone(s)
		again.now, again.log = 0, nil
		r2, err := again.play(st)
		if err != nil || !bytes.Equal(trace.Append(nil, r), trace.Append(nil, r2)) {
			t.Fatalf("played again it is another episode: %v", err)
		}
	})
}

func genScript(t *rapid.T) *script {
	turn := rapid.SampledFrom([]string{"DELEGATE " + cheap, "RETRY " + mid, "DELEGATE " + strong, "STOP", "?", ""})
	said := rapid.SampledFrom([]string{"answer", "half", "READ a", "LIST .", "READ broken"})
	s := &script{
		turns:    rapid.SliceOfN(turn, 1, 14).Draw(t, "turns"),
		workers:  map[string]reply{},
		grades:   map[string]float64{"answer": 1, "half": .5},
		inspects: map[string]string{"READ a 1": "x", "LIST .": "a"},
	}
	for _, m := range []string{cheap, mid, strong} {
		s.workers[m] = reply{
			text: said.Draw(t, "said"), usd: float64(rapid.IntRange(0, 40).Draw(t, "cents")) / 100,
			failed: rapid.IntRange(0, 4).Draw(t, "failed") == 0, refused: rapid.IntRange(0, 6).Draw(t, "refused") == 0,
			takes: time.Duration(rapid.IntRange(0, 300).Draw(t, "seconds")) * time.Second,
		}
	}
	if rapid.Bool().Draw(t, "limited") {
		s.settings = episode.Settings{Limited: true, Budget: money.Pico(rapid.Int64Range(0, 1e12).Draw(t, "budget"))}
	}
	return s
}
