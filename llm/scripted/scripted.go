// Package scripted plays canned replies, so that tests say what every model answers. It is a driver, not a mock: what it
// was asked is a record to read, never an expectation.
//
// Invariants:
//   - The first line of the script that fits a request and is not used up answers it; a request that none fits is refused.
//   - A reply is well formed unless its line carries a body of its own.
//   - A failure told by Fail strikes once, at its step.
package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"assay/llm"
)

// Line is one line of a script: what it fits, and what it answers.
type Line struct {
	Path   string // "": any
	Model  string // "": any
	Prompt string // a part of the prompt or of the last message; "": any
	Times  int    // how often the line answers; 0: always

	Text string       // the answer
	Cost float64      // dollars, told as usage.cost
	Body []byte       // the whole reply instead, byte for byte; a body that is no JSON text is a malformed reply
	Fail *llm.Failure // fails instead
}

// Steps at which Fail strikes.
const (
	Send  = "send"  // before anything is counted: the request did not arrive
	Reply = "reply" // after the line was used: the endpoint did its work and the reply was lost
)

// Call is a request that arrived.
type Call struct {
	Path, Model, Prompt string
	Body                []byte
}

// Client plays a script. It is safe for concurrent use.
type Client struct {
	mu    sync.Mutex
	lines []Line
	used  []int
	fail  map[string][]*llm.Failure
	calls []Call
}

var _ llm.Client = (*Client)(nil)

// New makes a client of a script.
func New(lines ...Line) *Client {
	return &Client{lines: lines, used: make([]int, len(lines)), fail: map[string][]*llm.Failure{}}
}

// Fail makes the next request fail at the step; told twice, the next two. An unknown step panics: it would never strike.
func (c *Client) Fail(step string, f *llm.Failure) {
	if step != Send && step != Reply {
		panic("scripted: no such step: " + step)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail[step] = append(c.fail[step], f)
}

// Calls returns the requests that arrived so far, in their order.
func (c *Client) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Call(nil), c.calls...)
}

// Send answers from the script.
func (c *Client) Send(ctx context.Context, r llm.Request) (llm.Reply, error) {
	if err := ctx.Err(); err != nil {
		return llm.Reply{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.strikes(Send); f != nil {
		return llm.Reply{}, f
	}
	if r.Path != llm.ChatPath && r.Path != llm.CompletionPath {
		return llm.Reply{}, rejected(404, "no such path")
	}
	call, ok := read(r)
	if !ok {
		return llm.Reply{}, rejected(400, "the body is no request")
	}
	c.calls = append(c.calls, call)
	line := c.find(call)
	if line == nil {
		return llm.Reply{}, rejected(404, "no line of the script answers "+call.Model)
	}
	if f := c.strikes(Reply); f != nil {
		return llm.Reply{}, f
	}
	return line.answer(call)
}

// strikes takes the next failure of a step. Each caller gets a failure of its own.
func (c *Client) strikes(step string) *llm.Failure {
	if len(c.fail[step]) == 0 {
		return nil
	}
	f := *c.fail[step][0]
	c.fail[step] = c.fail[step][1:]
	f.Attempts = max(f.Attempts, 1)
	return &f
}

func (c *Client) find(call Call) *Line {
	for i := range c.lines {
		l := &c.lines[i]
		if (l.Path == "" || l.Path == call.Path) && (l.Model == "" || l.Model == call.Model) &&
			strings.Contains(call.Prompt, l.Prompt) && (l.Times == 0 || c.used[i] < l.Times) {
			c.used[i]++
			return l
		}
	}
	return nil
}

func rejected(status int, message string) *llm.Failure {
	return &llm.Failure{Class: llm.Rejected, Status: status, Message: message, Attempts: 1}
}

// read takes the model and the words out of a request of either form.
func read(r llm.Request) (Call, bool) {
	var d struct {
		Model    *string
		Prompt   string
		Messages []struct{ Content string }
	}
	if json.Unmarshal(r.Body, &d) != nil || d.Model == nil {
		return Call{}, false
	}
	c := Call{Path: r.Path, Model: *d.Model, Prompt: d.Prompt, Body: append([]byte(nil), r.Body...)}
	if n := len(d.Messages); n > 0 {
		c.Prompt = d.Messages[n-1].Content
	}
	return c, true
}

func (l *Line) answer(call Call) (llm.Reply, error) {
	switch {
	case l.Fail != nil:
		f := *l.Fail
		f.Attempts = max(f.Attempts, 1)
		return llm.Reply{}, &f
	case l.Body != nil && !json.Valid(l.Body):
		return llm.Reply{}, &llm.Failure{Class: llm.Malformed, Status: 200, Attempts: 1}
	case l.Body != nil:
		return llm.Reply{Body: append([]byte(nil), l.Body...), Attempts: 1}, nil
	}
	choice := map[string]any{"index": 0, "finish_reason": "stop"}
	object := "text_completion"
	if call.Path == llm.ChatPath {
		object = "chat.completion"
		choice["message"] = map[string]any{"role": "assistant", "content": l.Text}
	} else {
		choice["text"] = l.Text
	}
	in, out := words(call.Prompt), words(l.Text)
	body, err := json.Marshal(map[string]any{
		"id": "scripted", "object": object, "created": 0, "model": call.Model, "provider": "scripted", "choices": []any{choice},
		"usage": map[string]any{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out, "cost": l.Cost},
	})
	if err != nil {
		panic(fmt.Sprintf("scripted: a line that has no JSON form: %v", err)) // a cost that is no number
	}
	return llm.Reply{Body: body, Attempts: 1}, nil
}

// words is what this driver counts as tokens.
func words(s string) int { return len(strings.Fields(s)) }
