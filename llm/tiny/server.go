package tiny

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"

	"assay/core/money"
)

func (s *Server) handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /v1/models", s.serveModels)
	m.HandleFunc("POST /v1/completions", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, false) })
	m.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, true) })
	m.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, unknownPath) })
	return m
}

// ServeHTTP answers GET /v1/models, POST /v1/completions and POST /v1/chat/completions.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.routes.ServeHTTP(w, r) }

func refuse(w http.ResponseWriter, r *refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body())
}

func send(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// serveModels lists the models in the form that catalogs are pinned from: prices are texts of dollars for one token.
func (s *Server) serveModels(w http.ResponseWriter, _ *http.Request) {
	type pricing struct {
		Prompt     string `json:"prompt"`
		Completion string `json:"completion"`
	}
	type architecture struct {
		Input  []string `json:"input_modalities"`
		Output []string `json:"output_modalities"`
	}
	type row struct {
		ID           string       `json:"id"`
		Object       string       `json:"object"`
		Created      int64        `json:"created"`
		OwnedBy      string       `json:"owned_by"`
		Context      int          `json:"context_length"`
		Architecture architecture `json:"architecture"`
		Pricing      pricing      `json:"pricing"`
		Parameters   []string     `json:"supported_parameters"`
	}
	rows := []row{}
	for _, m := range s.models {
		rows = append(rows, row{
			ID: m.Name, Object: "model", OwnedBy: "assay", Context: MaxPrompt,
			Architecture: architecture{[]string{"text"}, []string{"text"}},
			Pricing:      pricing{perToken(m.In), perToken(m.Out)},
			Parameters:   []string{"logprobs", "max_tokens", "seed", "stop", "temperature", "top_k", "top_logprobs", "top_p"},
		})
	}
	body, err := json.Marshal(map[string]any{"object": "list", "data": rows}, json.Deterministic(true))
	if err != nil {
		panic("tiny: a listing that is no JSON: " + err.Error()) // names come from our own configuration
	}
	send(w, body)
}

// perToken returns the price of one token as a decimal text of dollars, from the price of a million.
func perToken(perMillion money.Pico) string {
	whole := string(perMillion.AppendDollars(nil)) // such as 0.1
	units, frac, _ := strings.Cut(whole, ".")
	digits := strings.Repeat("0", max(0, 7-len(units))) + units
	cut := len(digits) - 6
	return strings.TrimSuffix(strings.TrimRight(digits[:cut]+"."+digits[cut:]+frac, "0"), ".")
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, chat bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			refuse(w, tooLarge)
		}
		return // whoever asked is gone
	}
	p, no := s.read(body, chat)
	if no != nil {
		refuse(w, no)
		return
	}
	if p.stream {
		s.stream(w, r, p, body)
		return
	}
	reply, err := s.complete(r.Context(), p, body)
	switch no := (*refusal)(nil); {
	case err == nil:
		send(w, reply)
	case errors.As(err, &no):
		refuse(w, no)
	}
}

// complete answers a request that does not stream. Its error is a *refusal or ctx's.
func (s *Server) complete(ctx context.Context, p *params, body []byte) ([]byte, error) {
	var text strings.Builder
	var tokens []spoken
	o, err := s.run(ctx, p, func(c piece) error {
		text.WriteString(c.text)
		tokens = append(tokens, c.tokens...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	reply, err := p.whole(body, text.String(), tokens, o)
	if err != nil {
		return nil, broken // weights of somebody else may give numbers that JSON has no form for
	}
	return reply, nil
}

// run waits for a slot and generates.
func (s *Server) run(ctx context.Context, p *params, emit func(piece) error) (outcome, error) {
	if s.waiting.Add(1) > maxQueue {
		s.waiting.Add(-1)
		return outcome{}, busy
	}
	select {
	case s.slots <- struct{}{}:
		s.waiting.Add(-1)
	case <-ctx.Done():
		s.waiting.Add(-1)
		return outcome{}, ctx.Err()
	}
	defer func() { <-s.slots }()
	session := s.sessions.Get().(*session)
	defer s.sessions.Put(session)
	return session.generate(ctx, p, emit)
}

// stream answers with server-sent events: one for each piece of text, one with the finish reason, one with the usage
// where asked for, and [DONE].
func (s *Server) stream(w http.ResponseWriter, r *http.Request, p *params, body []byte) {
	out := http.NewResponseController(w)
	started := false
	event := func(data []byte, err error) error {
		if err != nil {
			return err
		}
		if !started {
			started = true
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "no-store")
		}
		if _, err := w.Write(append(append([]byte("data: "), data...), "\n\n"...)); err != nil {
			return err
		}
		return out.Flush()
	}
	offset := 0
	o, err := s.run(r.Context(), p, func(c piece) error {
		defer func() { offset += len(c.text) }()
		return event(p.chunk(body, c.text, c.tokens, offset, nil))
	})
	if err != nil {
		if no := (*refusal)(nil); errors.As(err, &no) && !started {
			refuse(w, no)
		}
		return // the connection ends without [DONE]: a reader can tell
	}
	if event(p.chunk(body, "", nil, max(offset, 1), &o.finish)) != nil {
		return
	}
	if p.streamUsage && event(p.bill(body, o)) != nil {
		return
	}
	_ = event([]byte("[DONE]"), nil)
}
