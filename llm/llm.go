// Package llm is the contract of everything that answers a prompt: one exchange with one endpoint.
//
// Invariants:
//   - Send returns a reply whose body is a complete JSON text, or a *Failure; a failure never becomes an empty answer.
//   - A driver retries what its class allows inside one deadline and says how often it tried.
//   - The body is sent byte for byte as it was given.
package llm

import (
	"context"
	"fmt"
)

// Paths of the two endpoints, relative to a base such as http://127.0.0.1:8089/v1.
const (
	ChatPath       = "chat/completions"
	CompletionPath = "completions"
)

// Request is one exchange.
type Request struct {
	Path string // ChatPath or CompletionPath
	Body []byte // JSON, sent as it is
	// Key, when set, names the exchange: an endpoint that knows the header Idempotency-Key answers a repeated key as before
	// and charges nothing for it.
	Key string
}

// Reply is what came back with status 200.
type Reply struct {
	Body     []byte // one complete JSON text
	Attempts int    // tries made, the successful one included
}

// Client is one endpoint.
type Client interface {
	// Send makes the exchange. Its error is a *Failure, or ctx's error when ctx ended.
	Send(ctx context.Context, r Request) (Reply, error)
}

// Class says what a failure means for whoever pays.
type Class uint8

// The classes.
const (
	Transport Class = iota // no usable reply: connection, TLS, cut body
	Busy                   // 408, 429 or 5xx, still so at the last try
	Deadline               // the time ran out, also while a body trickled
	Malformed              // 200 whose body is not one JSON text
	Unfunded               // 401 or 402: the key or its money; never an outcome of the model
	Rejected               // any other status that says no
	TooLarge               // the body exceeded the limit
)

// String returns the class's name.
func (c Class) String() string {
	names := [...]string{"transport", "busy", "deadline", "malformed", "unfunded", "rejected", "too large"}
	if int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("class(%d)", c)
}

// Failure is an exchange that gave no reply.
type Failure struct {
	Class    Class
	Status   int    // HTTP status, 0 where there was none
	Message  string // the provider's words, redacted and clipped to 160 characters; may be empty
	Attempts int    // tries made
	Cause    error  // private
}

// Error describes the failure in one line.
func (f *Failure) Error() string {
	s := f.Class.String()
	if f.Status != 0 {
		s = fmt.Sprintf("%s: status %d", s, f.Status)
	}
	if f.Message != "" {
		s += ": " + f.Message
	} else if f.Cause != nil {
		s += ": " + f.Cause.Error()
	}
	return s
}

// Unwrap returns the private cause.
func (f *Failure) Unwrap() error { return f.Cause }
