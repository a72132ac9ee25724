package worker

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor"
	"assay/conductor/internal/decimal"
	"assay/conductor/profile"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/text"
)

// Flag marks what is odd about a reply's usage. Flags never change what was said, they are shown beside it.
type Flag uint8

// The flags.
const (
	Unmetered    Flag = 1 << iota // a token count is missing or unreadable: its 0 means unknown, not free
	Inconsistent                  // more reasoning tokens than completion tokens
)

// Reply is what a provider's 200 says. Nothing in it is looked up or estimated: the cost is the one reported, and a
// price is never searched by the served name.
type Reply struct {
	Text        string     // the answer; always "" beside an error
	Cost        float64    // dollars as reported; negative where the provider says so
	Pico        money.Pico // Cost in pico-dollars, held at the ends of the range
	Costed      bool       // the reply names a cost; true of every answer
	TokensIn    int64      // prompt tokens as reported, 0 where unreadable
	TokensOut   int64      // completion tokens as reported, 0 where unreadable
	Reasoning   int64      // reasoning tokens as reported, part of TokensOut unless Inconsistent
	ChargedOut  int64      // completion tokens that accounts count: TokensOut, in Strict plus Reasoning where Inconsistent
	Finish      string     // finish reason, "" where none
	ServedModel string     // the name that answered; shown beside the asked one
	Provider    string     // who served it
	Usage       Flag
	Failure     string // why there is no answer, for the step's record; "" beside an answer. It quotes the provider: hide secrets, then clip.
}

// Outcome returns the history's word for a reply that was refused with err: "empty_answer" for a reply without a
// choice, "worker_error" for any other.
func Outcome(err error) string {
	if fault.Of(err) == conductor.NoChoices {
		return "empty_answer"
	}
	return "worker_error"
}

// document is the part of a chat completion that is read. Each member stays raw until its turn comes: a wrong type
// in one is that member's fault only, and of equal members the last counts without being merged.
type document struct {
	Error    jsontext.Value `json:"error"`
	Choices  jsontext.Value `json:"choices"`
	Usage    jsontext.Value `json:"usage"`
	Model    jsontext.Value `json:"model"`
	Provider jsontext.Value `json:"provider"`
}

type choice struct {
	Finish  jsontext.Value `json:"finish_reason"`
	Message jsontext.Value `json:"message"`
}

type message struct {
	Content jsontext.Value `json:"content"`
}

type usage struct {
	Cost    jsontext.Value `json:"cost"`
	In      jsontext.Value `json:"prompt_tokens"`
	Out     jsontext.Value `json:"completion_tokens"`
	Details jsontext.Value `json:"completion_tokens_details"`
}

type details struct {
	Reasoning jsontext.Value `json:"reasoning_tokens"`
}

// lenient reads what providers really send: halves of surrogate pairs, which models do emit, become U+FFFD.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// ReadReply reads the body of a 200 from the chat completions endpoint, by the provider client's rule, in this order:
// an error member that is not null (conductor.ProviderError), no first choice that is an object (NoChoices), a finish
// reason "error" (GenerationFailed), a cost that is missing or unreadable (NoCost). An answer cut by its length, held
// by a filter or empty is an answer.
//
// Beside an error the Reply never has a text. In Strict it still says what the body reports as used and charged;
// in Compat it is empty but for its Failure.
func ReadReply(body []byte, p profile.Profile) (Reply, error) {
	var d document
	if err := json.Unmarshal(body, &d, lenient); err != nil || jsontext.Value(body).Kind() != '{' {
		return Reply{Failure: "the reply is not a JSON object"}, conductor.BadReply.Because(err)
	}
	r := Reply{ServedModel: canon.Text(d.Model), Provider: canon.Text(d.Provider)}
	readUsage(&r, d.Usage, p)
	if err := readChoice(&r, &d); err != nil {
		if !p.Strict() {
			return Reply{Failure: r.Failure}, err
		}
		return r, err
	}
	return r, nil
}

