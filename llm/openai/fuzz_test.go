package openai_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"assay/core/secret"
	"assay/llm"
	"assay/llm/openai"
)

// answers is a carrier that gives one body to every request.
type answers struct {
	status int
	body   string
}

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(a.body)), Request: r,
	}, nil
}

// FuzzBodies reads what an endpoint may answer to a listing, a key report and a call: names are never empty, bounds never
// NaN, and a message of a failure is one short line.
func FuzzBodies(f *testing.F) {
	for _, s := range []string{
		`{"data":[{"id":"a/b"},{"id":7},null]}`, `{"data":{"limit_remaining":1.5,"total_credits":3,"total_usage":1}}`,
		`{"error":{"message":"no \u001b[31m"}}`, `[]`, `{"data":null}`, "\xff", `{"data":{"limit_remaining":1e999}}`,
	} {
		f.Add(200, s)
		f.Add(403, s)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 599 {
			return
		}
		o := openai.Worker("http://127.0.0.1:1/v1", secret.Value{})
		o.Attempts, o.Carrier = 1, answers{status, body}
		c, err := openai.New(o)
		if err != nil {
			t.Fatal(err)
		}
		names, err := c.Models(t.Context())
		for _, n := range names {
			if n == "" || err != nil {
				t.Fatalf("names %q beside %v", names, err)
			}
		}
		if l, err := c.Limits(t.Context()); err == nil && l.LimitRemaining != nil && *l.LimitRemaining != *l.LimitRemaining {
			t.Fatal("a bound that is no number")
		}
		_, err = c.Send(t.Context(), llm.Request{Path: llm.ChatPath, Body: []byte("{}")})
		if fail, ok := err.(*llm.Failure); ok && (len(fail.Message) > 200 || strings.ContainsAny(fail.Message, "\n\x1b")) {
			t.Fatalf("message %q", fail.Message)
		}
	})
}
