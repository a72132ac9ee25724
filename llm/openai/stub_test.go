package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// stub serves both endpoints on loopback for the one model a/b.
func stub(t *testing.T) string {
	serve := func(choice string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			var d struct{ Model string }
			switch err := json.Unmarshal(body, &d); {
			case err != nil || d.Model != "a/b" && d.Model != "" && d.Model != "a/b-absent":
				w.WriteHeader(http.StatusBadRequest)
			case d.Model != "a/b":
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, `{"error":{"message":"no such model"}}`)
			default:
				_, _ = io.WriteString(w, `{"model":"a/b","choices":[`+choice+`],"usage":{"prompt_tokens":3,"completion_tokens":1,"cost":0.001}}`)
			}
		}
	}
	mux := http.NewServeMux()
	mux.Handle("POST /v1/completions", serve(`{"text":"STOP","finish_reason":"stop"}`))
	mux.Handle("POST /v1/chat/completions", serve(`{"message":{"role":"assistant","content":"4"},"finish_reason":"stop"}`))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}
