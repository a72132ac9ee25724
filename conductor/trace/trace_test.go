package trace_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay/conductor"
	"assay/conductor/action"
	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/reading"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/trace"
	"assay/conductor/window"
	"assay/core/digest"
	"assay/core/fault"
	"assay/core/money"
)

func pinned(tb interface{ Fatal(...any) }, id, statement string) task.Pinned {
	slice, err := window.Slice("n", []task.Spec{{ID: id, Benchmark: "hle", Prompt: statement, Tools: []string{"READ"}}})
	if err != nil {
		tb.Fatal(err)
	}
	return slice[0]
}

// full is a result with every kind of step.
func full(tb interface{ Fatal(...any) }) *episode.Result {
	d := digest.Sum[state.Prompt]([]byte("prompt"))
	return &episode.Result{
		Task: pinned(tb, "t-1", "What is 2+2?"), Ending: ending.Stop, Score: 1, Spent: 26_800_000_000, Void: episode.VoidGrader,
		Steps: []episode.Step{
			{Raw: "hm\n", Prompt: d, ParseFailure: action.NotAction},
			{Kind: action.Delegate, Model: "a/b", Attempt: 1, Raw: "REASON <&>\nDELEGATE a/b", Prompt: d, Reason: action.Measure{Tokens: 3, Source: action.Endpoint},
				Score: .5, Cost: 18_800_000_000, TokensIn: 100, TokensOut: 7, Served: "a/b-2026", Provider: "P", Observations: []reading.Observation{
					{Call: reading.Call{Name: "READ", Arg: `a"b`, Start: "10"}, Output: "    10\tx", ReplyDigest: digest.HexOfBytes([]byte("r")), Truncated: true},
				}},
			{Kind: action.Retry, Model: "a/b", Attempt: 2, Raw: "RETRY a/b", Prompt: d, Failed: true, Failure: "status 502", Cost: 1},
			{Kind: action.Retry, Model: "c/d", Attempt: 1, Raw: "RETRY c/d", Prompt: d, Failed: true, Refused: true, Failure: "no allowance left"},
			{Kind: action.Delegate, Model: "c/d", Attempt: 2, Raw: "DELEGATE c/d", Prompt: d, Success: true, Score: 1, Cost: 8_000_000_000, Replayed: true},
			{Kind: action.Stop, Raw: "STOP", Prompt: d, Reason: action.Measure{Source: action.Estimate}},
		},
	}
}

func TestALineIsWhatThePageSays(t *testing.T) {
	r := full(t)
	r.Steps = r.Steps[1:2]
	r.Steps[0].Observations[0].Call.Arg = "a"
	want := `{"v":2,"task_id":"t-1","benchmark":"hle","task_sha256":"` + digest.HexOfBytes([]byte("What is 2+2?")) + `","graded_score":1.0,"spend_usd":0.0268,` +
		`"stopped_reason":"stop","void":"grader","steps":[{"step_index":0,"rendered_state_digest":"` + digest.HexOfBytes([]byte("prompt")) + `",` +
		`"raw_output":"REASON <&>\nDELEGATE a/b","reason_tokens":3,"reason_source":"endpoint","action":{"kind":"delegate","model_id":"a/b"},"model_id":"a/b",` +
		`"success":false,"score":0.5,"cost_usd":0.0188,"parse_failed":false,"observations":[{"call":{"name":"READ","arg":"a","start":10},` +
		`"response_sha256":"` + digest.HexOfBytes([]byte("r")) + `","output":"    10\tx","truncated":true}],"attempt":1,"tokens_in":100,"tokens_out":7,` +
		`"served_model":"a/b-2026","provider":"P"}]}` + "\n"
	if d := cmp.Diff(want, string(trace.Append(nil, r))); d != "" {
		t.Error(d)
	}
}

func TestAppendKeepsWhatStandsBefore(t *testing.T) {
	r := full(t)
	got := trace.Append([]byte("before\n"), r)
	if !bytes.HasPrefix(got, []byte("before\n{")) || !bytes.Equal(got[7:], trace.Append(nil, r)) {
		t.Errorf("got %s", got)
	}
}

func TestParseReadsWhatAppendWrites(t *testing.T) {
	r := full(t)
	for _, r := range []*episode.Result{r, episode.Zeroed(r.Task, ending.DuelWallClock)} {
		line := trace.Append(nil, r)
		for _, text := range [][]byte{line, bytes.TrimSuffix(line, []byte("\n"))} {
			e, err := trace.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(trace.Of(r), e, cmp.AllowUnexported()); d != "" {
				t.Error(d)
			}
			if !bytes.Equal(e.Append(nil), line) {
				t.Errorf("written again as %s", e.Append(nil))
			}
		}
	}
}

