package tiny_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"assay/core/fault"
	"assay/core/money"
	"assay/llm"
	"assay/llm/llmtest"
	"assay/llm/tiny"
)

func server(t testing.TB) *tiny.Server {
	t.Helper()
	s, err := tiny.New(tiny.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	s := server(t)
	llmtest.Run(t, func(*testing.T) llmtest.Subject {
		return llmtest.Subject{Client: s.Client(), Model: "assay/tiny"}
	})
}

// post sends a request and returns its status and body.
func post(t testing.TB, s *tiny.Server, path, body string) (int, []byte) {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
	return w.Code, w.Body.Bytes()
}

type reply struct {
	Object  string
	Model   string
	Choices []struct {
		Finish  *string `json:"finish_reason"`
		Text    string
		Message struct{ Role, Content string }
		Delta   struct{ Role, Content string }
		// One of the two forms.
		Logprobs *struct {
			Tokens  []string
			Logps   []float64            `json:"token_logprobs"`
			Top     []map[string]float64 `json:"top_logprobs"`
			Offsets []int                `json:"text_offset"`
			Content []struct {
				Token string
				Logp  float64 `json:"logprob"`
				Bytes []int
				Top   []struct {
					Token string
					Logp  float64 `json:"logprob"`
				} `json:"top_logprobs"`
			}
		}
	}
	Usage *struct {
		Prompt     int      `json:"prompt_tokens"`
		Completion int      `json:"completion_tokens"`
		Total      int      `json:"total_tokens"`
		Cost       *float64 `json:"cost"`
	}
}

func good(t testing.TB, s *tiny.Server, path, body string) reply {
	t.Helper()
	status, got := post(t, s, path, body)
	var r reply
	if err := json.Unmarshal(got, &r); err != nil || status != 200 || len(r.Choices) != 1 {
		t.Fatalf("status %d, error %v, body %s", status, err, got)
	}
	return r
}

func TestCompletion(t *testing.T) {
	s := server(t)
	body := `{"model":"assay/tiny","prompt":"And the LORD said unto ","max_tokens":40,"temperature":0.0,"top_p":1.0,"top_k":-1,"seed":0,"n":1,"stream":false}`
	r := good(t, s, "/v1/completions", body)
	if r.Model != "assay/tiny" || r.Object != "text_completion" || len(r.Choices[0].Text) != 40 || *r.Choices[0].Finish != "length" {
		t.Errorf("reply %+v", r)
	}
	if r.Usage.Prompt != 23 || r.Usage.Completion != 40 || r.Usage.Total != 63 || r.Usage.Cost != nil {
		t.Errorf("usage %+v, want 23 and 40 tokens and no cost, which was not asked for", r.Usage)
	}
	_, a := post(t, s, "/v1/completions", body)
	_, b := post(t, server(t), "/v1/completions", body)
	if !bytes.Equal(a, b) {
		t.Errorf("two servers answer\n%s\n%s", a, b)
	}
}

func TestChatReportsItsCost(t *testing.T) {
	r := good(t, server(t), "/v1/chat/completions", `{"model":"assay/tiny","temperature":0.0,"messages":[{"role":"user","content":"In the beginning"}],
		"provider":{"allow_fallbacks":false,"require_parameters":true,"sort":"price"},"usage":{"include":true},"stream":false}`)
	want := (money.Tokens(17, money.Dollar/10) + money.Tokens(int64(r.Usage.Completion), 4*money.Dollar/10)).Dollars()
	if r.Usage.Prompt != 17 || r.Usage.Completion != 256 || r.Usage.Cost == nil || *r.Usage.Cost != want || want <= 0 {
		t.Errorf("usage %+v, want a cost of %v", r.Usage, want)
	}
	if c := r.Choices[0]; c.Message.Role != "assistant" || c.Message.Content == "" {
		t.Errorf("message %+v", c.Message)
	}
}

func TestSeedAndTemperature(t *testing.T) {
	s := server(t)
	text := func(model, more string) string {
		return good(t, s, "/v1/completions", `{"model":"`+model+`","prompt":"And he ","max_tokens":60`+more+`}`).Choices[0].Text
	}
	hot := text("assay/tiny-hot", `,"seed":1`)
	if hot != text("assay/tiny-hot", `,"seed":1`) || hot == text("assay/tiny-hot", `,"seed":2`) {
		t.Error("a text must hang on its seed and on nothing else")
	}
	cold := text("assay/tiny", ``)
	for _, more := range []string{`,"temperature":0`, `,"temperature":1.5,"top_k":1`, `,"temperature":2,"top_p":1e-9,"seed":5`} {
		if got := text("assay/tiny-hot", more); got != cold {
			t.Errorf("%s: %q, want the greedy text %q", more, got, cold)
		}
	}
}

func TestStop(t *testing.T) {
	s := server(t)
	full := good(t, s, "/v1/completions", `{"model":"assay/tiny","prompt":"And the ","max_tokens":80}`).Choices[0].Text
	stop := full[20:23]
	at := strings.Index(full, stop)
	for _, form := range []string{`"` + stop + `"`, `["no such words","` + stop + `"]`} {
		r := good(t, s, "/v1/completions", `{"model":"assay/tiny","prompt":"And the ","max_tokens":80,"logprobs":0,"stop":`+form+`}`)
		if c := r.Choices[0]; c.Text != full[:at] || *c.Finish != "stop" || r.Usage.Completion != at+len(stop) || len(c.Logprobs.Tokens) != at {
			t.Errorf("stop %s: %q, %s, %d tokens, %d log-probabilities; want %q", form, c.Text, *c.Finish, r.Usage.Completion, len(c.Logprobs.Tokens), full[:at])
		}
	}
}

func TestLogprobs(t *testing.T) {
	s := server(t)
	r := good(t, s, "/v1/completions", `{"model":"assay/tiny","prompt":"And the ","max_tokens":12,"logprobs":5}`)
	l := r.Choices[0].Logprobs
	if l == nil || strings.Join(l.Tokens, "") != r.Choices[0].Text || len(l.Logps) != 12 || len(l.Top) != 12 {
		t.Fatalf("log-probabilities %+v of %q", l, r.Choices[0].Text)
	}
	for i, logp := range l.Logps {
		best, sum := math.Inf(-1), 0.0
		for _, p := range l.Top[i] {
			best, sum = max(best, p), sum+math.Exp(p)
		}
		if len(l.Top[i]) != 5 || logp != best || l.Top[i][l.Tokens[i]] != logp || sum > 1+1e-9 || l.Offsets[i] != i {
			t.Errorf("token %d: %v of %v (greedy takes the likeliest)", i, logp, l.Top[i])
		}
	}
	r = good(t, s, "/v1/chat/completions", `{"model":"assay/tiny","messages":[{"role":"user","content":"And"}],"max_tokens":3,"logprobs":true,"top_logprobs":2}`)
	c := r.Choices[0].Logprobs.Content
	if len(c) != 3 || len(c[0].Top) != 2 || c[0].Top[0].Token != c[0].Token || c[0].Top[0].Logp != c[0].Logp || c[0].Logp > 0 || len(c[0].Bytes) != 1 || string(rune(c[0].Bytes[0])) != c[0].Token {
		t.Errorf("log-probabilities %+v", c)
	}
}

// events reads a stream to its end.
func events(t *testing.T, s *tiny.Server, path, body string) (text string, all []reply) {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" || !strings.HasSuffix(w.Body.String(), "data: [DONE]\n\n") {
		t.Fatalf("status %d, header %v, body %s", w.Code, w.Header(), w.Body)
	}
	lines := bufio.NewScanner(w.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var r reply
		if err := json.Unmarshal([]byte(data), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
		for _, c := range r.Choices {
			text += c.Text + c.Delta.Content
		}
	}
	return text, all
}

func TestAStreamSaysWhatAWholeReplySays(t *testing.T) {
	s := server(t)
	for path, body := range map[string]string{
		"/v1/completions":      `"prompt":"And the","max_tokens":50,"seed":3,"temperature":2,"logprobs":1,"stop":["zz","e t"]`,
		"/v1/chat/completions": `"messages":[{"role":"user","content":"größe"}],"max_tokens":50,"seed":7,"temperature":2`,
	} {
		whole := good(t, s, path, `{"model":"assay/tiny",`+body+`}`)
		text, all := events(t, s, path, `{"model":"assay/tiny",`+body+`,"stream":true,"stream_options":{"include_usage":true}}`)
		want := whole.Choices[0].Text + whole.Choices[0].Message.Content
		last, bill := all[len(all)-2], all[len(all)-1]
		if text != want || *last.Choices[0].Finish != *whole.Choices[0].Finish {
			t.Errorf("%s: streamed %q, %v; whole %q, %v", path, text, *last.Choices[0].Finish, want, *whole.Choices[0].Finish)
		}
		if diff := cmp.Diff(whole.Usage, bill.Usage); diff != "" || len(bill.Choices) != 0 || len(all) < 10 {
			t.Errorf("%s: usage differs (%d events):\n%s", path, len(all), diff)
		}
		if l := whole.Choices[0].Logprobs; l != nil {
			n := 0
			for _, e := range all[:len(all)-1] {
				n += len(e.Choices[0].Logprobs.Tokens)
			}
			if n != len(l.Tokens) {
				t.Errorf("%s: %d log-probabilities streamed, %d whole", path, n, len(l.Tokens))
			}
		}
	}
	if _, all := events(t, s, "/v1/completions", `{"model":"assay/tiny","prompt":"a","stream":true}`); all[len(all)-1].Usage != nil {
		t.Error("usage was told unasked")
	}
}

func TestRefusals(t *testing.T) {
	s := server(t)
	const chat, completion = "/v1/chat/completions", "/v1/completions"
	for name, tc := range map[string]struct {
		path, body string
		status     int
		code       string
	}{
		"unknown model":      {completion, `{"model":"gpt","prompt":"x"}`, 404, "model_not_found"},
		"no model":           {chat, `{"messages":[{"content":"x"}]}`, 404, "model_not_found"},
		"no JSON":            {completion, `{`, 400, "malformed"},
		"null":               {completion, `null`, 400, "malformed"},
		"a list of prompts":  {completion, `{"model":"assay/tiny","prompt":["x"]}`, 400, "malformed"},
		"no prompt":          {completion, `{"model":"assay/tiny"}`, 400, "invalid_value"},
		"no messages":        {chat, `{"model":"assay/tiny","messages":[]}`, 400, "invalid_value"},
		"two choices":        {chat, `{"model":"assay/tiny","messages":[{"content":"x"}],"n":2}`, 400, "invalid_value"},
		"no tokens":          {completion, `{"model":"assay/tiny","prompt":"x","max_tokens":0}`, 400, "invalid_value"},
		"temperature":        {completion, `{"model":"assay/tiny","prompt":"x","temperature":-1}`, 400, "invalid_value"},
		"top_p":              {completion, `{"model":"assay/tiny","prompt":"x","top_p":0}`, 400, "invalid_value"},
		"an empty stop":      {completion, `{"model":"assay/tiny","prompt":"x","stop":[""]}`, 400, "invalid_value"},
		"five stops":         {completion, `{"model":"assay/tiny","prompt":"x","stop":["a","b","c","d","e"]}`, 400, "invalid_value"},
		"a stop of numbers":  {completion, `{"model":"assay/tiny","prompt":"x","stop":[1]}`, 400, "invalid_value"},
		"echo":               {completion, `{"model":"assay/tiny","prompt":"x","echo":true}`, 400, "invalid_value"},
		"logprobs true":      {completion, `{"model":"assay/tiny","prompt":"x","logprobs":true}`, 400, "invalid_value"},
		"logprobs a number":  {chat, `{"model":"assay/tiny","messages":[{"content":"x"}],"logprobs":1}`, 400, "invalid_value"},
		"too many logprobs":  {completion, `{"model":"assay/tiny","prompt":"x","logprobs":21}`, 400, "invalid_value"},
		"a prompt too long":  {completion, `{"model":"assay/tiny","prompt":"` + strings.Repeat("x", tiny.MaxPrompt+1) + `"}`, 400, "context_length_exceeded"},
		"a body too long":    {completion, `{"model":"assay/tiny","prompt":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "too_large"},
		"another path":       {"/v1/embeddings", `{}`, 404, "not_found"},
		"a path for reading": {"/v1/models", `{}`, 404, "not_found"},
	} {
		for _, stream := range []string{"", `"stream":true,`} {
			body := tc.body
			if strings.HasPrefix(body, `{"`) {
				body = `{` + stream + body[1:]
			}
			status, got := post(t, s, tc.path, body)
			var d struct {
				Error struct{ Message, Type, Code string }
			}
			if err := json.Unmarshal(got, &d); err != nil || status != tc.status || d.Error.Code != tc.code || d.Error.Message == "" || d.Error.Type == "" {
				t.Errorf("%s: status %d, %s (%v); want %d, %s", name, status, got, err, tc.status, tc.code)
			}
		}
	}
}

func TestModelsListForACatalog(t *testing.T) {
	w := httptest.NewRecorder()
	server(t).ServeHTTP(w, httptest.NewRequest("GET", "/v1/models", nil))
	var d struct {
		Data []struct {
			ID      string
			Context int `json:"context_length"`
			Pricing struct{ Prompt, Completion string }
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || len(d.Data) != 2 {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if m := d.Data[0]; m.ID != "assay/tiny" || m.Context != tiny.MaxPrompt || m.Pricing.Prompt != "0.0000001" || m.Pricing.Completion != "0.0000004" {
		t.Errorf("row %+v", m)
	}
	if m := d.Data[1]; m.Pricing.Prompt != "0.000001" {
		t.Errorf("row %+v", m)
	}
}

func TestALongConductorPromptIsTaken(t *testing.T) {
	prompt := strings.Repeat("openai/gpt / 1.25 / 10 / 400000\\n", 1000)
	r := good(t, server(t), "/v1/completions", `{"model":"assay/tiny","prompt":"`+prompt+`","max_tokens":5}`)
	if r.Usage.Prompt != 32_000 || r.Usage.Completion != 5 {
		t.Errorf("usage %+v", r.Usage)
	}
	// An empty prompt and a wish beyond the limit are taken too.
	r = good(t, server(t), "/v1/completions", `{"model":"assay/tiny","prompt":"","max_tokens":100000,"temperature":2,"stop":"e"}`)
	if r.Usage.Completion > tiny.MaxTokens || !utf8.ValidString(r.Choices[0].Text) {
		t.Errorf("usage %+v", r.Usage)
	}
}

func TestRequestsAtOnceDoNotMix(t *testing.T) {
	s, err := tiny.New(tiny.Options{Parallel: 3})
	if err != nil {
		t.Fatal(err)
	}
	body := func(i int) string {
		return `{"model":"assay/tiny","prompt":"` + strings.Repeat("And the ", i+1) + `","max_tokens":6,"seed":` + string(rune('0'+i)) + `,"temperature":1}`
	}
	var want [4]string
	for i := range want {
		want[i] = good(t, s, "/v1/completions", body(i)).Choices[0].Text
	}
	var wg sync.WaitGroup
	for i := range want {
		wg.Go(func() {
			status, got := post(t, s, "/v1/completions", body(i))
			var r reply
			if err := json.Unmarshal(got, &r); err != nil || status != 200 || r.Choices[0].Text != want[i] {
				t.Errorf("request %d: %s", i, got)
			}
		})
	}
	wg.Wait()
}

func TestCancellingEndsAGeneration(t *testing.T) {
	s, err := tiny.New(tiny.Options{Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	defer h.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "POST", h.URL+"/v1/completions", strings.NewReader(`{"model":"assay/tiny","prompt":"a","max_tokens":1024,"stream":true}`))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resp.Body.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err = io.ReadAll(resp.Body)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the stream ended with %v", err)
	}
	_ = resp.Body.Close()
	good(t, s, "/v1/completions", `{"model":"assay/tiny","prompt":"a","max_tokens":1}`) // the only slot is free again
	waiting, stop := context.WithCancel(t.Context())
	stop()
	if _, err := s.Client().Send(waiting, llm.Request{Path: llm.CompletionPath, Body: []byte(`{"model":"assay/tiny","prompt":"a"}`)}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestNewRefusesBadModels(t *testing.T) {
	for _, models := range [][]tiny.Model{{{}}, {{Name: "a"}, {Name: "a"}}, {{Name: "a", In: -1}}, {{Name: "a", Temperature: 3}}} {
		if _, err := tiny.New(tiny.Options{Models: models}); fault.Of(err) != tiny.BadModels {
			t.Errorf("%+v: %v", models, err)
		}
	}
	if _, err := tiny.New(tiny.Options{Weights: []byte("nonsense")}); fault.Of(err) != tiny.BadWeights {
		t.Errorf("bad weights: %v", err)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add(`{"model":"assay/tiny","prompt":"a","max_tokens":2,"stop":"b","logprobs":2}`, false)
	f.Add(`{"model":"assay/tiny","messages":[{"content":"\ud800"}],"max_tokens":1,"stream":true,"usage":{"include":true}}`, true)
	f.Add(`{"model":"assay/tiny-hot","prompt":"","max_tokens":1,"temperature":1e-300,"top_p":1e-300,"top_k":3,"seed":-1}`, false)
	s := server(f)
	f.Fuzz(func(t *testing.T, body string, chat bool) {
		path := "/v1/completions"
		if chat {
			path = "/v1/chat/completions"
		}
		if status, got := post(t, s, path, body); status != 200 && !json.Valid(got) || status >= 500 || len(got) == 0 {
			t.Fatalf("status %d: %q", status, got)
		}
	})
}

func BenchmarkConductorTurn(b *testing.B) {
	s := server(b)
	body := `{"model":"assay/tiny","prompt":"` + strings.Repeat("openai/gpt / 1.25 / 10 / 400000\\n", 300) + `","max_tokens":32}`
	for b.Loop() {
		if status, got := post(b, s, "/v1/completions", body); status != 200 {
			b.Fatalf("%s", got)
		}
	}
}
