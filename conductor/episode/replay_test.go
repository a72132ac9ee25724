package episode_test

import (
	"slices"
	"testing"

	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/trace"
)

// Behaviours O9 (the table's file, reopened) and the part of O7 that a metering gateway decides are tested where tables are
// kept in files; the rules below are those of the machine and of the table in memory.

// two plays the same turns in two arms that share a table.
func two(t *testing.T, st stage, first, second *script) (a, b *episode.Result) {
	t.Helper()
	table := outcome.NewTable()
	first.table, second.table = table, table
	return first.must(t, st), second.must(t, st)
}

func clone(s *script) *script {
	c := *s
	return &c
}

func TestBehaviourO1_TheSecondArmReplays(t *testing.T) {
	first := &script{turns: []string{"DELEGATE " + cheap, "RETRY " + mid, "RETRY " + strong, "STOP"}, workers: oneCent, grades: map[string]float64{"m": .5, "s": 1}}
	second := clone(first)
	second.workers = nil // nobody to call
	a, b := two(t, newStage(t), first, second)
	if second.hits != 3 || calls(second) != 0 || len(second.fills) != 0 || calls(first) != 3 || len(first.fills) != 3 {
		t.Errorf("%d hits, %d calls, %d fills", second.hits, calls(second), len(second.fills))
	}
	ends(t, b, ending.Stop, 1, usd(t, "0.26"), 4)
	ends(t, a, ending.Stop, 1, usd(t, "0.26"), 4)
	for i := range b.Steps {
		if x, y := a.Steps[i], b.Steps[i]; x.Score != y.Score || x.Cost != y.Cost || x.Prompt != y.Prompt || y.Replayed != (i < 3) || x.Replayed {
			t.Errorf("step %d: %+v, replayed as %+v", i, x, y)
		}
	}
	st := first.table.Stats()
	if st.Rows != 3 || st.Hits != 3 || st.FailedRows != 0 || st.Provider != usd(t, "0.26") {
		t.Errorf("%+v", st)
	}
}

func TestBehaviourO_AttemptsAreDraws(t *testing.T) {
	s := &script{turns: []string{"DELEGATE " + cheap, "RETRY " + cheap, "DELEGATE " + mid, "?", "RETRY " + cheap, "STOP"}, workers: oneCent, table: outcome.NewTable()}
	r := s.must(t, newStage(t))
	var got []int
	for _, st := range r.Steps {
		got = append(got, st.Attempt)
	}
	t.Run("O2 the same model again is another attempt", func(t *testing.T) {
		if got[0] != 1 || got[1] != 2 || got[4] != 3 {
			t.Errorf("attempts %v", got)
		}
		for attempt := range 3 {
			if _, there := s.fills[outcome.Key{Task: "t-1", Model: cheap, Attempt: attempt + 1}]; !there {
				t.Errorf("no row for attempt %d", attempt+1)
			}
		}
	})
	t.Run("O3 another model starts at one", func(t *testing.T) {
		if got[2] != 1 || !slices.Equal(got, []int{1, 2, 1, 0, 3, 0}) {
			t.Errorf("attempts %v", got)
		}
	})
}

func TestBehaviourO4_AFailureReplaysAsItWas(t *testing.T) {
	first := &script{turns: []string{"DELEGATE " + cheap, "STOP"}, workers: map[string]reply{cheap: {text: "generation failed", usd: .03, failed: true}}}
	_, b := two(t, newStage(t), first, clone(first))
	ends(t, b, ending.Stop, 0, usd(t, "0.03"), 2)
	if st := b.Steps[0]; !st.Failed || st.Refused || st.Failure != "generation failed" || !st.Replayed {
		t.Errorf("%+v", st)
	}
	row := first.fills[outcome.Key{Task: "t-1", Model: cheap, Attempt: 1}]
	if row.Text != "" || !row.Failed || row.Cost != usd(t, "0.03") {
		t.Errorf("stored as %+v", row)
	}
}

