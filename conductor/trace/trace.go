// Package trace writes and reads what is published of an episode: one line of JSON, step by step.
//
//	{"v":2,"task_id":"t-1","benchmark":"hle","task_sha256":"…","graded_score":1.0,"spend_usd":0.0188,"stopped_reason":"stop",
//	 "steps":[{"step_index":0,"rendered_state_digest":"…","raw_output":"DELEGATE a/b","reason_tokens":0,"reason_source":"estimate",
//	 "action":{"kind":"delegate","model_id":"a/b"},"model_id":"a/b","success":true,"score":1.0,"cost_usd":0.0188,
//	 "parse_failed":false}, …]}
//
// Invariants:
//   - The rendered state is published as its digest: its text is a function of the window's header, the task and the steps before.
//   - A worker's answer is never in a trace.
//   - A trace that was read and written again has the same bytes.
//
// Specification: docs/spec/trace.md.
package trace

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"assay/conductor/action"
	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/reading"
	"assay/core/canon"
	"assay/core/money"
)

// Version is the version of the format.
const Version = 2

// Episode is what a line says. A failed step with the member "refused" reads as the meter's refusal.
type Episode struct {
	TaskID, Benchmark string
	TaskDigest        string // hexadecimal SHA-256 of the statement
	Score             float64
	Spent             money.Pico
	Ending            ending.Ending
	Steps             []episode.Step
	Void              episode.Void // why the task leaves both arms; "" for most
}

// Of returns what is published of a result. Steps are shared.
func Of(r *episode.Result) Episode {
	return Episode{
		TaskID: r.Task.ID(), Benchmark: r.Task.Benchmark(), TaskDigest: r.Task.Digest(), Score: r.Score, Spent: r.Spent, Ending: r.Ending,
		Steps: r.Steps, Void: r.Void,
	}
}

// Append appends an episode's line, with its line end.
func Append(dst []byte, r *episode.Result) []byte { return Of(r).Append(dst) }

// Append appends the line, with its line end. Bytes of a text that are not UTF-8 are written as U+FFFD.
func (e Episode) Append(dst []byte) []byte {
	dst = appendText(append(dst, `{"v":2,"task_id":`...), e.TaskID)
	dst = appendText(append(dst, `,"benchmark":`...), e.Benchmark)
	dst = append(append(dst, `,"task_sha256":"`...), e.TaskDigest...)
	dst = append(dst, `","graded_score":`...)
	dst = canon.AppendFloat(dst, e.Score)
	dst = append(dst, `,"spend_usd":`...)
	dst = e.Spent.AppendDollars(dst)
	dst = append(dst, `,"stopped_reason":"`...)
	dst = append(dst, e.Ending...)
	dst = append(dst, '"')
	if e.Void != "" {
		dst = append(append(append(dst, `,"void":"`...), e.Void...), '"')
	}
	dst = append(dst, `,"steps":[`...)
	for i := range e.Steps {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendStep(dst, i, &e.Steps[i])
	}
	return append(dst, "]}\n"...)
}

// appendText appends a quoted text that may come from anywhere.
func appendText(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	return canon.AppendStringUTF8(dst, s)
}

func appendStep(dst []byte, i int, s *episode.Step) []byte {
	dst = append(dst, `{"step_index":`...)
	dst = strconv.AppendInt(dst, int64(i), 10)
	dst = append(dst, `,"rendered_state_digest":"`...)
	dst = s.Prompt.AppendHex(dst)
	dst = append(dst, `","raw_output":`...)
	dst = appendText(dst, s.Raw)
	if s.Reason.Source != action.Unmeasured {
		dst = append(dst, `,"reason_tokens":`...)
		dst = strconv.AppendInt(dst, int64(s.Reason.Tokens), 10)
		dst = append(append(append(dst, `,"reason_source":"`...), s.Reason.Source.String()...), '"')
	}
	if s.Kind == action.None {
		dst = append(dst, `,"action":null,"model_id":null,"success":false,"cost_usd":0.0,"parse_failed":true,"parse_failure":"`...)
		return append(append(dst, s.ParseFailure.String()...), `"}`...)
	}
	dst = append(append(append(dst, `,"action":{"kind":"`...), s.Kind.String()...), `","model_id":`...)
	dst = appendOrNull(dst, s.Model)
	dst = appendOrNull(append(dst, `},"model_id":`...), s.Model)
	dst = strconv.AppendBool(append(dst, `,"success":`...), s.Success)
	dst = canon.AppendFloat(append(dst, `,"score":`...), s.Score)
	dst = s.Cost.AppendDollars(append(dst, `,"cost_usd":`...))
	dst = append(dst, `,"parse_failed":false`...)
	dst = appendFailure(dst, s)
	dst = appendObservations(dst, s.Observations)
	return append(appendUsage(dst, s), '}')
}

// refused starts the failure of a step whose call the meter refused.
const refused = "refused: "

// appendFailure writes the failure's text where there is one. A meter's refusal starts with "refused: ", which other failures
// may do too: the member of its own tells them apart.
func appendFailure(dst []byte, s *episode.Step) []byte {
	switch {
	case s.Refused:
		return append(appendText(append(dst, `,"failure":`...), refused+s.Failure), `,"refused":true`...)
	case s.Lost:
		return append(appendText(append(dst, `,"failure":`...), s.Failure), `,"lost":true`...)
	case s.Failed:
		return appendText(append(dst, `,"failure":`...), s.Failure)
	}
	return dst
}

func appendObservations(dst []byte, seen []reading.Observation) []byte {
	if len(seen) == 0 {
		return dst
	}
	dst = append(dst, `,"observations":[`...)
	for i, o := range seen {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendObservation(dst, o)
	}
	return append(dst, ']')
}

func appendUsage(dst []byte, s *episode.Step) []byte {
	if s.Model == "" {
		return dst
	}
	dst = strconv.AppendInt(append(dst, `,"attempt":`...), int64(s.Attempt), 10)
	dst = strconv.AppendInt(append(dst, `,"tokens_in":`...), s.TokensIn, 10)
	dst = strconv.AppendInt(append(dst, `,"tokens_out":`...), s.TokensOut, 10)
	if s.Served != "" {
		dst = appendText(append(dst, `,"served_model":`...), s.Served)
	}
	if s.Provider != "" {
		dst = appendText(append(dst, `,"provider":`...), s.Provider)
	}
	if s.Replayed {
		dst = append(dst, `,"replayed":true`...)
	}
	return dst
}

func appendOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return appendText(dst, s)
}

func appendObservation(dst []byte, o reading.Observation) []byte {
	dst = appendText(append(dst, `{"call":{"name":`...), o.Call.Name)
	dst = appendText(append(dst, `,"arg":`...), o.Call.Arg)
	dst = append(append(append(dst, `,"start":`...), o.Call.Start...), '}')
	dst = appendText(append(dst, `,"response_sha256":`...), o.ReplyDigest)
	dst = appendText(append(dst, `,"output":`...), o.Output)
	return append(strconv.AppendBool(append(dst, `,"truncated":`...), o.Truncated), '}')
}

// Header is the first line of a trace file: with it and the tasks, every prompt of the file can be rebuilt.
type Header struct {
	Window       canon.Object // the schedule entry
	Nonce        string
	Instructions string
	Catalog      string // frozen
	Arm          string // who played
}

// Line returns the header's line, with its line end.
func (h Header) Line() ([]byte, error) {
	b, err := canon.UTF8(canon.Object{
		"v": Version, "schedule": h.Window, "nonce": h.Nonce, "instructions": h.Instructions, "catalog": h.Catalog, "arm": h.Arm,
	})
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}
