package ending_test

import (
	"slices"
	"testing"

	"assay/conductor/ending"
)

func TestEndings(t *testing.T) {
	want := []ending.Ending{"stop", "max_steps", "parse_failures", "wall_clock", "duel_wall_clock", "budget_exhausted", "futile", "excluded"}
	if got := ending.All(); !slices.Equal(got, want) {
		t.Errorf("reported in the order %v", got)
	}
	for _, e := range want { // the allowance and the arm's clock cut rows off, everything else was reached
		if got, want := e.Reached(), e != "duel_wall_clock" && e != "budget_exhausted"; got != want {
			t.Errorf("%s reached: %v", e, got)
		}
	}
}
