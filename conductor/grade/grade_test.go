package grade_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay/conductor"
	"assay/conductor/grade"
	"assay/conductor/profile"
	"assay/core/fault"
)

var profiles = []profile.Profile{profile.Strict, profile.Compat}

func TestBehaviourB1_OptionLetterIsRead(t *testing.T) {
	for _, s := range []string{"C", "(C)", "C.", "C) Paris", "(c). Paris", "c", "**C**", "C: Paris", "Answer: C"} {
		for _, p := range profiles {
			if grade.HLE(p, s, "C") != 1 {
				t.Errorf("%s: %q is not read as option C", p, s)
			}
			if grade.HLE(p, s, "D") != 0 {
				t.Errorf("%s: %q is read as option D", p, s)
			}
		}
	}
}

func TestBehaviourB2_ProseThatBeginsWithTheLetterIsNoOption(t *testing.T) {
	for _, s := range []string{"A common misconception", "Answer: A common misconception", "AB", "option A"} {
		if grade.HLE(profile.Strict, s, "A") != 0 {
			t.Errorf("%q is read as option A", s)
		}
	}
}

func TestBehaviourB3_LastMarkerCountsElseLastLine(t *testing.T) {
	for s, want := range map[string]string{
		"Answer: A\nno, wait.\nANSWER: B": "b",
		"Answer: A\nso\n(D)\n\n":          "a",
		"thinking\n(D)\n \n":              "d",
		"Answer:\n\n E, since":            "e",
	} {
		if got := grade.Option(profile.Strict, s); got != want {
			t.Errorf("%q is read as %q, want %q", s, got, want)
		}
	}
}

func TestBehaviourB3a_WhatStandsBehindTheMarker(t *testing.T) {
	for _, c := range []struct {
		answer, gold string
		want         int
	}{{"Answer: C or D", "C", 0}, {"Answer: **(C)**", "C", 1}, {"Answer:\n\nC", "C", 1}, {"A) because…", "A", 1}} {
		for _, p := range []profile.Profile{profile.Strict, profile.Compat} {
			if got := grade.HLE(p, c.answer, c.gold); got != c.want {
				t.Errorf("%s: %q for gold %s gives %d, want %d", p, c.answer, c.gold, got, c.want)
			}
		}
	}
}

func TestLoweringMovesTheCutInCompatOnly(t *testing.T) {
	const s = "İİİİ answer: (B)\nx"
	if c, st := grade.Option(profile.Compat, s), grade.Option(profile.Strict, s); c != "x" || st != "b" {
		t.Errorf("compat reads %q, strict %q; want x and b", c, st)
	}
}

func TestBehaviourB4_OnlySingleLetterTextRowsAreAdmitted(t *testing.T) {
	row := func(id, kind, answer, image string) grade.HLERow {
		return grade.HLERow{ID: id, AnswerType: kind, Answer: answer, Image: image}
	}
	got := grade.AdmitHLE([]grade.HLERow{
		row("9", "multipleChoice", "C, D", ""), row("8", "multipleChoice", "C", "data:image/png;base64,xx"),
		row("7", "exactMatch", "C", ""), row("6", "multipleChoice", "(C).", " "), row("10", "multipleChoice", "b", ""),
	})
	if d := cmp.Diff([]string{"hle-10", "hle-6"}, got); d != "" {
		t.Error(d)
	}
}

func TestBehaviourB5_ImpossibleGradeIsAnError(t *testing.T) {
	for _, g := range []grade.Grade{{0, 0}, {1, 0}, {4, 3}, {-1, 3}, {0, -1}} {
		if _, err := g.Score(); fault.Of(err) != conductor.BadGrade {
			t.Errorf("%+v: %v, want a bad grade", g, err)
		}
	}
}

