// Package worker builds what a worker model is sent and reads what it answers.
//
// Invariants:
//   - A request is a function of a pinned task, a model of the snapshot and the observations; there is no type through which
//     a Conductor's words could enter it.
//   - Its bytes can be recomputed by anyone from what is published.
//   - A failure never becomes an empty answer.
//
// Specification: docs/spec/worker-request.md.
package worker

import (
	"assay/conductor/catalog"
	"assay/conductor/reading"
	"assay/conductor/task"
	"assay/core/canon"
	"assay/core/digest"
)

// Request is one call of one worker. The zero Request is refused by every consumer.
type Request struct {
	task  task.Pinned
	model catalog.ModelID
	seen  []reading.Observation
}

// NewRequest makes the first request of a delegate: the task's statement to the model. Zero arguments are a broken invariant.
func NewRequest(t task.Pinned, m catalog.ModelID) Request {
	if t.IsZero() || m.IsZero() {
		panic("worker: a request needs a pinned task and a model of the snapshot")
	}
	return Request{task: t, model: m}
}

// Observe returns the delegate's next request, with one observation more.
func (r Request) Observe(o reading.Observation) Request {
	r.seen = append(r.seen[:len(r.seen):len(r.seen)], o)
	return r
}

// IsZero reports whether r is no request.
func (r Request) IsZero() bool { return r.task.IsZero() }

// Task returns the pinned task.
func (r Request) Task() task.Pinned { return r.task }

// Model returns the model that is asked.
func (r Request) Model() catalog.ModelID { return r.model }

// Observations returns what has been read so far. The caller must not change the slice.
func (r Request) Observations() []reading.Observation { return r.seen }

// Text returns the text of the one user message.
func (r Request) Text() string { return reading.Compose(r.task.Prompt(), r.seen) }

// Digest returns the hexadecimal SHA-256 of the text's bytes.
func (r Request) Digest() string { return digest.HexOfBytes([]byte(r.Text())) }

// Body returns the request body, in the ASCII canonical form.
func (r Request) Body() []byte { return ChatBody(r.model.String(), r.Text(), nil) }

// ChatBody returns the body that asks model with text as the only user message. Nothing in params can change a pinned member.
//
//	{"messages":[{"content":"…","role":"user"}],"model":"a/b","provider":{"allow_fallbacks":false,"require_parameters":true,
//	"sort":"price"},"stream":false,"temperature":0.0,"usage":{"include":true}}
func ChatBody(model, text string, params canon.Object) []byte {
	o := canon.Object{"temperature": 0.0}
	for k, v := range params {
		o[k] = v
	}
	o["model"] = model
	o["messages"] = []any{canon.Object{"role": "user", "content": text}}
	o["provider"] = canon.Object{"allow_fallbacks": false, "require_parameters": true, "sort": "price"}
	o["usage"] = canon.Object{"include": true}
	o["stream"] = false
	b, err := canon.ASCII(o)
	if err != nil {
		panic("worker: pinned tasks and snapshot ids are UTF-8: " + err.Error())
	}
	return b
}
