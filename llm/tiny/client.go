package tiny

import (
	"context"
	"errors"

	"assay/llm"
)

// Client gives the server's answers without HTTP.
func (s *Server) Client() llm.Client { return client{s} }

type client struct{ s *Server }

// Send answers as the HTTP endpoint would. A request that streams is refused.
func (c client) Send(ctx context.Context, r llm.Request) (llm.Reply, error) {
	if err := ctx.Err(); err != nil {
		return llm.Reply{}, err
	}
	if r.Path != llm.ChatPath && r.Path != llm.CompletionPath {
		return llm.Reply{}, failure(unknownPath)
	}
	if len(r.Body) > maxBody {
		return llm.Reply{}, failure(tooLarge)
	}
	p, no := c.s.read(r.Body, r.Path == llm.ChatPath)
	if no == nil && p.stream {
		no = noStream
	}
	if no != nil {
		return llm.Reply{}, failure(no)
	}
	body, err := c.s.complete(ctx, p, r.Body)
	switch {
	case err == nil:
		return llm.Reply{Body: body, Attempts: 1}, nil
	case errors.As(err, &no):
		return llm.Reply{}, failure(no)
	}
	return llm.Reply{}, err
}

func failure(r *refusal) *llm.Failure {
	class := llm.Rejected
	if r.status >= 500 {
		class = llm.Busy
	}
	return &llm.Failure{Class: class, Status: r.status, Message: r.message, Attempts: 1}
}