func TestBehaviourO6_AMetersRefusalIsNoRow(t *testing.T) {
	s := &script{turns: []string{"DELEGATE " + cheap, "RETRY " + cheap, "STOP"}, workers: map[string]reply{cheap: {text: "unfunded", refused: true}}, table: outcome.NewTable()}
	r := s.must(t, newStage(t))
	if len(s.fills) != 0 || s.table.Stats().Rows != 0 || r.Steps[1].Attempt != 2 {
		t.Errorf("rows %v, second attempt %d", s.fills, r.Steps[1].Attempt)
	}
}

// O7 as far as the machine goes: whoever answers the call with Refused, a live call or a replay, gives a failed step at no cost.
func TestBehaviourO7_ARefusedReplayIsAFailedStepAtNoCost(t *testing.T) {
	table := outcome.NewTable()
	first := &script{turns: []string{"DELEGATE " + cheap, "STOP"}, workers: oneCent, table: table, grades: map[string]float64{"c": 1}}
	first.must(t, newStage(t))
	second := clone(first)
	second.table = nil // the meter stands between the arm and the table
	second.settings.UseTable = true
	second.workers = map[string]reply{cheap: {text: "no allowance left", refused: true}}
	r := second.must(t, newStage(t))
	if st := r.Steps[0]; st.Cost != 0 || !st.Refused || st.Replayed || st.Success || len(second.fills) != 0 || table.Stats().Hits != 0 {
		t.Errorf("%+v, fills %v", st, second.fills)
	}
}

func TestBehaviourO10_ReplaysAreChargedAndCostTheProviderNothing(t *testing.T) {
	first := &script{turns: []string{"DELEGATE " + cheap, "STOP"}, workers: map[string]reply{cheap: {text: "c", usd: .96}}}
	_, b := two(t, newStage(t), first, clone(first))
	if b.Spent != usd(t, "0.96") || first.table.Stats().Provider != usd(t, "0.96") {
		t.Errorf("charged %v, the provider was paid %v", b.Spent, first.table.Stats().Provider)
	}
}

func TestBehaviourO11_AReplayRebuildsEveryRequest(t *testing.T) {
	first := reader([]string{"DELEGATE " + cheap, "STOP"}, "READ a", "LIST .", "answer")
	second := clone(first)
	second.inspects, second.settings.Inspector = nil, false // O12: no container is run
	st := newStage(t, "READ", "LIST")
	a, b := two(t, st, first, second)
	texts := func(r *episode.Result) (out []string) {
		for q := range r.Requests(st.renderer.Snapshot()) {
			out = append(out, q.Text())
		}
		return out
	}
	if got, want := texts(b), texts(a); len(want) != 3 || !slices.Equal(got, want) || !slices.Equal(want, first.log) {
		t.Errorf("the replay's requests are %q, want %q", got, want)
	}
	t.Run("O12 stored reads are replayed as observations", func(t *testing.T) {
		if x, y := a.Steps[0].Observations, b.Steps[0].Observations; len(y) != 2 || !slices.Equal(x, y) {
			t.Errorf("observed %+v, want %+v", y, x)
		}
	})
}

func TestBehaviourO14_AnEmptyAccount(t *testing.T) {
	s := &script{turns: []string{"DELEGATE " + cheap, "DELEGATE " + cheap, "DELEGATE " + mid, "DELEGATE " + mid, "DELEGATE " + strong, "DELEGATE " + strong, "STOP"},
		workers: map[string]reply{cheap: {text: "u", refused: true}, mid: {text: "u", refused: true}, strong: {text: "u", refused: true}}, table: outcome.NewTable()}
	r := s.must(t, newStage(t))
	unfunded := 0
	for _, st := range r.Steps {
		if st.Refused {
			unfunded++
		}
	}
	if unfunded != 6 || s.table.Stats().Rows != 0 || r.Spent != 0 {
		t.Errorf("%d unfunded calls, %d rows, spent %v", unfunded, s.table.Stats().Rows, r.Spent)
	}
}

func TestAReplayIsPublishedAsOne(t *testing.T) {
	first := &script{turns: []string{"DELEGATE " + cheap, "STOP"}, workers: oneCent}
	a, b := two(t, newStage(t), first, clone(first))
	if x, y := string(trace.Append(nil, a)), string(trace.Append(nil, b)); x == y || len(y)-len(x) != len(`,"replayed":true`) {
		t.Errorf("published as\n%s and\n%s", x, y)
	}
}