func TestParseIsStrict(t *testing.T) {
	line := string(bytes.TrimSuffix(trace.Append(nil, full(t)), []byte("\n")))
	if _, err := trace.Parse([]byte(line)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"another version":         {`"v":2`, `"v":1`},
		"unknown member":          {`"v":2`, `"v":2,"extra":1`},
		"member twice":            {`"v":2`, `"v":2,"v":2`},
		"member in another case":  {`"task_id"`, `"Task_ID"`},
		"no task":                 {`"task_id":"t-1"`, `"task_id":""`},
		"blank":                   {`"v":2`, `"v": 2`},
		"no digest":               {`"task_sha256":"`, `"task_sha256":"0`},
		"unknown ending":          {`"stopped_reason":"stop"`, `"stopped_reason":"gave_up"`},
		"score above one":         {`"graded_score":1.0`, `"graded_score":1.5`},
		"negative spend":          {`"spend_usd":0.0268`, `"spend_usd":-0.0268`},
		"spend as text":           {`"spend_usd":0.0268`, `"spend_usd":"0.0268"`},
		"spend spelled otherwise": {`"spend_usd":0.0268`, `"spend_usd":2.68e-2`},
		"spend beyond precision":  {`"spend_usd":0.0268`, `"spend_usd":0.0268000000000001`},
		"a void that is none":     {`"void":"grader"`, `"void":"moon"`},
		"step out of order":       {`"step_index":1`, `"step_index":2`},
		"unknown source":          {`"reason_source":"endpoint"`, `"reason_source":"guess"`},
		"unknown failure":         {`"parse_failure":"not_action"`, `"parse_failure":"bad"`},
		"success without score":   {`"success":true,"score":1.0`, `"success":true,"score":0.5`},
		"score without success":   {`"success":true,"score":1.0`, `"success":false,"score":1.0`},
		"stop with a model":       {`"kind":"stop","model_id":null},"model_id":null`, `"kind":"stop","model_id":"a/b"},"model_id":"a/b"`},
		"delegate without one":    {`{"kind":"delegate","model_id":"c/d"},"model_id":"c/d"`, `{"kind":"delegate","model_id":null},"model_id":null`},
		"two models":              {`{"kind":"delegate","model_id":"c/d"},"model_id":"c/d"`, `{"kind":"delegate","model_id":"c/d"},"model_id":"a/b"`},
		"attempt zero":            {`"attempt":1`, `"attempt":0`},
		"unknown kind":            {`"kind":"retry"`, `"kind":"ask"`},
		"unknown verb":            {`"name":"READ"`, `"name":"EXEC"`},
		"start below one":         {`"start":10`, `"start":0`},
		"start that is no number": {`"start":10`, `"start":"10"`},
		"null for a list":         {`"steps":[`, `"steps":null,"x":[`},
	} {
		text := strings.Replace(line, change[0], change[1], 1)
		if text == line {
			t.Fatalf("%s: the line has no %s", name, change[0])
		}
		if e, err := trace.Parse([]byte(text)); fault.Of(err) != conductor.BadTrace || e.TaskID != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"", "{}", "[]", "null", line + line, line + "\n\n", "\xff"} {
		if _, err := trace.Parse([]byte(text)); fault.Of(err) != conductor.BadTrace {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func TestParseIsBounded(t *testing.T) {
	r := full(t)
	step := r.Steps[5]
	r.Steps = nil
	for range state.MaxSteps + 1 {
		r.Steps = append(r.Steps, step)
	}
	if _, err := trace.Parse(trace.Append(nil, r)); fault.Of(err) != conductor.BadTrace {
		t.Errorf("thirteen steps: %v", err)
	}
	r.Steps = r.Steps[1:]
	if _, err := trace.Parse(trace.Append(nil, r)); err != nil {
		t.Errorf("twelve steps: %v", err)
	}
	r.Steps[0].Raw = strings.Repeat("x", trace.MaxLine)
	if _, err := trace.Parse(trace.Append(nil, r)); fault.Of(err) != conductor.BadTrace {
		t.Errorf("a line over the bound: %v", err)
	}
	r = full(t)
	o := r.Steps[1].Observations[0]
	r.Steps[1].Observations = []reading.Observation{o, o, o, o}
	if _, err := trace.Parse(trace.Append(nil, r)); fault.Of(err) != conductor.BadTrace {
		t.Errorf("four observations: %v", err)
	}
}

// A line is JSON for any reader and reads back to the same bytes, whatever Conductors and providers say.
func TestProperty_a_line_reads_back(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := genResult(t)
		line := trace.Append(nil, r)
		if !json.Valid(line) || bytes.IndexByte(line, '\n') != len(line)-1 {
			t.Fatalf("no line of JSON: %q", line)
		}
		e, err := trace.Parse(line)
		if err != nil || !bytes.Equal(e.Append(nil), line) {
			t.Fatalf("%s does not read back: %v", line, err)
		}
	})
}

func genResult(t *rapid.T) *episode.Result {
	texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\xff\xfe", "a\x00b", "\u2028", `"\`, "refused: x", "<&>"}))
	r := &episode.Result{
		Task: pinned(t, "t", "s"), Ending: rapid.SampledFrom(ending.All()).Draw(t, "ending"), Score: rapid.Float64Range(0, 1).Draw(t, "score"),
		Spent: money.Pico(rapid.Int64Range(0, 1e18).Draw(t, "spent")), Void: rapid.SampledFrom([]episode.Void{"", episode.VoidGrader, episode.VoidLost}).Draw(t, "void"),
	}
	for range rapid.IntRange(0, state.MaxSteps).Draw(t, "steps") {
		s := episode.Step{Raw: texts.Draw(t, "raw"), Prompt: digest.Sum[state.Prompt]([]byte(texts.Draw(t, "prompt")))}
		if rapid.Bool().Draw(t, "measured") {
			s.Reason = action.Measure{Tokens: rapid.IntRange(0, 600).Draw(t, "reason"), Source: rapid.SampledFrom([]action.Source{action.Tokenizer, action.Endpoint, action.Estimate}).Draw(t, "source")}
		}
		switch s.Kind = rapid.SampledFrom([]action.Kind{action.None, action.Delegate, action.Retry, action.Stop}).Draw(t, "kind"); s.Kind {
		case action.None:
			s.ParseFailure = rapid.SampledFrom(action.Failures()).Draw(t, "failure")
		case action.Delegate, action.Retry:
			s.Model, s.Attempt = rapid.SampledFrom([]string{"a/b", "größe/\U0001f642"}).Draw(t, "model"), rapid.IntRange(1, 12).Draw(t, "attempt")
			s.Score = rapid.Float64Range(0, 1).Draw(t, "grade")
			s.Success, s.Cost = s.Score >= 1, money.Pico(rapid.Int64Range(0, 1e15).Draw(t, "cost"))
			s.TokensIn, s.TokensOut = rapid.Int64Min(0).Draw(t, "in"), rapid.Int64Min(0).Draw(t, "out")
			s.Served, s.Provider, s.Replayed = texts.Draw(t, "served"), texts.Draw(t, "provider"), rapid.Bool().Draw(t, "replayed")
			if s.Failed = rapid.Bool().Draw(t, "failed"); s.Failed {
				s.Failure, s.Refused = texts.Draw(t, "why"), rapid.Bool().Draw(t, "refused")
			}
			for range rapid.IntRange(0, reading.MaxReads).Draw(t, "reads") {
				c := rapid.SampledFrom([]reading.Call{{Name: "READ", Arg: "a", Start: "18446744073709551616"}, {Name: "FIND", Arg: "x  y", Start: "1"}, {Name: "LIST", Arg: ".", Start: "1"}}).Draw(t, "call")
				s.Observations = append(s.Observations, reading.Observation{Call: c, Output: texts.Draw(t, "output"), Truncated: rapid.Bool().Draw(t, "truncated"), ReplyDigest: digest.HexOfBytes(nil)})
			}
		}
		r.Steps = append(r.Steps, s)
	}
	return r
}

func FuzzParse(f *testing.F) {
	f.Add(trace.Append(nil, full(f)))
	f.Add(trace.Append(nil, episode.Zeroed(full(f).Task, ending.Futile)))
	f.Add([]byte(`{"v":2,"steps":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := trace.Parse(text)
		if err != nil {
			if fault.Of(err) != conductor.BadTrace {
				t.Fatalf("refused without a name: %v", err)
			}
			return
		}
		again := e.Append(nil)
		if !bytes.Equal(bytes.TrimSuffix(again, []byte("\n")), bytes.TrimSuffix(text, []byte("\n"))) || !json.Valid(text) {
			t.Fatalf("%q is written again as %q", text, again)
		}
	})
}

func TestHeader(t *testing.T) {
	h := trace.Header{Window: map[string]any{"v": 1}, Nonce: "n", Instructions: "i\n", Catalog: "[]", Arm: "king"}
	line, err := h.Line()
	if want := `{"arm":"king","catalog":"[]","instructions":"i\n","nonce":"n","schedule":{"v":1},"v":2}` + "\n"; err != nil || string(line) != want {
		t.Errorf("%s, %v", line, err)
	}
	h.Nonce = "\xff"
	if _, err := h.Line(); err == nil {
		t.Error("a header that is not UTF-8 was written")
	}
}

func BenchmarkAppend(b *testing.B) {
	r := full(b)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = trace.Append(dst[:0], r)
	}
	b.SetBytes(int64(len(dst)))
}

func BenchmarkParse(b *testing.B) {
	line := trace.Append(nil, full(b))
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := trace.Parse(line); err != nil {
			b.Fatal(err)
		}
	}
}
