package play

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"assay/conductor/action"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/task"
	"assay/core/canon"
	"assay/core/digest"
	"assay/run"
)

// about binds an episode's records to what it was played with: the arm, the prompts' constant part and the task.
func (r *running) about(t task.Pinned) string {
	return digest.HexOfBytes([]byte(r.About + "\x00" + r.Profile.String() + "\x00" + r.Renderer.PrefixDigest() + "\x00" + t.Benchmark() + "\x00" + t.Digest()))
}

// UncertainCall is the failure of a worker call whose result was lost in a crash. It may have been charged.
const UncertainCall = "uncertain: the call was under way when the run was cut off; the provider may have charged it"

// durable says how the effects of one episode survive a crash.
func (p *player) durable() *run.Durable[episode.Event, episode.Effect] {
	return &run.Durable[episode.Event, episode.Effect]{
		Journal: p.Journal,
		Care:    p.care,
		Key:     key,
		Uncertain: func(episode.Effect) episode.Event {
			return episode.Event{Told: episode.Failed, Text: UncertainCall, Now: p.elapsed()}
		},
		AppendEvent: appendEvent,
		ParseEvent: func(text []byte) (episode.Event, error) {
			e, err := parseEvent(text)
			if err == nil {
				p.base, p.since = e.Now, p.Now() // the episode's clock goes on from where it stood
			}
			return e, err
		},
	}
}

// care: a worker call that costs money happens once. A turn and a read are written down, because asking again may give
// something else; a grade is a function.
func (p *player) care(d episode.Effect) run.Care {
	switch {
	case d.Do == episode.Call && p.Paid:
		return run.Once
	case d.Do == episode.Grade, d.Do == episode.Fill:
		return run.Repeatable
	}
	return run.Recorded
}

// key is the effect's execution id within its episode.
func key(d episode.Effect) string {
	k := strconv.Itoa(d.Step)
	switch d.Do {
	case episode.Ask:
		return k + "/ask"
	case episode.Call:
		return k + "/call/" + strconv.Itoa(len(d.Request.Observations())) + "/" + d.Request.Model().String()
	}
	return k + "/inspect/" + strconv.Itoa(len(d.Request.Observations()))
}

// eventLine is an event as the journal holds it.
type eventLine struct {
	Told      episode.Told  `json:"told"`
	Now       int64         `json:"now_ns"`
	Text      string        `json:"text"`
	Reason    int           `json:"reason_tokens,omitzero"`
	Source    action.Source `json:"reason_source,omitzero"`
	Dollars   float64       `json:"usd,omitzero"`
	TokensIn  int64         `json:"tokens_in,omitzero"`
	TokensOut int64         `json:"tokens_out,omitzero"`
	Served    string        `json:"served,omitzero"`
	Provider  string        `json:"provider,omitzero"`
	Truncated bool          `json:"truncated,omitzero"`
	Row       *outcome.Row  `json:"row,omitzero"` // of a replay: the table may be gone when the run is resumed
}

func appendEvent(dst []byte, e episode.Event) ([]byte, error) {
	dst = strconv.AppendInt(append(dst, `{"told":`...), int64(e.Told), 10)
	dst = strconv.AppendInt(append(dst, `,"now_ns":`...), int64(e.Now), 10)
	dst = canon.AppendStringUTF8(append(dst, `,"text":`...), e.Text)
	if e.Told == episode.Turn {
		dst = strconv.AppendInt(append(dst, `,"reason_tokens":`...), int64(e.Reason.Tokens), 10)
		dst = strconv.AppendInt(append(dst, `,"reason_source":`...), int64(e.Reason.Source), 10)
	}
	if e.Dollars != 0 {
		dst = canon.AppendFloat(append(dst, `,"usd":`...), e.Dollars)
	}
	if e.TokensIn != 0 || e.TokensOut != 0 {
		dst = strconv.AppendInt(append(dst, `,"tokens_in":`...), e.TokensIn, 10)
		dst = strconv.AppendInt(append(dst, `,"tokens_out":`...), e.TokensOut, 10)
	}
	if e.Served != "" {
		dst = canon.AppendStringUTF8(append(dst, `,"served":`...), e.Served)
	}
	if e.Provider != "" {
		dst = canon.AppendStringUTF8(append(dst, `,"provider":`...), e.Provider)
	}
	if e.Truncated {
		dst = append(dst, `,"truncated":true`...)
	}
	if e.Row != nil {
		row, err := json.Marshal(e.Row)
		if err != nil {
			return nil, fmt.Errorf("writing a replayed row: %w", err)
		}
		dst = append(append(dst, `,"row":`...), row...)
	}
	return append(dst, '}'), nil
}

func parseEvent(text []byte) (episode.Event, error) {
	var l eventLine
	if err := canon.Strict(text, &l); err != nil {
		return episode.Event{}, fmt.Errorf("reading a journaled event: %w", err)
	}
	if (l.Told == episode.Replayed) != (l.Row != nil) {
		return episode.Event{}, errors.New("reading a journaled event: a row belongs to a replay")
	}
	return episode.Event{
		Told: l.Told, Now: time.Duration(l.Now), Text: l.Text, Reason: action.Measure{Tokens: l.Reason, Source: l.Source}, Dollars: l.Dollars,
		TokensIn: l.TokensIn, TokensOut: l.TokensOut, Served: l.Served, Provider: l.Provider, Truncated: l.Truncated, Row: l.Row,
	}, nil
}