func readChoice(r *Reply, d *document) error {
	if d.Error != nil && d.Error.Kind() != 'n' {
		return providerError(r, d.Error)
	}
	first, ok := firstOf(d.Choices)
	if !ok {
		r.Failure = "no choice in the reply"
		return conductor.NoChoices.With()
	}
	var c choice
	object(first, &c)
	r.Finish = canon.Text(c.Finish)
	if r.Finish == "error" {
		r.Failure = "generation failed in mid-response"
		return conductor.GenerationFailed.With()
	}
	if !r.Costed {
		r.Failure = "the reply names no cost"
		return conductor.NoCost.With()
	}
	var m message
	object(c.Message, &m)
	r.Text = canon.Text(m.Content)
	return nil
}

// maxFailure is the longest failure text that is kept, in bytes. It is far beyond what is shown: who shows a failure hides
// secrets in it first and clips it then, since half a key would not be recognised.
const maxFailure = 4096

func providerError(r *Reply, raw jsontext.Value) error {
	var e struct {
		Code    jsontext.Value `json:"code"`
		Message jsontext.Value `json:"message"`
	}
	object(raw, &e)
	code, msg := canon.Text(e.Code), canon.Text(e.Message)
	refusal := conductor.ProviderError.With() // names no words of the provider: they may hold a secret
	if e.Code.Kind() == '0' {
		code = string(e.Code)
		if n, err := strconv.ParseInt(code, 10, 64); err == nil {
			refusal = refusal.With(fault.Int("code", n))
		}
	}
	if raw.Kind() == '"' {
		msg = canon.Text(raw)
	}
	r.Failure = text.Clip(strings.TrimRight("provider error in a 200 body: code="+code+" "+msg, " "), maxFailure)
	return refusal
}

func readUsage(r *Reply, raw jsontext.Value, p profile.Profile) {
	var u usage
	var dt details
	object(raw, &u)
	object(u.Details, &dt)
	if r.Cost, r.Costed = number(u.Cost, p); r.Costed {
		r.Pico = pico(r.Cost)
	}
	var in, out bool
	r.TokensIn, in = count(u.In, p)
	r.TokensOut, out = count(u.Out, p)
	if !in || !out {
		r.Usage |= Unmetered
	}
	r.ChargedOut = r.TokensOut
	if n, ok := count(dt.Reasoning, p); ok && n > 0 {
		r.Reasoning = n
		if n > r.TokensOut {
			r.Usage |= Inconsistent
			if p.Strict() {
				r.ChargedOut = saturate(max(r.TokensOut, 0), n)
			}
		}
	}
}

func saturate(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func pico(dollars float64) money.Pico {
	c, err := money.FromFloat(dollars)
	switch {
	case err == nil:
		return c
	case dollars < 0:
		return -money.Max
	default:
		return money.Max
	}
}

// firstOf returns the first element of a list when it is an object.
func firstOf(list jsontext.Value) (jsontext.Value, bool) {
	if list.Kind() != '[' {
		return nil, false
	}
	var all []jsontext.Value
	if err := json.Unmarshal(list, &all, lenient); err != nil || len(all) == 0 {
		return nil, false
	}
	return all[0], all[0].Kind() == '{'
}

// object reads an object's members into v; any other value leaves v as it is. raw was checked as a part of the body.
func object(raw jsontext.Value, v any) {
	if raw.Kind() == '{' {
		_ = json.Unmarshal(raw, v, lenient) // members are raw, so nothing in them can fail
	}
}

// count reads a number of tokens: fractions are cut off, numbers in text are read, anything else is unknown.
func count(raw jsontext.Value, p profile.Profile) (int64, bool) {
	if raw.Kind() == '0' {
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			return n, true
		}
	}
	f, ok := number(raw, p)
	if !ok || math.Abs(f) >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

// number reads a finite number, also from a text.
func number(raw jsontext.Value, p profile.Profile) (f float64, ok bool) {
	switch raw.Kind() {
	case '0':
		f, ok = decimal.Read(string(raw), profile.Strict)
	case '"':
		f, ok = decimal.Read(canon.Text(raw), p)
	}
	return f, ok && !math.IsInf(f, 0) && !math.IsNaN(f)
}
