package episode_test

import (
	"strconv"
	"strings"
	"testing"

	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/reading"
)

// reader is a script whose worker reads until it answers: the nth reply of the one model is texts[n-1], each for a cent.
func reader(turns []string, texts ...string) *script {
	s := &script{turns: turns, workers: map[string]reply{}, inspects: map[string]string{"READ a 1": "x", "READ b 1": "y", "LIST .": "a\nb"}}
	for i, text := range texts {
		s.workers[cheap+"#"+strconv.Itoa(i+1)] = reply{text: text, usd: .01}
	}
	return s
}

func TestBehaviourS26_ReadLoop(t *testing.T) {
	s := reader([]string{"DELEGATE " + cheap, "STOP"}, "READ a", "\nLIST .", "READ b", "the answer")
	s.grades = map[string]float64{"the answer": 1}
	r := s.must(t, newStage(t, "READ", "LIST"))
	ends(t, r, ending.Stop, 1, usd(t, "0.04"), 2)
	if calls(s) != 4 || len(r.Steps[0].Observations) != 3 {
		t.Errorf("%d calls, %d observations", calls(s), len(r.Steps[0].Observations))
	}
	fourth := reader([]string{"DELEGATE " + cheap, "STOP"}, "READ a", "READ a", "READ a", "READ b")
	fourth.grades = map[string]float64{"READ b": .5}
	r = fourth.must(t, newStage(t, "READ"))
	ends(t, r, ending.Stop, .5, usd(t, "0.04"), 2) // a fourth read is graded as the answer
	if calls(fourth) != 4 {
		t.Errorf("%d calls", calls(fourth))
	}
}

func TestBehaviourS27_TheFooterCountsDown(t *testing.T) {
	s := reader([]string{"DELEGATE " + cheap, "STOP"}, "READ a", "READ a", "READ a", "answer")
	s.must(t, newStage(t, "READ"))
	for i, want := range []string{"Do it.", "You may inspect 2 more time(s).", "You may inspect 1 more time(s).", "You have no inspections left."} {
		if !strings.Contains(s.log[i], want) {
			t.Errorf("call %d is sent %q, want %q in it", i+1, s.log[i], want)
		}
	}
}

func TestBehaviourS28_AFailureBehindAPaidRead(t *testing.T) {
	s := reader([]string{"DELEGATE " + cheap, "STOP"}, "READ a")
	s.workers[cheap+"#2"] = reply{text: "the provider hung up", failed: true}
	s.settings.UseTable = true
	r := s.must(t, newStage(t, "READ"))
	ends(t, r, ending.Stop, 0, usd(t, "0.01"), 2)
	if st := r.Steps[0]; !st.Failed || st.Cost != usd(t, "0.01") || len(st.Observations) != 1 {
		t.Errorf("%+v", st)
	}
	if row := s.fills[outcome.Key{Task: "t-1", Model: cheap, Attempt: 1}]; !row.Failed || row.Cost != usd(t, "0.01") || row.Text != "" || len(row.Observations) != 1 {
		t.Errorf("table row %+v", row)
	}
}

func TestBehaviourS29_AReadThatTheTaskDoesNotDeclareIsTheAnswer(t *testing.T) {
	for name, tools := range map[string][]string{"no tools": nil, "another verb": {"LIST", "FIND"}, "other tools": {"bash"}} {
		s := reader([]string{"DELEGATE " + cheap, "STOP"}, "READ a")
		s.grades = map[string]float64{"READ a": .5}
		r := s.must(t, newStage(t, tools...))
		ends(t, r, ending.Stop, .5, usd(t, "0.01"), 2)
		if len(r.Steps[0].Observations) != 0 {
			t.Errorf("%s: a read was run", name)
		}
	}
	s := reader([]string{"DELEGATE " + cheap, "STOP"}, "READ a") // declared, and no inspector
	s.inspects, s.grades = nil, map[string]float64{"READ a": .5}
	ends(t, s.must(t, newStage(t, "READ")), ending.Stop, .5, usd(t, "0.01"), 2)
}

func TestBehaviourS30_EachDelegateStartsFromTheBareStatement(t *testing.T) {
	s := reader([]string{"DELEGATE " + cheap, "RETRY " + cheap, "STOP"}, "READ a", "READ a", "READ a", "no", "READ b", "READ b", "READ b", "yes")
	r := s.must(t, newStage(t, "READ"))
	if len(s.log) != 8 || s.log[0] != "Do it." || s.log[4] != "Do it." {
		t.Fatalf("sent %q", s.log)
	}
	for _, text := range s.log[4:] {
		if strings.Contains(text, "READ a") {
			t.Errorf("the first delegate's reads reach the second: %q", text)
		}
	}
	if a, b := len(r.Steps[0].Observations), len(r.Steps[1].Observations); a != 3 || b != 3 || r.Steps[1].Attempt != 2 {
		t.Errorf("%d and %d reads, attempt %d", a, b, r.Steps[1].Attempt)
	}
}

func TestBehaviourS31_ObservationsAreRecordedWithTheReplyThatAsked(t *testing.T) {
	s := reader([]string{"DELEGATE " + cheap, "STOP"}, "READ a", "\nLIST .\n", "answer")
	r := s.must(t, newStage(t, "READ", "LIST"))
	want := []reading.Observation{
		{Call: readA, Output: "x", ReplyDigest: sum("READ a")},
		{Call: reading.Call{Name: "LIST", Arg: ".", Start: "1"}, Output: "a\nb", ReplyDigest: sum("\nLIST .\n")},
	}
	got := r.Steps[0].Observations
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestBehaviourS34_AnInspectorThatFails(t *testing.T) {
	s := reader([]string{"DELEGATE " + cheap, "STOP"}, "READ a", "READ broken")
	s.grades = map[string]float64{"READ broken": .5}
	r := s.must(t, newStage(t, "READ"))
	ends(t, r, ending.Stop, .5, usd(t, "0.02"), 2)
	if r.Void != episode.VoidInspector || len(r.Steps[0].Observations) != 1 || calls(s) != 2 {
		t.Errorf("failed set %v, %d observations, %d calls", r.Void, len(r.Steps[0].Observations), calls(s))
	}
}

func TestReadsAreCharged(t *testing.T) {
	s := reader([]string{"DELEGATE " + cheap, "STOP"}, "READ a", "READ a", "answer")
	s.settings = episode.Settings{Limited: true, Budget: usd(t, "0.01")}
	ends(t, s.must(t, newStage(t, "READ")), ending.BudgetExhausted, 0, usd(t, "0.03"), 1) // a delegate is never cut in its middle
}
