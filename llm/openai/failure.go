package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"assay/core/text"
	"assay/llm"
)

// maxRefusal is how much of a refusal's body is read for its message, in bytes.
const maxRefusal = 64 << 10

// maxMessage is the longest message that is kept, in bytes.
const maxMessage = 160

// refused reads a reply whose status is not 200.
func (c *Client) refused(ctx context.Context, resp *http.Response) *llm.Failure {
	f := &llm.Failure{Class: class(resp.StatusCode), Status: resp.StatusCode}
	text, err := read(ctx, resp.Body, maxRefusal, -1)
	if err != nil {
		f.Cause = c.hide(err) // the status already says enough
		return f
	}
	f.Message = c.message(text)
	return f
}

func class(status int) llm.Class {
	switch {
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		return llm.Busy
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired:
		return llm.Unfunded
	}
	return llm.Rejected
}

// message finds the provider's words in a body, hides secrets in them, and only then clips: a cut key would not be recognised.
func (c *Client) message(body []byte) string {
	s := c.key.Redact(words(body))
	if c.o.Redactor != nil {
		s = c.o.Redactor.Redact(s)
	}
	return text.Clean(text.Trim(s), maxMessage)
}

// words returns an error's message in the forms that providers use, or the text itself.
func words(body []byte) string {
	var d struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
	}
	if json.Unmarshal(body, &d) != nil && d.Error == nil {
		return string(body)
	}
	var inner struct {
		Message string `json:"message"`
	}
	var plain string
	switch {
	case json.Unmarshal(d.Error, &inner) == nil && inner.Message != "":
		return inner.Message
	case json.Unmarshal(d.Error, &plain) == nil && plain != "":
		return plain
	case d.Message != "":
		return d.Message
	case d.Detail != "":
		return d.Detail
	}
	return string(body)
}

// hide takes the address out of a transport's error (it may carry what an operator pasted into it) and redacts the rest.
func (c *Client) hide(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	return errors.New(c.message([]byte(err.Error())))
}
