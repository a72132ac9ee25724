// Package llmtest is the suite that every driver of llm.Client passes, fakes too.
//
// Invariants:
//   - It asserts what callers rely on: whole replies, typed failures, the caller's context, independence of calls.
//   - It makes calls only through llm.Client, so that a driver cannot pass by another door.
package llmtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"assay/llm"
)

// Subject is a driver set up for the suite: Model is answered on both paths, whatever is asked; no other model is.
type Subject struct {
	Client llm.Client
	Model  string
}

// Run runs the suite. make is called once for each test and may use t.Cleanup.
func Run(t *testing.T, make func(t *testing.T) Subject) {
	for name, test := range map[string]func(*testing.T, Subject){
		"a chat is answered":                       chat,
		"a prompt is completed":                    completion,
		"equal requests have equal texts":          equal,
		"an unknown model is a failure":            unknownModel,
		"an unknown path is a failure":             unknownPath,
		"a body that is no JSON is a failure":      malformed,
		"the caller's context is not a failure":    cancelled,
		"the request's bytes are left alone":       untouched,
		"calls at the same time do not mix":        concurrent,
		"a reply belongs to the caller":            owned,
		"a failure leaves the client as it was":    goesOn,
		"an ended context leaves the client alive": goesOnAfterCancel,
	} {
		t.Run(name, func(t *testing.T) { test(t, make(t)) })
	}
}

func chatBody(model, words string) llm.Request {
	return request(llm.ChatPath, map[string]any{
		"model": model, "messages": []any{map[string]any{"role": "user", "content": words}},
		"temperature": 0.0, "max_tokens": 8, "stream": false,
		"usage": map[string]any{"include": true},
	})
}

func completionBody(model, words string) llm.Request {
	return request(llm.CompletionPath, map[string]any{"model": model, "prompt": words, "temperature": 0.0, "max_tokens": 8, "stream": false, "n": 1})
}

func request(path string, body map[string]any) llm.Request {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return llm.Request{Path: path, Body: b}
}

// reply is the part of both forms that callers read.
type reply struct {
	Model   string
	Choices []struct {
		Text    *string
		Message *struct{ Content *string }
	}
	Usage *struct {
		Prompt     *int `json:"prompt_tokens"`
		Completion *int `json:"completion_tokens"`
		Cost       *float64
	}
}

func answered(t *testing.T, c llm.Client, r llm.Request) (reply, string) {
	t.Helper()
	got, err := c.Send(t.Context(), r)
	if err != nil {
		t.Fatalf("send: %v", err)
	}
	var d reply
	if err := json.Unmarshal(got.Body, &d); err != nil {
		t.Fatalf("the reply is no JSON text: %v", err)
	}
	if got.Attempts < 1 || len(d.Choices) != 1 {
		t.Fatalf("%d attempts, %d choices, want one at least and one", got.Attempts, len(d.Choices))
	}
	switch c := d.Choices[0]; {
	case r.Path == llm.CompletionPath && c.Text != nil:
		return d, *c.Text
	case r.Path == llm.ChatPath && c.Message != nil && c.Message.Content != nil:
		return d, *c.Message.Content
	}
	t.Fatalf("the choice holds no text: %s", got.Body)
	return d, ""
}

func chat(t *testing.T, s Subject) {
	d, _ := answered(t, s.Client, chatBody(s.Model, "And God said"))
	if d.Model == "" || d.Usage == nil || d.Usage.Prompt == nil || d.Usage.Completion == nil || d.Usage.Cost == nil || *d.Usage.Cost < 0 {
		t.Errorf("reply %+v: want a model, both counts of tokens and a cost", d)
	}
}

func completion(t *testing.T, s Subject) {
	if d, _ := answered(t, s.Client, completionBody(s.Model, "And God said")); d.Model != s.Model {
		t.Errorf("answered by %q, asked %q", d.Model, s.Model)
	}
}

