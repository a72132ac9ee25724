package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"assay/llm"
)

// exchange makes up to Attempts tries within one budget.
func (c *Client) exchange(parent context.Context, method string, r llm.Request) (llm.Reply, error) {
	ctx, cancel := context.WithTimeout(parent, c.o.Budget)
	defer cancel()
	for try := 1; ; try++ {
		text, f := c.try(ctx, method, r)
		if f == nil {
			return llm.Reply{Body: text, Attempts: try}, nil
		}
		f.Attempts = try
		if err := c.ended(parent, ctx, f); err != nil {
			return llm.Reply{}, err
		}
		if try >= c.o.Attempts || !again(f) {
			return llm.Reply{}, f
		}
		if c.o.Sleep(ctx, c.o.Pause) != nil {
			if err := c.ended(parent, ctx, f); err != nil {
				return llm.Reply{}, err
			}
			return llm.Reply{}, f
		}
	}
}

// ended tells the end of the caller's context from the end of this exchange's own budget; nil when both still run.
func (c *Client) ended(parent, ctx context.Context, f *llm.Failure) error {
	if err := parent.Err(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return &llm.Failure{Class: llm.Deadline, Status: f.Status, Message: f.Message, Attempts: f.Attempts, Cause: f.Cause}
	}
	return nil
}

// again is the retry rule.
func again(f *llm.Failure) bool {
	return f.Class == llm.Busy || f.Class == llm.Transport || f.Class == llm.Malformed
}

func (c *Client) try(ctx context.Context, method string, r llm.Request) ([]byte, *llm.Failure) {
	u := *c.base
	u.Path += r.Path
	req := &http.Request{
		Method: method, URL: &u, Host: c.base.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Accept": {"application/json"}},
	}
	if method == http.MethodPost {
		req.Header["Content-Type"] = []string{"application/json"}
		req.ContentLength = int64(len(r.Body))
		req.Body = io.NopCloser(bytes.NewReader(r.Body))
		// Lets the pool repeat a request on a fresh connection when an idle one was already closed by the other side.
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.Body)), nil }
	}
	if r.Key != "" {
		req.Header["Idempotency-Key"] = []string{r.Key}
	}
	if !c.o.Key.IsZero() {
		req.Header["Authorization"] = []string{"Bearer " + c.o.Key.Reveal()}
	}
	resp, err := c.http.Do(req.WithContext(ctx))
	if err != nil {
		return nil, &llm.Failure{Class: llm.Transport, Cause: c.hide(err)}
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, c.refused(ctx, resp)
	}
	text, err := read(ctx, resp.Body, c.o.MaxBody, resp.ContentLength)
	switch {
	case errors.Is(err, errTooLong):
		return nil, &llm.Failure{Class: llm.TooLarge, Status: http.StatusOK, Cause: err}
	case err != nil:
		return nil, &llm.Failure{Class: llm.Transport, Status: http.StatusOK, Cause: c.hide(err)}
	case !json.Valid(text):
		return nil, &llm.Failure{Class: llm.Malformed, Status: http.StatusOK, Message: c.message(text)}
	}
	return text, nil
}

var errTooLong = errors.New("the body is longer than allowed")

// read reads a body of at most limit bytes. It looks at ctx between chunks, so that a body that trickles, which keeps
// every read short of a timeout, still ends with the budget. hint is the announced length, -1 where unknown.
func read(ctx context.Context, r io.Reader, limit, hint int64) ([]byte, error) {
	if hint > limit {
		return nil, errTooLong
	}
	const first = 4 << 10
	buf := make([]byte, 0, max(hint+1, first)) // one byte more, so that the end is seen without growing
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return nil, errTooLong
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
	}
}
