package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/llm"
	"assay/llm/llmtest"
	"assay/llm/scripted"
)

func TestConformance(t *testing.T) {
	llmtest.Run(t, func(*testing.T) llmtest.Subject {
		return llmtest.Subject{Client: scripted.New(scripted.Line{Model: "a/b", Text: "STOP", Cost: 0.01}), Model: "a/b"}
	})
}

func ask(t *testing.T, c *scripted.Client, path, model, words string) (string, *llm.Failure) {
	t.Helper()
	b, err := json.Marshal(map[string]any{"model": model, "prompt": words, "messages": []any{map[string]any{"content": words}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Send(context.Background(), llm.Request{Path: path, Body: b})
	var f *llm.Failure
	if err != nil && !errors.As(err, &f) {
		t.Fatal(err)
	}
	if f != nil {
		return "", f
	}
	var d struct {
		Choices []struct {
			Text    string
			Message struct{ Content string }
		}
	}
	if err := json.Unmarshal(r.Body, &d); err != nil {
		t.Fatal(err)
	}
	return d.Choices[0].Text + d.Choices[0].Message.Content, nil
}

func TestTheFirstFittingLineAnswers(t *testing.T) {
	c := scripted.New(
		scripted.Line{Path: llm.CompletionPath, Text: "conductor once", Times: 1},
		scripted.Line{Path: llm.CompletionPath, Text: "conductor"},
		scripted.Line{Model: "a/b", Prompt: "2+2", Text: "4"},
		scripted.Line{Model: "a/b", Text: "other"},
		scripted.Line{Model: "down/down", Fail: &llm.Failure{Class: llm.Busy, Status: 503}},
		scripted.Line{Model: "junk/junk", Body: []byte("<html>")},
	)
	var got []string
	for _, q := range [][3]string{
		{llm.CompletionPath, "x", "p"}, {llm.CompletionPath, "x", "p"}, {llm.ChatPath, "a/b", "what is 2+2?"}, {llm.ChatPath, "a/b", "why"},
		{llm.ChatPath, "down/down", ""}, {llm.ChatPath, "junk/junk", ""}, {llm.ChatPath, "c/d", ""},
	} {
		text, f := ask(t, c, q[0], q[1], q[2])
		if f != nil {
			text = f.Class.String()
		}
		got = append(got, text)
	}
	if diff := cmp.Diff([]string{"conductor once", "conductor", "4", "other", "busy", "malformed", "rejected"}, got); diff != "" {
		t.Error(diff)
	}
	if calls := c.Calls(); len(calls) != 7 || calls[2].Prompt != "what is 2+2?" || calls[2].Model != "a/b" {
		t.Errorf("calls %+v", calls)
	}
}

func TestFailStrikesOnceAtItsStep(t *testing.T) {
	for step, left := range map[string]string{scripted.Send: "first", scripted.Reply: "second"} {
		c := scripted.New(scripted.Line{Text: "first", Times: 1}, scripted.Line{Text: "second"})
		c.Fail(step, &llm.Failure{Class: llm.Transport})
		if _, f := ask(t, c, llm.ChatPath, "a/b", ""); f == nil || f.Class != llm.Transport || f.Attempts != 1 {
			t.Errorf("%s: failure %+v", step, f)
		}
		if text, f := ask(t, c, llm.ChatPath, "a/b", ""); f != nil || text != left {
			t.Errorf("%s: then %q, %v; want %q", step, text, f, left)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a step that does not exist was taken")
		}
	}()
	scripted.New().Fail("sned", nil)
}
