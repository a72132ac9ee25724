package trace

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor"
	"assay/conductor/action"
	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/profile"
	"assay/conductor/reading"
	"assay/conductor/state"
	"assay/core/canon"
	"assay/core/digest"
	"assay/core/fault"
	"assay/core/money"
)

// MaxLine is the longest line that Parse reads, in bytes with its line end.
const MaxLine = 16 << 20

// The members of a line as they are read. What a step lacks is found when it is written again.
type (
	line struct {
		V             int            `json:"v"`
		TaskID        string         `json:"task_id"`
		Benchmark     string         `json:"benchmark"`
		TaskSHA256    string         `json:"task_sha256"`
		GradedScore   float64        `json:"graded_score"`
		SpendUSD      jsontext.Value `json:"spend_usd"`
		StoppedReason string         `json:"stopped_reason"`
		Void          episode.Void   `json:"void"`
		Steps         []lineStep     `json:"steps"`
	}
	lineStep struct {
		StepIndex    int               `json:"step_index"`
		State        string            `json:"rendered_state_digest"`
		RawOutput    string            `json:"raw_output"`
		ReasonTokens int               `json:"reason_tokens"`
		ReasonSource string            `json:"reason_source"`
		Action       *lineAction       `json:"action"`
		ModelID      *string           `json:"model_id"`
		Success      bool              `json:"success"`
		Score        float64           `json:"score"`
		CostUSD      jsontext.Value    `json:"cost_usd"`
		ParseFailed  bool              `json:"parse_failed"`
		ParseFailure string            `json:"parse_failure"`
		Failure      *string           `json:"failure"`
		Refused      bool              `json:"refused"`
		Lost         bool              `json:"lost"`
		Observations []lineObservation `json:"observations"`
		Attempt      int               `json:"attempt"`
		TokensIn     int64             `json:"tokens_in"`
		TokensOut    int64             `json:"tokens_out"`
		ServedModel  string            `json:"served_model"`
		Provider     string            `json:"provider"`
		Replayed     bool              `json:"replayed"`
	}
	lineAction struct {
		Kind    string  `json:"kind"`
		ModelID *string `json:"model_id"`
	}
	lineObservation struct {
		Call struct {
			Name  string         `json:"name"`
			Arg   string         `json:"arg"`
			Start jsontext.Value `json:"start"`
		} `json:"call"`
		ResponseSHA256 string `json:"response_sha256"`
		Output         string `json:"output"`
		Truncated      bool   `json:"truncated"`
	}
)

var errSpelling = errors.New("the line is not spelled as it would be written")

// Parse reads one episode's line, with or without its line end. A line that Append would not write byte for byte, or one
// beyond the bounds (MaxLine, twelve steps, three observations of a step), is conductor.BadTrace.
func Parse(text []byte) (Episode, error) {
	if len(text) > MaxLine {
		return Episode{}, conductor.BadTrace.With(fault.Int("bytes", int64(len(text))), fault.Int("limit", MaxLine))
	}
	var l line
	if err := canon.Strict(text, &l); err != nil {
		return Episode{}, conductor.BadTrace.Because(err)
	}
	e, err := l.episode()
	if err != nil {
		return Episode{}, err
	}
	if again := e.Append(make([]byte, 0, len(text)+1)); !bytes.Equal(bytes.TrimSuffix(again, []byte{'\n'}), bytes.TrimSuffix(text, []byte{'\n'})) {
		return Episode{}, conductor.BadTrace.Because(errSpelling)
	}
	return e, nil
}

func (l line) episode() (Episode, error) {
	e := Episode{
		TaskID: l.TaskID, Benchmark: l.Benchmark, TaskDigest: l.TaskSHA256, Score: l.GradedScore, Ending: ending.Ending(l.StoppedReason),
		Void: l.Void,
	}
	var err error
	switch {
	case l.V != Version:
		return Episode{}, bad("v")
	case l.TaskID == "" || l.Benchmark == "":
		return Episode{}, bad("task_id")
	case !isDigest(l.TaskSHA256):
		return Episode{}, bad("task_sha256")
	case e.Void != "" && !e.Void.Known():
		return Episode{}, bad("void")
	case !slices.Contains(ending.All(), e.Ending):
		return Episode{}, bad("stopped_reason")
	case !isGrade(l.GradedScore):
		return Episode{}, bad("graded_score")
	case len(l.Steps) > state.MaxSteps:
		return Episode{}, bad("steps")
	}
	if e.Spent, err = dollars(l.SpendUSD); err != nil {
		return Episode{}, bad("spend_usd")
	}
	if len(l.Steps) > 0 {
		e.Steps = make([]episode.Step, len(l.Steps))
	}
	for i, s := range l.Steps {
		if s.StepIndex != i {
			return Episode{}, bad("step_index")
		}
		if e.Steps[i], err = s.step(); err != nil {
			return Episode{}, err
		}
	}
	return e, nil
}

