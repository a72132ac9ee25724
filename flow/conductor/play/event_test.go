package play_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/conductor/action"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/reading"
	"assay/flow/conductor/play"
)

func events() []episode.Event {
	return []episode.Event{
		{Told: episode.Turn, Now: time.Second, Text: "REASON x\nDELEGATE a/b", Reason: action.Measure{Tokens: 2, Source: action.Endpoint}},
		{Told: episode.Answered, Now: 1500, Text: "größe \u2028 \"", Cost: 1_000_000, TokensIn: 100, TokensOut: 10, Served: "b", Provider: "p"},
		{Told: episode.Failed, Text: play.UncertainCall},
		{Told: episode.Refused, Text: play.NoAllowance},
		{Told: episode.Observed, Text: "     1\tx", Truncated: true},
		{Told: episode.InspectorFailed},
		{Told: episode.Replayed, Row: &outcome.Row{
			Text: "a", Cost: 7, Grade: .5, TokensIn: 1, TokensOut: 2, ServedModel: "b", Provider: "p",
			Observations: []reading.Observation{{Call: reading.Call{Name: "READ", Arg: "a", Start: "1"}, Output: "o", Truncated: true, ReplyDigest: "d"}},
		}},
	}
}

func TestEventsReadBack(t *testing.T) {
	for _, e := range events() {
		line, err := play.AppendEvent(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		back, err := play.ParseEvent(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if diff := cmp.Diff(e, back); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

func TestEventsOfNoKnownKindAreRefused(t *testing.T) {
	for _, line := range []string{
		``, `[]`, `{}`, `{"told":"sung","now_ns":1,"text":""}`, `{"told":"turn","now_ns":1,"text":"","reason_source":"guess"}`,
		`{"told":"replayed","now_ns":1,"text":""}`, `{"told":"turn","now_ns":1,"text":"","row":{"text":"","cost_pico":0,"grade":0,"tokens_in":0,"tokens_out":0}}`,
		`{"told":"turn","now_ns":1,"text":"","more":1}`, `{"told":"turn","now_ns":1,"text":"","text":""}`,
	} {
		if e, err := play.ParseEvent([]byte(line)); err == nil {
			t.Errorf("%s reads as %+v", line, e)
		}
	}
}

func FuzzEvent(f *testing.F) {
	for _, e := range events() {
		line, err := play.AppendEvent(nil, e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := play.ParseEvent(line)
		if err != nil {
			return
		}
		again, err := play.AppendEvent(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		back, err := play.ParseEvent(again)
		if err != nil || !cmp.Equal(e, back) {
			t.Fatalf("%s reads back as %+v: %v", again, back, err)
		}
	})
}
