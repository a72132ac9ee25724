// Package serving says what a Conductor's endpoint is asked and what counts as its answer.
//
// Invariants:
//   - The request is a function of the model's name and the prompt; greedy decoding and the limit of 576 tokens are in it.
//   - A completion is exactly one choice with a text, returned untouched, from a model that was asked for.
//   - Every other reply is an error; none of them becomes an empty text.
//
// One request, in the order of its bytes:
//
//	{"max_tokens":576,"model":"m","n":1,"prompt":"…","seed":0,"stream":false,"temperature":0.0,"top_k":-1,"top_p":1.0}
package serving

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor"
	"assay/conductor/window"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/text"
)

// MaxTokens is the generation limit of one turn, in tokens.
const MaxTokens = window.MaxConductorTokens

// Body returns the request for the completions endpoint, in canonical ASCII JSON.
// Bytes of prompt that are not UTF-8 are sent as U+FFFD; a rendered state has none.
func Body(model, prompt string) []byte {
	const fixed = 160 // longer than all that is not model or prompt
	b := make([]byte, 0, fixed+len(model)+len(prompt)+len(prompt)/8)
	b = append(b, `{"max_tokens":`...)
	b = strconv.AppendInt(b, MaxTokens, 10)
	b = append(b, `,"model":`...)
	b = canon.AppendStringASCII(b, model)
	b = append(b, `,"n":1,"prompt":`...)
	b = canon.AppendStringASCII(b, prompt)
	return append(b, `,"seed":0,"stream":false,"temperature":0.0,"top_k":-1,"top_p":1.0}`...)
}

// Check refuses a prompt that does not begin with the pinned instructions (conductor.NotPinned). It is called before
// anything is sent. Empty instructions pin nothing and are refused too.
func Check(prompt, instructions string) error {
	if instructions == "" || !strings.HasPrefix(prompt, instructions) {
		return conductor.NotPinned.With()
	}
	return nil
}

// Unknown is the number of tokens of a completion whose endpoint did not say it.
const Unknown = -1

// Completion is what a Conductor said.
type Completion struct {
	Text         string // untouched, also a leading blank and a cut at the limit
	Model        string // the name that answered, one of the names that were asked for
	Finish       string // finish reason, "" where none
	Tokens       int64  // completion tokens, or Unknown
	PromptTokens int64  // prompt tokens, or Unknown

	// Failure is what the provider said beside conductor.ProviderError, up to 4096 bytes; else "". It may hold a secret: who
	// shows it redacts it first and clips and cleans it then.
	Failure string
}

// maxFailure is the longest failure text that is kept, in bytes: far more than is shown, since half a key would not be recognised.
const maxFailure = 4096

type reply struct {
	Model   *string `json:"model"`
	Choices []struct {
		Text   jsontext.Value `json:"text"`
		Finish jsontext.Value `json:"finish_reason"`
	} `json:"choices"`
	Usage jsontext.Value `json:"usage"`
	Error jsontext.Value `json:"error"`
}

type usage struct {
	Out jsontext.Value `json:"completion_tokens"`
	In  jsontext.Value `json:"prompt_tokens"`
}

// surrogates keeps a model that writes half a surrogate pair from failing its own serving: the half becomes U+FFFD.
var surrogates = jsontext.AllowInvalidUTF8(true)

// Read reads the body of a 200 from the completions endpoint. names are the asked name and the aliases that the
// endpoint listed when it became ready. Errors are, in this order, conductor.ProviderError for an error member that is not null,
// WrongModel, BadCompletion, and GenerationFailed for the finish reason "error". Beside an error only Failure may say something.
func Read(body []byte, names []string) (Completion, error) {
	var r reply
	if err := json.Unmarshal(body, &r, surrogates); err != nil {
		return Completion{}, conductor.BadCompletion.Because(err)
	}
	if r.Error != nil && r.Error.Kind() != 'n' {
		return Completion{Failure: text.Clip(words(r.Error), maxFailure)}, conductor.ProviderError.With()
	}
	if r.Model == nil {
		return Completion{}, conductor.BadCompletion.Because(errors.New("no model is named"))
	}
	if !slices.Contains(names, *r.Model) {
		return Completion{}, conductor.WrongModel.With(fault.Str("model", *r.Model))
	}
	if len(r.Choices) != 1 {
		return Completion{}, conductor.BadCompletion.With(fault.Int("choices", int64(len(r.Choices))))
	}
	c := r.Choices[0]
	if c.Text.Kind() != '"' {
		return Completion{}, conductor.BadCompletion.Because(errors.New("the choice has no text"))
	}
	if canon.Text(c.Finish) == "error" {
		return Completion{}, conductor.GenerationFailed.With()
	}
	out := Completion{Text: canon.Text(c.Text), Model: *r.Model, Finish: canon.Text(c.Finish), Tokens: Unknown, PromptTokens: Unknown}
	var u usage
	if r.Usage.Kind() == '{' && json.Unmarshal(r.Usage, &u, surrogates) == nil {
		out.Tokens, out.PromptTokens = count(u.Out), count(u.In)
	}
	return out, nil
}

// words returns the message of an error member, and its JSON where it has none.
func words(raw jsontext.Value) string {
	var e struct {
		Message jsontext.Value `json:"message"`
	}
	if raw.Kind() == '"' {
		e.Message = raw
	} else if raw.Kind() == '{' {
		_ = json.Unmarshal(raw, &e, surrogates) // one value of JSON already
	}
	if s := canon.Text(e.Message); s != "" {
		return s
	}
	return strings.ToValidUTF8(string(raw), "\ufffd")
}

func count(raw jsontext.Value) int64 {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < 0 {
		return Unknown
	}
	return n
}