func equal(t *testing.T, s Subject) {
	_, a := answered(t, s.Client, completionBody(s.Model, "And it came to pass"))
	_, b := answered(t, s.Client, completionBody(s.Model, "And it came to pass"))
	if a != b {
		t.Errorf("%q, then %q", a, b)
	}
}

// failed sends a request that must fail, and not be tried in vain.
func failed(t *testing.T, c llm.Client, r llm.Request) {
	t.Helper()
	got, err := c.Send(t.Context(), r)
	var f *llm.Failure
	if !errors.As(err, &f) || got.Body != nil {
		t.Fatalf("reply %q, error %v; want a *llm.Failure and no reply", got.Body, err)
	}
	if f.Class != llm.Rejected || f.Status < 400 || f.Status > 499 || f.Attempts != 1 {
		t.Errorf("failure %+v, want rejected with its status in one attempt", f)
	}
}

func unknownModel(t *testing.T, s Subject) {
	failed(t, s.Client, chatBody(s.Model+"-absent", "x"))
	failed(t, s.Client, completionBody("", "x"))
}

func unknownPath(t *testing.T, s Subject) {
	r := chatBody(s.Model, "x")
	r.Path = "embeddings"
	failed(t, s.Client, r)
}

func malformed(t *testing.T, s Subject) {
	for _, body := range []string{``, `{`, `[]`, `null`, `{"model":7}`} {
		failed(t, s.Client, llm.Request{Path: llm.ChatPath, Body: []byte(body)})
		failed(t, s.Client, llm.Request{Path: llm.CompletionPath, Body: []byte(body)})
	}
}

func cancelled(t *testing.T, s Subject) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := s.Client.Send(ctx, chatBody(s.Model, "x"))
	if !errors.Is(err, context.Canceled) || errors.As(err, new(*llm.Failure)) || got.Body != nil {
		t.Errorf("reply %q, error %v; want the context's error", got.Body, err)
	}
}

func untouched(t *testing.T, s Subject) {
	r := chatBody(s.Model, "x")
	before := bytes.Clone(r.Body)
	answered(t, s.Client, r)
	if !bytes.Equal(before, r.Body) {
		t.Error("the request was written to")
	}
}

func concurrent(t *testing.T, s Subject) {
	_, want := answered(t, s.Client, completionBody(s.Model, "And God said"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := s.Client.Send(t.Context(), completionBody(s.Model, "And God said"))
			var d reply
			if err == nil {
				err = json.Unmarshal(got.Body, &d)
			}
			if err != nil || len(d.Choices) != 1 || d.Choices[0].Text == nil || *d.Choices[0].Text != want {
				t.Errorf("reply %q, error %v, want the text %q", got.Body, err, want)
			}
		})
	}
	wg.Wait()
}

func owned(t *testing.T, s Subject) {
	first, err := s.Client.Send(t.Context(), completionBody(s.Model, "x"))
	if err != nil {
		t.Fatal(err)
	}
	kept := bytes.Clone(first.Body)
	clear(first.Body) // a caller may do what it likes with its reply
	second, err := s.Client.Send(t.Context(), completionBody(s.Model, "x"))
	if err != nil || !json.Valid(second.Body) {
		t.Fatalf("after the first reply was wiped: %q, %v", second.Body, err)
	}
	copy(first.Body, kept)
	if _, err := s.Client.Send(t.Context(), completionBody(s.Model, "y")); err != nil || !bytes.Equal(first.Body, kept) {
		t.Errorf("a later call wrote to an earlier reply (%v)", err)
	}
}

func goesOn(t *testing.T, s Subject) {
	failed(t, s.Client, chatBody(s.Model+"-absent", "x"))
	answered(t, s.Client, chatBody(s.Model, "x"))
}

func goesOnAfterCancel(t *testing.T, s Subject) {
	cancelled(t, s)
	answered(t, s.Client, chatBody(s.Model, "x"))
}
