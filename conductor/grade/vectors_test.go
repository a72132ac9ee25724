package grade_test

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"assay/conductor/grade"
	"assay/conductor/profile"
	"assay/core/fault"
)

// shared returns the path of a file or folder beside the repository, or skips.
func shared(t testing.TB, rel string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if path := filepath.Join(dir, "shared", rel); exists(path) {
			return path
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skipf("no folder shared beside the repository holds %s: put it there to run this test", rel)
		}
		dir = up
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ordered is a JSON object of texts whose order counts.
type ordered []grade.Test

func (o *ordered) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	*o = nil
	for d.PeekKind() != '}' {
		k, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := k.String()
		v, err := d.ReadToken()
		if err != nil {
			return err
		}
		*o = append(*o, grade.Test{Name: name, Status: v.String()})
	}
	_, err := d.ReadToken()
	return err
}

type vector struct {
	ID, Op, Quirk string
	In            struct {
		Submission string `json:"submission"`
		Gold       string `json:"gold"`
		Text       string `json:"text"`
		Rows       []struct {
			ID         string  `json:"id"`
			AnswerType string  `json:"answer_type"`
			Answer     *string `json:"answer"`
			Image      *string `json:"image"`
		} `json:"rows"`
		Output     string         `json:"output"`
		Log        string         `json:"log"`
		Expected   ordered        `json:"expected"`
		Observed   ordered        `json:"observed"`
		FailToPass []string       `json:"fail_to_pass"`
		Completed  int            `json:"completed"`
		Total      int            `json:"total"`
		Name       string         `json:"name"`
		Seed       string         `json:"seed"`
		Difficulty []int          `json:"difficulty"`
		Subgoals   int            `json:"subgoals"`
		Strengths  map[string]int `json:"strengths"`
		TaskID     string         `json:"task_id"`
	} `json:"in"`
	Want      jsontext.Value `json:"want"`
	WantError string         `json:"want_error"`
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// answer runs a vector's operation and returns what its want is compared with.
func (v *vector) answer(p profile.Profile) (any, error) {
	type counts struct {
		Completed int `json:"completed"`
		Total     int `json:"total"`
	}
	in := &v.In
	switch v.Op {
	case "hle":
		return grade.HLE(p, in.Submission, in.Gold), nil
	case "hle_option":
		return grade.Option(p, in.Text), nil
	case "hle_admit":
		var rows []grade.HLERow
		for _, r := range in.Rows {
			rows = append(rows, grade.HLERow{ID: r.ID, AnswerType: r.AnswerType, Answer: text(r.Answer), Image: text(r.Image)})
		}
		return grade.AdmitHLE(rows), nil
	case "extract_code":
		return grade.ExtractCode(in.Text), nil
	case "case_verdict":
		g, err := grade.CaseVerdict(in.Output)
		return []int{g.Completed, g.Total}, err
	case "test_log":
		m := map[string]string{}
		for _, t := range grade.TestLog(p, in.Log) {
			m[t.Name] = t.Status
		}
		return m, nil
	case "fail_to_pass":
		return grade.FailToPass(grade.TestLog(p, in.Log), in.Expected), nil
	case "repair_grade":
		g, err := grade.Repair(in.Observed, in.Expected, in.FailToPass)
		return counts(g), err
	case "grade":
		return grade.Grade{Completed: in.Completed, Total: in.Total}.Score()
	case "mock_grade":
		m := grade.Mock{Name: in.Name, Seed: in.Seed, Low: in.Difficulty[0], High: in.Difficulty[1], Subgoals: in.Subgoals, Strengths: in.Strengths}
		g, err := m.Grade(in.TaskID, in.Submission)
		return counts(g), err
	}
	panic("operation " + v.Op + " is not known here")
}

func (v *vector) matches(t *testing.T, p profile.Profile) bool {
	got, err := v.answer(p)
	if v.WantError != "" || err != nil {
		return fault.Of(err).Word() == v.WantError
	}
	text, err := json.Marshal(got, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	var g, w any
	if json.Unmarshal(text, &g) != nil || json.Unmarshal(v.Want, &w) != nil {
		t.Fatalf("%s: not JSON: %s or %s", v.ID, text, v.Want)
	}
	if f, ok := w.(float64); ok {
		h, ok := g.(float64)
		return ok && math.Abs(f-h) <= 1e-12*max(1, math.Abs(f))
	}
	if d := cmp.Diff(w, g); d != "" {
		t.Logf("%s (%s): %s", v.ID, p, d)
		return false
	}
	return true
}

// TestVectors runs every line of the graders' conformance vectors in both profiles.
func TestVectors(t *testing.T) {
	content, err := os.ReadFile(shared(t, "vectors/conductor/graders.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for sc := bufio.NewScanner(bytes.NewReader(content)); sc.Scan(); {
		var v vector
		if err := json.Unmarshal(sc.Bytes(), &v, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatalf("%.80s: %v", sc.Bytes(), err)
		}
		n[v.Op]++
		if !v.matches(t, profile.Compat) {
			t.Errorf("%s: compat differs from the reference", v.ID)
		}
		if v.Quirk == "" && !v.matches(t, profile.Strict) {
			t.Errorf("%s: strict differs on a line without a quirk", v.ID)
		}
	}
	if len(n) != 10 {
		t.Errorf("%d operations, want 10: %v", len(n), n)
	}
}
