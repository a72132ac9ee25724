package exec

import (
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assay/core/canon"
	"assay/core/fault"
	"assay/core/text"
)

// maxLine is the longest line that is read, in bytes.
const maxLine = 1 << 20

// line returns the turn as it is written: ASCII only, so that no reader's locale or idea of a line end matters.
func (t Turn) line() []byte {
	b := make([]byte, 0, len(t.Prompt)+len(t.Prompt)/8+len(t.TaskID)+64)
	b = append(b, `{"prompt":`...)
	b = canon.AppendStringASCII(b, t.Prompt)
	b = append(b, `,"task_id":`...)
	b = canon.AppendStringASCII(b, t.TaskID)
	b = append(b, `,"step":`...)
	b = strconv.AppendInt(b, int64(t.Step), 10)
	return append(b, '}', '\n')
}

type answer struct {
	Text   jsontext.Value `json:"text"`
	Tokens jsontext.Value `json:"tokens"`
	Error  jsontext.Value `json:"error"`
	TaskID *string        `json:"task_id"`
	Step   *int           `json:"step"`
}

// parse reads one answer line. An answer that repeats its turn must repeat the right one.
func parse(line []byte, t Turn) (Text, error) {
	if !utf8.Valid(line) {
		return Text{}, NotUTF8.With()
	}
	var a answer
	// Escaped halves of surrogate pairs become U+FFFD: models do write them.
	if err := json.Unmarshal(line, &a, jsontext.AllowInvalidUTF8(true)); err != nil {
		return Text{}, NotJSON.With(fault.Str("line", text.Clip(string(line), 80))).Because(err)
	}
	switch {
	case jsontext.Value(line).Kind() != '{':
		return Text{}, NotJSON.With(fault.Str("line", text.Clip(string(line), 80)))
	case a.Error != nil && a.Error.Kind() != 'n':
		return Text{}, Reported.With(fault.Str("error", words(a.Error)))
	case a.TaskID != nil && *a.TaskID != t.TaskID, a.Step != nil && *a.Step != t.Step:
		return Text{}, OutOfTurn.With()
	case a.Text.Kind() != '"':
		return Text{}, NoText.With()
	}
	out := Text{Text: canon.Text(a.Text), Tokens: Unknown}
	if n, err := strconv.ParseInt(string(a.Tokens), 10, 32); err == nil && n >= 0 {
		out.Tokens = int(n)
	}
	return out, nil
}

// words returns a JSON string's text, and the JSON itself of any other value.
func words(v jsontext.Value) string {
	if v.Kind() == '"' {
		return canon.Text(v)
	}
	return string(v)
}