func TestBehaviourB6_CodeIsUnwrappedAndTheLastVerdictCounts(t *testing.T) {
	if got := grade.ExtractCode("Here:\n```python\nprint(1)\n```\nDone."); got != "print(1)\n" {
		t.Errorf("unwrapped to %q", got)
	}
	if g, err := grade.CaseVerdict("V3_CASES 1 3\nnoise\nV3_CASES 2 3\n"); err != nil || g != (grade.Grade{Completed: 2, Total: 3}) {
		t.Errorf("verdict %+v, %v", g, err)
	}
	if _, err := grade.CaseVerdict("V3_CASES two 3\nV3_CASESX 2 3\n V3_CASES 2 3"); fault.Of(err) != conductor.NoVerdict {
		t.Errorf("%v, want no verdict", err)
	}
}

func TestBehaviourB7_KilledDriverIsInfrastructureWrongOutputIsPartialCredit(t *testing.T) {
	_, err := grade.CaseVerdict("case 1 ok\ncase 2 o")
	if fault.Of(err) != conductor.NoVerdict || fault.Of(err).Kind() != fault.Unready {
		t.Errorf("a killed driver is %v, want an infrastructure error", err)
	}
	g, err := grade.CaseVerdict("V3_CASES 9 12")
	if err != nil {
		t.Fatal(err)
	}
	if s, err := g.Score(); err != nil || s != 0.75 {
		t.Errorf("score %v, %v; want 0.75", s, err)
	}
}

func TestBehaviourB8_RepairCountsOnlyCleanRepairs(t *testing.T) {
	expected := []grade.Test{{"a", grade.Passed}, {"b", grade.Passed}, {"c", grade.Passed}, {"d", grade.Failed}}
	f2p := []string{"a", "b"}
	for _, c := range []struct {
		name     string
		observed []grade.Test
		want     int
	}{
		{"half repaired", []grade.Test{{"a", grade.Passed}, {"b", grade.Failed}, {"c", grade.Passed}, {"d", grade.Failed}}, 1},
		{"something else broke", []grade.Test{{"a", grade.Passed}, {"b", grade.Passed}, {"c", grade.Failed}, {"d", grade.Failed}}, 0},
		{"something else changed", []grade.Test{{"a", grade.Passed}, {"b", grade.Passed}, {"c", grade.Passed}, {"d", grade.Passed}}, 0},
		{"a test vanished", []grade.Test{{"a", grade.Passed}, {"b", grade.Passed}, {"c", grade.Passed}}, 0},
		{"a test was renamed", []grade.Test{{"a", grade.Passed}, {"b", grade.Passed}, {"c", grade.Passed}, {"e", grade.Failed}}, 0},
	} {
		g, err := grade.Repair(c.observed, expected, f2p)
		if err != nil || g != (grade.Grade{Completed: c.want, Total: 2}) {
			t.Errorf("%s: %+v, %v; want %d of 2", c.name, g, err, c.want)
		}
	}
}

func TestBehaviourB9_LogIsReadBehindItsSummaryOnly(t *testing.T) {
	const row = "\x1b[31mFAILED\x1b[0m t.py::A::test_x - assert 1\r\n"
	for _, p := range profiles {
		if got := grade.TestLog(p, row); len(got) != 0 {
			t.Errorf("%s: a log without a summary has statuses %v", p, got)
		}
		got := grade.TestLog(p, "=== short test summary info ===\r\n"+row)
		if d := cmp.Diff([]grade.Test{{"A.test_x", grade.Failed}}, got); d != "" {
			t.Errorf("%s: %s", p, d)
		}
	}
}

func TestStatusWordInsideAMessageIsNoStatusInStrict(t *testing.T) {
	const log = "=== short test summary info ===\nFAILED t.py::test_x - AssertionError: PASSED\nERROR t.py\nPASSED\n"
	want := []grade.Test{{"test_x", grade.Failed}}
	if d := cmp.Diff(want, grade.TestLog(profile.Strict, log)); d != "" {
		t.Error(d)
	}
}

