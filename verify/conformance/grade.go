package conformance

import (
	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/grade"
	"assay/conductor/profile"
	"assay/core/canon"
	"assay/verify/vector"
)

// testsIn is an object of test names and statuses, whose order counts.
type testsIn []grade.Test

// UnmarshalJSONFrom reads the object's members in their order.
func (t *testsIn) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	*t = nil
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		test := grade.Test{Name: name.String()}
		status, err := d.ReadToken()
		if err != nil {
			return err
		}
		test.Status = status.String()
		*t = append(*t, test)
	}
	_, err := d.ReadToken()
	return err
}

type gradersIn struct {
	Submission string         `json:"submission"`
	Gold       string         `json:"gold"`
	Text       string         `json:"text"`
	Rows       []hleIn        `json:"rows"`
	Output     string         `json:"output"`
	Log        string         `json:"log"`
	Expected   testsIn        `json:"expected"`
	Observed   testsIn        `json:"observed"`
	FailToPass []string       `json:"fail_to_pass"`
	Completed  int            `json:"completed"`
	Total      int            `json:"total"`
	Name       string         `json:"name"`
	Seed       string         `json:"seed"`
	Difficulty [2]int         `json:"difficulty"`
	Subgoals   int            `json:"subgoals"`
	Strengths  map[string]int `json:"strengths"`
	TaskID     string         `json:"task_id"`
}

// hleIn is a question; null and "" are the same in it.
type hleIn struct {
	ID         string `json:"id"`
	AnswerType string `json:"answer_type"`
	Answer     string `json:"answer"`
	Image      string `json:"image"`
}

func runGraders(p profile.Profile, op string, in jsontext.Value) (any, error) {
	v, err := vector.Read[gradersIn](in)
	if err != nil {
		return nil, err
	}
	switch op {
	case "hle":
		return grade.HLE(p, v.Submission, v.Gold), nil
	case "hle_option":
		return grade.Option(p, v.Text), nil
	case "hle_admit":
		rows := make([]grade.HLERow, len(v.Rows))
		for i, r := range v.Rows {
			rows[i] = grade.HLERow(r)
		}
		return grade.AdmitHLE(rows), nil
	case "extract_code":
		return grade.ExtractCode(v.Text), nil
	case "test_log":
		statuses := canon.Object{}
		for _, t := range grade.TestLog(p, v.Log) {
			statuses[t.Name] = t.Status
		}
		return statuses, nil
	case "fail_to_pass":
		return grade.FailToPass(grade.TestLog(p, v.Log), v.Expected), nil
	}
	return v.grade(op)
}

// grade answers the ops whose outcome is a grade.
func (v gradersIn) grade(op string) (any, error) {
	var g grade.Grade
	var err error
	switch op {
	case "case_verdict":
		if g, err = grade.CaseVerdict(v.Output); err != nil {
			return nil, err
		}
		return []any{g.Completed, g.Total}, nil
	case "grade":
		return grade.Grade{Completed: v.Completed, Total: v.Total}.Score()
	case "repair_grade":
		g, err = grade.Repair(v.Observed, v.Expected, v.FailToPass)
	case "mock_grade":
		m := grade.Mock{Name: v.Name, Seed: v.Seed, Low: v.Difficulty[0], High: v.Difficulty[1], Subgoals: v.Subgoals, Strengths: v.Strengths}
		g, err = m.Grade(v.TaskID, v.Submission)
	default:
		err = vector.UnknownOp(op)
	}
	if err != nil {
		return nil, err
	}
	return canon.Object{"completed": g.Completed, "total": g.Total}, nil
}
