package openai_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assay/core/secret"
	"assay/llm"
	"assay/llm/openai"
)

// The two benchmarks make the same exchange over loopback; their difference is what the client adds to a call.

func loopback(b *testing.B) (string, []byte) {
	reply := []byte(`{"choices":[{"message":{"content":"` + strings.Repeat("word ", 400) + `"}}],"usage":{"cost":0.1}}`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(reply)
	}))
	b.Cleanup(server.Close)
	return server.URL, []byte(`{"messages":[{"content":"` + strings.Repeat("word ", 800) + `"}]}`)
}

func BenchmarkSend(b *testing.B) {
	base, body := loopback(b)
	c := newClient(b, openai.Worker(base, secret.New("sk-123456")))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Send(b.Context(), llm.Request{Path: llm.ChatPath, Body: body}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBareHTTP(b *testing.B) {
	base, body := loopback(b)
	h := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	b.ReportAllocs()
	for b.Loop() {
		resp, err := h.Post(base+"/chat/completions", "application/json", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			b.Fatal(err)
		}
		_ = resp.Body.Close()
	}
}
