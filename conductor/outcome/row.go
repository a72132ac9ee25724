package outcome

import (
	"bytes"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor"
	"assay/conductor/reading"
	"assay/core/canon"
	"assay/core/digest"
	"assay/core/fault"
	"assay/core/money"
)

// Entry is one line of a table's file:
//
//	{"attempt":1,"cost_pico":18800,"failed":false,"failure":null,"filled_at":1790000000,"grade":1.0,"model_id":"acme/small",
//	 "observations":[],"provider":"Acme","receipt_ids":["w7-king-1/0/0/0"],"served_model":"acme/small","task_id":"t-1",
//	 "text":"Answer: C","tokens_in":100,"tokens_out":10}
type Entry struct {
	Key      Key
	Row      Row
	FilledAt int64 // Unix seconds
}

// maxReceipts is how many calls a delegate can need: one before each observation, and the answer.
const maxReceipts = reading.MaxReads + 1

var (
	errKey     = errors.New("a key needs a task, a model and an attempt from 1")
	errText    = errors.New("a failed row has no text, and any other no failure")
	errNumber  = errors.New("a cost or a number of tokens is negative, the grade lies outside zero to one, or the time is before 1970")
	errSeen    = errors.New("an observation is not one that a worker can have asked for, or there are too many")
	errSpelled = errors.New("the row is not spelled as rows are")
)

// Check refuses a row that no delegate can have given.
func Check(k Key, r Row) error {
	switch {
	case k.Task == "" || k.Model == "" || k.Attempt < 1:
		return refuse(k, errKey)
	case !r.Failed && r.Failure != "" || r.Failed && r.Text != "":
		return refuse(k, errText)
	case r.Cost < 0 || r.TokensIn < 0 || r.TokensOut < 0 || !(r.Grade >= 0 && r.Grade <= 1):
		return refuse(k, errNumber)
	case len(r.Observations) > reading.MaxReads || len(r.ReceiptIDs) > maxReceipts:
		return refuse(k, errSeen)
	}
	for _, o := range r.Observations {
		if o.Call.Name == "" || o.Call.Start == "" || strings.Trim(o.Call.Start, "0123456789") != "" || o.Call.Start[0] == '0' {
			return refuse(k, errSeen)
		}
	}
	return nil
}

func refuse(k Key, why error) error {
	return conductor.BadRow.Because(why).With(fault.Str("task", k.Task), fault.Str("model", k.Model), fault.Int("attempt", int64(k.Attempt)))
}

// Append appends the entry as one line of canonical JSON (form R) without a line end.
func (e Entry) Append(dst []byte) ([]byte, error) {
	if e.FilledAt < 0 {
		return nil, refuse(e.Key, errNumber)
	}
	o, err := object(e.Key, e.Row)
	if err != nil {
		return nil, err
	}
	o["filled_at"] = e.FilledAt
	text, err := canon.ASCII(o)
	if err != nil {
		return nil, refuse(e.Key, err)
	}
	return append(dst, text...), nil
}

// Digest returns the hexadecimal SHA-256 of the entry's line without the member filled_at. It is published, so that who was
// served the row can prove that others were served the same.
func Digest(k Key, r Row) (string, error) {
	o, err := object(k, r)
	if err != nil {
		return "", err
	}
	text, err := canon.ASCII(o)
	if err != nil {
		return "", refuse(k, err)
	}
	return digest.HexOfBytes(text), nil
}

func object(k Key, r Row) (canon.Object, error) {
	if err := Check(k, r); err != nil {
		return nil, err
	}
	seen := make([]any, len(r.Observations))
	for i, o := range r.Observations {
		seen[i] = canon.Object{
			"name": o.Call.Name, "arg": o.Call.Arg, "start": canon.Int(o.Call.Start),
			"output": o.Output, "truncated": o.Truncated, "response_sha256": o.ReplyDigest,
		}
	}
	o := canon.Object{
		"task_id": k.Task, "model_id": k.Model, "attempt": k.Attempt, "text": r.Text, "failed": r.Failed, "failure": nil,
		"observations": seen, "cost_pico": int64(r.Cost), "grade": r.Grade, "tokens_in": r.TokensIn, "tokens_out": r.TokensOut,
		"served_model": r.ServedModel, "provider": r.Provider, "receipt_ids": append([]string{}, r.ReceiptIDs...),
	}
	if r.Failed {
		o["text"], o["failure"] = nil, r.Failure
	}
	return o, nil
}

// line is an entry as it is read.
type line struct {
	Task         string     `json:"task_id"`
	Model        string     `json:"model_id"`
	Attempt      int        `json:"attempt"`
	Text         *string    `json:"text"`
	Failed       bool       `json:"failed"`
	Failure      *string    `json:"failure"`
	Observations []lineSeen `json:"observations"`
	Cost         money.Pico `json:"cost_pico"`
	Grade        float64    `json:"grade"`
	TokensIn     int64      `json:"tokens_in"`
	TokensOut    int64      `json:"tokens_out"`
	Served       string     `json:"served_model"`
	Provider     string     `json:"provider"`
	Receipts     []string   `json:"receipt_ids"`
	FilledAt     int64      `json:"filled_at"`
}

type lineSeen struct {
	Name      string         `json:"name"`
	Arg       string         `json:"arg"`
	Start     jsontext.Value `json:"start"`
	Output    string         `json:"output"`
	Truncated bool           `json:"truncated"`
	Reply     string         `json:"response_sha256"`
}

// Parse reads what Append writes, and nothing else; anything else is conductor.BadRow.
func Parse(text []byte) (Entry, error) {
	var l line
	if err := canon.Strict(text, &l); err != nil {
		return Entry{}, conductor.BadRow.Because(err)
	}
	e := l.entry()
	again, err := e.Append(nil)
	if err != nil {
		return Entry{}, err
	}
	if !bytes.Equal(again, text) {
		return Entry{}, refuse(e.Key, errSpelled)
	}
	return e, nil
}

func (l line) entry() Entry {
	r := Row{
		Failed: l.Failed, Cost: l.Cost, Grade: l.Grade, TokensIn: l.TokensIn, TokensOut: l.TokensOut,
		ServedModel: l.Served, Provider: l.Provider,
	}
	if l.Text != nil {
		r.Text = *l.Text
	}
	if l.Failure != nil {
		r.Failure = *l.Failure
	}
	for _, o := range l.Observations {
		r.Observations = append(r.Observations, reading.Observation{
			Call: reading.Call{Name: o.Name, Arg: o.Arg, Start: string(o.Start)}, Output: o.Output, Truncated: o.Truncated, ReplyDigest: o.Reply,
		})
	}
	r.ReceiptIDs = append(r.ReceiptIDs, l.Receipts...)
	return Entry{Key: Key{Task: l.Task, Model: l.Model, Attempt: l.Attempt}, Row: r, FilledAt: l.FilledAt}
}