func TestBehaviourB10_GateAndFraction(t *testing.T) {
	p2p, f2p := []string{"p"}, []string{"f", "g"}
	const patch = "diff --git a b\n"
	for _, c := range []struct {
		name, patch string
		observed    []grade.Test
		want        int
	}{
		{"gate holds, half", patch, []grade.Test{{"p", grade.Passed}, {"f", grade.Passed}, {"g", grade.Failed}}, 1},
		{"gate broken", patch, []grade.Test{{"p", grade.Failed}, {"f", grade.Passed}, {"g", grade.Passed}}, 0},
		{"gate missing", patch, []grade.Test{{"f", grade.Passed}, {"g", grade.Passed}}, 0},
		{"empty patch", " \n", []grade.Test{{"p", grade.Passed}, {"f", grade.Passed}, {"g", grade.Passed}}, 0},
	} {
		g, err := grade.Gate(c.patch, c.observed, p2p, f2p)
		if err != nil || g != (grade.Grade{Completed: c.want, Total: 2}) {
			t.Errorf("%s: %+v, %v; want %d of 2", c.name, g, err, c.want)
		}
	}
	if !grade.IsEmptyPatch("\n\t") || grade.IsEmptyPatch(patch) {
		t.Error("an empty patch needs no sandbox, any other does")
	}
}

func TestBehaviourB11_UngradeableBenchmarkIsRefused(t *testing.T) {
	err := grade.Benchmark{Name: "gdpval", Rows: 220}.Admit()
	if fault.Of(err) != conductor.NotGradeable {
		t.Errorf("%v, want a refusal", err)
	}
}

func TestBehaviourB12_VerbsAndEnvironmentComeTogether(t *testing.T) {
	b := grade.Benchmark{Name: "b", Rows: 1, Gradeable: 1}
	if err := b.Admit(); err != nil {
		t.Errorf("neither verbs nor environment: %v", err)
	}
	verbs, env, both := b, b, b
	verbs.Tools = []string{"READ"}
	env.Image, env.Root = "image", "/repo"
	both.Tools, both.Image, both.Root = verbs.Tools, env.Image, env.Root
	if err := both.Admit(); err != nil {
		t.Errorf("verbs and environment: %v", err)
	}
	for name, b := range map[string]grade.Benchmark{"verbs alone": verbs, "environment alone": env} {
		if fault.Of(b.Admit()) != conductor.VerbsWithoutEnvironment {
			t.Errorf("%s is admitted", name)
		}
	}
}

func TestBehaviourB13_SandboxFailureIsNotAGrade(t *testing.T) {
	for _, c := range []struct {
		exit  grade.Exit
		infra bool
	}{
		{grade.Exit{Code: 125}, true},
		{grade.Exit{Code: 126, Stderr: "docker: Error response from daemon: OCI runtime create failed"}, true},
		{grade.Exit{Code: 127, Stderr: "docker: Error response from daemon: executable file not found"}, true},
		{grade.Exit{TimedOut: true}, true},
		{grade.Exit{Code: 127, Stderr: "sh: foo: not found"}, false},
		{grade.Exit{Code: 0}, false},
		{grade.Exit{Code: 1, Stderr: "docker: said the program"}, false},
		{grade.Exit{Code: 137}, false},
	} {
		code := fault.Of(c.exit.Check())
		if (code == conductor.SandboxFailed) != c.infra {
			t.Errorf("%+v: %v", c.exit, code)
		}
	}
}

