package play

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"assay/conductor/action"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/reading"
	"assay/core/canon"
	"assay/core/money"
)

// eventLine is an event as the journal holds it: words for what happened, whole nanoseconds and whole pico-dollars.
//
//	{"told":"answered","now_ns":1500000,"text":"Answer: C","cost_pico":1000000,"tokens_in":100,"tokens_out":10}
//
// Specification: docs/spec/journal.md.
type eventLine struct {
	Told         string   `json:"told"`
	Now          int64    `json:"now_ns"`
	Text         string   `json:"text"`
	ReasonTokens int      `json:"reason_tokens,omitzero"`
	ReasonSource string   `json:"reason_source,omitzero"`
	Cost         int64    `json:"cost_pico,omitzero"`
	TokensIn     int64    `json:"tokens_in,omitzero"`
	TokensOut    int64    `json:"tokens_out,omitzero"`
	Served       string   `json:"served,omitzero"`
	Provider     string   `json:"provider,omitzero"`
	Truncated    bool     `json:"truncated,omitzero"`
	Score        float64  `json:"score,omitzero"`
	Row          *rowLine `json:"row,omitzero"` // of a replay: the table may be gone when the run is resumed
}

// rowLine is an outcome row.
type rowLine struct {
	Text         string     `json:"text"`
	Failed       bool       `json:"failed,omitzero"`
	Failure      string     `json:"failure,omitzero"`
	Observations []readLine `json:"observations,omitzero"`
	Cost         int64      `json:"cost_pico"`
	Grade        float64    `json:"grade"`
	TokensIn     int64      `json:"tokens_in"`
	TokensOut    int64      `json:"tokens_out"`
	Served       string     `json:"served,omitzero"`
	Provider     string     `json:"provider,omitzero"`
}

// readLine is one observation of a row.
type readLine struct {
	Name        string `json:"name"`
	Arg         string `json:"arg"`
	Start       string `json:"start"`
	Output      string `json:"output"`
	Truncated   bool   `json:"truncated,omitzero"`
	ReplyDigest string `json:"response_sha256"`
}

func appendEvent(dst []byte, e episode.Event) ([]byte, error) {
	l := eventLine{
		Told: e.Told.String(), Now: int64(e.Now), Text: e.Text, ReasonTokens: e.Reason.Tokens, Cost: int64(e.Cost),
		TokensIn: e.TokensIn, TokensOut: e.TokensOut, Served: e.Served, Provider: e.Provider, Truncated: e.Truncated, Score: e.Score,
	}
	if e.Reason.Source != action.Unmeasured {
		l.ReasonSource = e.Reason.Source.String()
	}
	if e.Row != nil {
		l.Row = rowLineOf(e.Row)
	}
	b, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("writing an event: %w", err)
	}
	return append(dst, b...), nil
}

func rowLineOf(r *outcome.Row) *rowLine {
	l := &rowLine{
		Text: r.Text, Failed: r.Failed, Failure: r.Failure, Cost: int64(r.Cost), Grade: r.Grade,
		TokensIn: r.TokensIn, TokensOut: r.TokensOut, Served: r.ServedModel, Provider: r.Provider,
	}
	for _, o := range r.Observations {
		l.Observations = append(l.Observations, readLine{o.Call.Name, o.Call.Arg, o.Call.Start, o.Output, o.Truncated, o.ReplyDigest})
	}
	return l
}

func parseEvent(line []byte) (episode.Event, error) {
	var l eventLine
	if err := canon.Strict(line, &l); err != nil {
		return episode.Event{}, fmt.Errorf("reading a journaled event: %w", err)
	}
	told, ok := episode.ParseTold(l.Told)
	source, measured := action.ParseSource(l.ReasonSource)
	switch {
	case !ok:
		return episode.Event{}, errors.New("reading a journaled event: no such event")
	case !measured && l.ReasonSource != "":
		return episode.Event{}, errors.New("reading a journaled event: no such source of a count")
	case (told == episode.Replayed) != (l.Row != nil):
		return episode.Event{}, errors.New("reading a journaled event: a row belongs to a replay")
	}
	e := episode.Event{
		Told: told, Now: time.Duration(l.Now), Text: l.Text, Reason: action.Measure{Tokens: l.ReasonTokens, Source: source}, Cost: money.Pico(l.Cost),
		TokensIn: l.TokensIn, TokensOut: l.TokensOut, Served: l.Served, Provider: l.Provider, Truncated: l.Truncated, Score: l.Score,
	}
	if l.Row != nil {
		e.Row = l.Row.row()
	}
	return e, nil
}

func (l *rowLine) row() *outcome.Row {
	r := &outcome.Row{
		Text: l.Text, Failed: l.Failed, Failure: l.Failure, Cost: money.Pico(l.Cost), Grade: l.Grade,
		TokensIn: l.TokensIn, TokensOut: l.TokensOut, ServedModel: l.Served, Provider: l.Provider,
	}
	for _, o := range l.Observations {
		r.Observations = append(r.Observations, reading.Observation{
			Call: reading.Call{Name: o.Name, Arg: o.Arg, Start: o.Start}, Output: o.Output, Truncated: o.Truncated, ReplyDigest: o.ReplyDigest,
		})
	}
	return r
}