func bad(member string) error { return conductor.BadTrace.With(fault.Str("member", member)) }

func isDigest(s string) bool {
	_, err := digest.Parse[string](s)
	return err == nil
}

func isGrade(f float64) bool { return f >= 0 && f <= 1 }

func dollars(v jsontext.Value) (money.Pico, error) {
	p, err := money.Parse(string(v))
	if err == nil && p < 0 {
		return 0, money.BadAmount.With()
	}
	return p, err
}

// step reads what can be read of a step. A member that does not belong to its kind is lost here, so the line is not
// written again as it was.
func (l lineStep) step() (s episode.Step, err error) {
	s = episode.Step{Raw: l.RawOutput, Success: l.Success, Score: l.Score, TokensIn: l.TokensIn, TokensOut: l.TokensOut}
	if s.Prompt, err = digest.Parse[state.Prompt](l.State); err != nil {
		return s, bad("rendered_state_digest")
	}
	if l.ReasonSource != "" {
		source, known := action.ParseSource(l.ReasonSource)
		if !known || l.ReasonTokens < 0 {
			return s, bad("reason_source")
		}
		s.Reason = action.Measure{Tokens: l.ReasonTokens, Source: source}
	}
	if l.Action == nil {
		var known bool
		if s.ParseFailure, known = action.ParseFailure(l.ParseFailure); !known || s.ParseFailure == action.Readable {
			return s, bad("parse_failure")
		}
		return s, nil
	}
	if s.Kind = kind(l.Action.Kind); s.Kind == action.None {
		return s, bad("action")
	}
	if s.Cost, err = dollars(l.CostUSD); err != nil {
		return s, bad("cost_usd")
	}
	err = l.called(&s)
	return s, err
}

// called reads what is published of a step that has an action.
func (l lineStep) called(s *episode.Step) error {
	if (s.Kind == action.Stop) != (l.ModelID == nil) || l.ModelID != nil && (*l.ModelID == "" || l.Attempt < 1) {
		return bad("model_id")
	}
	if !isGrade(s.Score) || s.Success != (s.Score >= 1) {
		return bad("score")
	}
	if l.TokensIn < 0 || l.TokensOut < 0 || len(l.Observations) > reading.MaxReads {
		return bad("observations")
	}
	if l.ModelID != nil {
		s.Model, s.Attempt = *l.ModelID, l.Attempt
	}
	s.Served, s.Provider, s.Replayed = l.ServedModel, l.Provider, l.Replayed
	if l.Failure != nil {
		s.Failed = true
		s.Failure, s.Refused, s.Lost = *l.Failure, l.Refused, l.Lost
		if s.Refused {
			s.Failure = strings.TrimPrefix(s.Failure, refused)
		}
	}
	for _, o := range l.Observations {
		if !isDigest(o.ResponseSHA256) || !o.known() {
			return bad("observations")
		}
		s.Observations = append(s.Observations, reading.Observation{
			Call:   reading.Call{Name: o.Call.Name, Arg: o.Call.Arg, Start: string(o.Call.Start)},
			Output: o.Output, Truncated: o.Truncated, ReplyDigest: o.ResponseSHA256,
		})
	}
	return nil
}

// known reports whether the call is one that a reply can make: shown to a worker, it reads back as itself.
func (o lineObservation) known() bool {
	c := reading.Call{Name: o.Call.Name, Arg: o.Call.Arg, Start: string(o.Call.Start)}
	back, ok := reading.Parse(c.String(), profile.Compat)
	return ok && back == c
}

func kind(s string) action.Kind {
	for _, k := range []action.Kind{action.Delegate, action.Retry, action.Stop} {
		if k.String() == s {
			return k
		}
	}
	return action.None
}