func TestMark(t *testing.T) {
	for _, c := range []struct {
		metric, reference, answer string
		score                     float64
		ok                        bool
	}{
		{grade.MCQ, "1", `\boxed{B}`, 1, true},
		{grade.MCQ, "1.0", `\boxed{{B}}`, 1, true},
		{grade.MCQ, "b", `first \boxed{A}, then \boxed{B. text}`, 1, true},
		{grade.MCQ, "B", `\boxed{\text{B}}`, 1, true},
		{grade.MCQ, "B", "The answer is **B**. Because", 1, true},
		{grade.MCQ, "B", "Answer: (B)\nI am sure.", 1, true},
		{grade.MCQ, "A", "The answer is a lemon", 0, true},
		{grade.MCQ, "B", `\boxed{Both}`, 0, true},
		{grade.MCQ, "26", `\boxed{A}`, 0, false},
		{grade.MCQ, "1.5", `\boxed{B}`, 0, false},
		{grade.FinalNumber, "1,234", "so $1,234.\n#### $1234", 1, true},
		{grade.FinalNumber, "20", "#### 20.00", 0, true},
		{grade.FinalNumber, "-5", "5 - 10 = -5.", 1, true},
		{grade.FinalNumber, "7", "10-3 = 7, that is 7.", 1, true},
		{grade.FinalNumber, "3", "no number at all", 0, true},
		{grade.FinalNumber, "", "3", 0, false},
		{grade.Number, "20", "#### 20.00", 1, true},
		{grade.Number, "0.5", `\boxed{.50}`, 1, true},
		{grade.Number, "0", "-0.0", 1, true},
		{grade.Number, "five", "5", 0, false},
		{grade.Number, "2000", `I used 3 steps: \boxed{2,000} in 1 go`, 1, true},
		{grade.ExactMatch, "The_Tempest", `\boxed{the  Tempest}`, 1, true},
		{grade.ExactMatch, "Tempest", `\boxed{The Tempest}`, 0, true},
		{grade.ExactMatch, "rome", "Answer: Rome\nsure", 1, true},
		{grade.ExactMatch, "rome", "rome", 0, true},
		{"meteor_score", "x", "x", 0, false},
	} {
		score, ok := grade.Mark(c.metric, c.reference, c.answer)
		if score != c.score || ok != c.ok {
			t.Errorf("Mark(%q, %q, %q) = %v, %v; want %v, %v", c.metric, c.reference, c.answer, score, ok, c.score, c.ok)
		}
	}
}

func TestMockGradeFallsWithDifficulty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := grade.Mock{Name: "mock", Seed: "s", Low: 1, High: 3, Subgoals: 4, Strengths: map[string]int{"cheap": 1, "strong": 3}}
		id := rapid.String().Draw(t, "task")
		if d := m.Difficulty(id); d < 1 || d > 3 {
			t.Fatalf("difficulty %d", d)
		}
		strong, err := m.Grade(id, grade.MockAnswer+"strong")
		if err != nil || strong.Completed != 4 {
			t.Fatalf("strong: %+v, %v", strong, err)
		}
		cheap, err := m.Grade(id, grade.MockAnswer+"cheap")
		if err != nil || cheap.Completed != 4-(m.Difficulty(id)-1) {
			t.Fatalf("cheap: %+v, %v", cheap, err)
		}
	})
}

// FuzzAnswers feeds foreign answers to everything that reads one: nothing panics, and every score is 0 or 1.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{"Answer: (B)", `\boxed{{C`, "#### -$1,2.", "```python\nprint(1)", "V3_CASES 1 2", "short test summary info\nPASSED a::b"} {
		f.Add(s, "B")
	}
	f.Fuzz(func(t *testing.T, answer, reference string) {
		for _, metric := range []string{grade.MCQ, grade.FinalNumber, grade.Number, grade.ExactMatch} {
			if s, _ := grade.Mark(metric, reference, answer); s != 0 && s != 1 {
				t.Errorf("%s: score %v", metric, s)
			}
		}
		for _, p := range profiles {
			if o := grade.Option(p, answer); len(o) > 1 || o != "" && (o < "a" || o > "z") {
				t.Errorf("option %q", o)
			}
			for _, test := range grade.TestLog(p, answer) {
				if p == profile.Strict && test.Status != grade.Passed && test.Status != grade.Failed && test.Status != grade.Broken {
					t.Errorf("status %q", test.Status)
				}
			}
		}
		if code := grade.ExtractCode(answer); !strings.HasSuffix(code, "\n") {
			t.Errorf("code %q", code)
		}
		if _, err := grade.CaseVerdict(answer); err == nil && !strings.Contains(answer, "V3_CASES") {
			t.Errorf("a verdict out of %q", answer)
		}
	})
}

func BenchmarkMark(b *testing.B) {
	const answer = "Let us see. The first option is wrong, the second as well.\n\nThe answer is \\boxed{C}, because nothing else fits."
	b.ReportAllocs()
	for b.Loop() {
		grade.Mark(grade.MCQ, "2", answer)
	}
}
