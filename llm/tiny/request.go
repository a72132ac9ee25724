package tiny

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// refusal is a request that is not answered. Its message is a constant of this file.
type refusal struct {
	status  int
	kind    string // the error object's type
	code    string
	message string
}

func (r *refusal) Error() string { return r.message }

func invalid(message string) *refusal {
	return &refusal{400, "invalid_request_error", "invalid_value", message}
}

var (
	malformed    = &refusal{400, "invalid_request_error", "malformed", "the body is not the JSON object that this path takes"}
	unknownModel = &refusal{404, "invalid_request_error", "model_not_found", "no such model is served here"}
	unknownPath  = &refusal{404, "invalid_request_error", "not_found", "no such path: there are GET /v1/models, POST /v1/completions and POST /v1/chat/completions"}
	tooLarge     = &refusal{413, "invalid_request_error", "too_large", "the body is longer than 1 MiB"}
	tooLong      = &refusal{400, "invalid_request_error", "context_length_exceeded", "the prompt is longer than 65536 bytes"}
	busy         = &refusal{503, "server_error", "busy", "too many requests wait"}
	broken       = &refusal{500, "server_error", "internal", "the model gave numbers that are none"}
	noStream     = invalid("stream is not available without HTTP")
)

// params is a request that was checked.
type params struct {
	chat, stream, streamUsage, cost bool

	model       Model
	prompt      string
	maxTokens   int
	temperature float64
	topP        float64
	topK        int // 0: all
	seed        uint64
	stops       []string
	logprobs    bool
	top         int // alternatives told for each token
}

// document is the JSON of a request. Members that are not named here are passed over, as providers do.
type document struct {
	Model    string  `json:"model"`
	Prompt   *string `json:"prompt"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	MaxTokens           *int           `json:"max_tokens"`
	MaxCompletionTokens *int           `json:"max_completion_tokens"`
	Temperature         *float64       `json:"temperature"`
	TopP                *float64       `json:"top_p"`
	TopK                *int           `json:"top_k"`
	Seed                *int64         `json:"seed"`
	N                   *int           `json:"n"`
	Stop                jsontext.Value `json:"stop"`
	Stream              *bool          `json:"stream"`
	StreamOptions       *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Logprobs    jsontext.Value `json:"logprobs"`
	TopLogprobs *int           `json:"top_logprobs"`
	Echo        *bool          `json:"echo"`
	Usage       *struct {
		Include bool `json:"include"`
	} `json:"usage"`
}

const (
	defaultCompletion = 16  // tokens, as the completions endpoint's form has it
	defaultChat       = 256 // tokens
	maxStops          = 4
	maxTop            = 20
)

// read checks a request's body.
func (s *Server) read(body []byte, chat bool) (*params, *refusal) {
	var d document
	if err := json.Unmarshal(body, &d, jsontext.AllowInvalidUTF8(true)); err != nil || jsontext.Value(body).Kind() != '{' {
		return nil, malformed
	}
	p := &params{chat: chat, stream: or(d.Stream, false)}
	var ok bool
	if p.model, ok = s.model(d.Model); !ok {
		return nil, unknownModel
	}
	for _, step := range []func(*document) *refusal{p.readPrompt, p.readLimits, p.readSampling, p.readStops, p.readLogprobs} {
		if r := step(&d); r != nil {
			return nil, r
		}
	}
	p.streamUsage = d.StreamOptions != nil && d.StreamOptions.IncludeUsage
	p.cost = d.Usage != nil && d.Usage.Include
	return p, nil
}

func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

func (p *params) readPrompt(d *document) *refusal {
	if p.chat {
		if len(d.Messages) == 0 {
			return invalid("messages must hold one message at least")
		}
		var b strings.Builder
		for _, m := range d.Messages { // the model knows no roles; what was said is what it continues
			b.WriteString(m.Content)
			b.WriteByte('\n')
		}
		p.prompt = b.String()
	} else {
		if d.Prompt == nil {
			return invalid("prompt must be a text")
		}
		p.prompt = *d.Prompt
	}
	if len(p.prompt) > MaxPrompt {
		return tooLong
	}
	return nil
}

func (p *params) readLimits(d *document) *refusal {
	p.maxTokens = defaultCompletion
	if p.chat {
		p.maxTokens = defaultChat
	}
	p.maxTokens = or(d.MaxCompletionTokens, or(d.MaxTokens, p.maxTokens))
	if p.maxTokens < 1 {
		return invalid("max_tokens must be 1 at least")
	}
	p.maxTokens = min(p.maxTokens, MaxTokens)
	if or(d.N, 1) != 1 {
		return invalid("n must be 1")
	}
	if or(d.Echo, false) {
		return invalid("echo is not available")
	}
	return nil
}

func (p *params) readSampling(d *document) *refusal {
	p.temperature = or(d.Temperature, p.model.Temperature)
	p.topP, p.topK = or(d.TopP, 1), max(0, or(d.TopK, 0))
	p.seed = uint64(or(d.Seed, 0))
	if !(p.temperature >= 0 && p.temperature <= maxTemperature) {
		return invalid("temperature must lie between 0 and 2")
	}
	if !(p.topP > 0 && p.topP <= 1) {
		return invalid("top_p must lie above 0 and up to 1")
	}
	return nil
}

func (p *params) readStops(d *document) *refusal {
	refused := invalid("stop must be a text or a list of up to 4 texts, none of them empty")
	switch d.Stop.Kind() {
	case '"':
		p.stops = make([]string, 1)
		if json.Unmarshal(d.Stop, &p.stops[0], jsontext.AllowInvalidUTF8(true)) != nil {
			return refused
		}
	case '[':
		if json.Unmarshal(d.Stop, &p.stops, jsontext.AllowInvalidUTF8(true)) != nil {
			return refused
		}
	case 'n', jsontext.KindInvalid: // null, absent
	default:
		return refused
	}
	if len(p.stops) > maxStops {
		return refused
	}
	for _, s := range p.stops {
		if s == "" {
			return refused
		}
	}
	return nil
}

// readLogprobs reads the two forms: a number of alternatives (completions), or true beside top_logprobs (chat).
func (p *params) readLogprobs(d *document) *refusal {
	kind := d.Logprobs.Kind()
	switch {
	case kind == 'n' || kind == 'f' || kind == jsontext.KindInvalid:
		return nil
	case p.chat && kind == 't':
		p.logprobs, p.top = true, or(d.TopLogprobs, 0)
	case !p.chat && kind == '0' && json.Unmarshal(d.Logprobs, &p.top) == nil:
		p.logprobs = true
	default:
		return invalid("logprobs must be true or false for a chat, a whole number for a completion")
	}
	if p.top < 0 || p.top > maxTop {
		return invalid("at most 20 log-probabilities are told for a token")
	}
	return nil
}
