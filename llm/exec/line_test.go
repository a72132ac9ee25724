package exec

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"assay/core/fault"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"text":"STOP"}`, `{"text":"","tokens":3,"step":1}`, `{"error":{"a":1}}`, `{"text":"\udc00"}`, "\xff", `[]`, `{"text":"a"}x`} {
		f.Add([]byte(s))
	}
	own := map[fault.Code]bool{NotUTF8: true, NotJSON: true, Reported: true, OutOfTurn: true, NoText: true}
	f.Fuzz(func(t *testing.T, line []byte) {
		text, err := parse(line, Turn{TaskID: "t", Step: 1})
		switch {
		case err != nil && (!own[fault.Of(err)] || text != Text{}):
			t.Fatalf("%+v beside %v", text, err)
		case err == nil && (!utf8.ValidString(text.Text) || text.Tokens < Unknown || !strings.Contains(string(line), "text")):
			t.Fatalf("read %+v", text)
		}
	})
}

func FuzzTurnLine(f *testing.F) {
	f.Add("größe\n\u2028\"", "t-1", 3)
	f.Add("\xff", "", -1)
	f.Fuzz(func(t *testing.T, prompt, task string, step int) {
		line := string(Turn{prompt, task, step}.line())
		if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "}\n") {
			t.Fatalf("not one line: %q", line)
		}
		var back struct {
			Prompt string `json:"prompt"`
			TaskID string `json:"task_id"`
			Step   int    `json:"step"`
		}
		if err := json.Unmarshal([]byte(line), &back); err != nil {
			t.Fatal(err)
		}
		if utf8.ValidString(prompt) && (back.Prompt != prompt || back.Step != step) {
			t.Fatalf("came back as %+v", back)
		}
	})
}
