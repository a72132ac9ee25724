// Package tiny is a real language model that fits into the program: 858,000 parameters, bytes for tokens, trained on the
// King James text. It serves the OpenAI-compatible endpoints for tests, demonstrations and offline use.
//
// Invariants:
//   - The same request gives the same reply, on any number of cores and beside any other request.
//   - A byte is seen by the next layer through the 128 bytes behind it, which is what the model was trained with. So what
//     follows depends on the last 509 bytes only, and a long prompt costs no more than a short one.
//   - Usage is counted, not estimated: a token is a byte. A cost is usage times the model's listed price.
//   - Weights are data: a damaged file is an error, never a panic.
package tiny

import (
	_ "embed" // for the weights
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"

	"assay/core/fault"
	"assay/core/money"
)

// The refusals of this room.
var (
	BadWeights = fault.NewCode("tiny.bad_weights", fault.Invalid, "the weights are not a model of this kind")
	BadModels  = fault.NewCode("tiny.bad_models", fault.Invalid, "a served model needs a name of its own and prices that are not negative")
)

// Bounds of one request.
const (
	MaxPrompt = 65_536  // bytes of prompt; a longer one is refused
	MaxTokens = 1024    // tokens of a reply; a larger wish is cut to it
	maxBody   = 1 << 20 // bytes of a request
	maxQueue  = 256     // requests that wait; one more is told to come back
)

// Model is one name under which the weights are served.
type Model struct {
	Name        string
	In, Out     money.Pico // price of a million prompt and completion tokens
	Temperature float64    // used where a request names none
}

// Defaults are the models served where none are named: a cheap greedy one and a dearer one that varies.
func Defaults() []Model {
	return []Model{
		{Name: "assay/tiny", In: money.Dollar / 10, Out: 4 * money.Dollar / 10},
		{Name: "assay/tiny-hot", In: money.Dollar, Out: 4 * money.Dollar, Temperature: 0.8},
	}
}

// Options configure a Server. The zero value of a field takes its default.
type Options struct {
	Weights  []byte  // a safetensors file; default: the built-in one
	Models   []Model // default: Defaults()
	Parallel int     // requests that are computed at once; default: the number of cores
}

// Server answers requests. It is safe for concurrent use. It is an http.Handler for paths below /v1, and Client gives
// the same answers without HTTP.
type Server struct {
	net      *network
	models   []Model
	slots    chan struct{}
	waiting  atomic.Int64
	sessions sync.Pool
	routes   http.Handler
}

//go:embed tiny.safetensors
var builtin []byte

// builtinNetwork reads the built-in weights once in a process.
var builtinNetwork = sync.OnceValues(func() (*network, error) { return load(builtin) })

// New makes a server.
func New(o Options) (*Server, error) {
	net, err := builtinNetwork()
	if o.Weights != nil {
		net, err = load(o.Weights)
	}
	if err != nil {
		return nil, err
	}
	if o.Models == nil {
		o.Models = Defaults()
	}
	names := map[string]bool{}
	for _, m := range o.Models {
		if m.Name == "" || names[m.Name] || m.In < 0 || m.Out < 0 || m.Temperature < 0 || m.Temperature > maxTemperature {
			return nil, BadModels.With(fault.Str("model", m.Name))
		}
		names[m.Name] = true
	}
	if o.Parallel <= 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	s := &Server{net: net, models: o.Models, slots: make(chan struct{}, o.Parallel)}
	s.sessions.New = func() any { return newSession(net) }
	s.routes = s.handler()
	return s, nil
}

func (s *Server) model(name string) (Model, bool) {
	for _, m := range s.models {
		if m.Name == name {
			return m, true
		}
	}
	return Model{}, false
}
