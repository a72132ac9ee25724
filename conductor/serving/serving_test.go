package serving_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay/conductor"
	"assay/conductor/serving"
	"assay/core/fault"
)

func TestBehaviourV1_BodyIsExactlyThePinnedRequest(t *testing.T) {
	got := string(serving.Body("v3-a@b", "größe\n\"x\"\\ 😀"))
	want := `{"max_tokens":576,"model":"v3-a@b","n":1,"prompt":"gr\u00f6\u00dfe\n\"x\"\\ \ud83d\ude00","seed":0,"stream":false,"temperature":0.0,"top_k":-1,"top_p":1.0}`
	if got != want {
		t.Errorf("body\n%s\nwant\n%s", got, want)
	}
}

func TestBodyCarriesAnyPrompt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model, prompt := rapid.String().Draw(t, "model"), rapid.String().Draw(t, "prompt")
		var back struct {
			Model, Prompt string
			N             int
			MaxTokens     int `json:"max_tokens"`
		}
		if err := json.Unmarshal(serving.Body(model, prompt), &back); err != nil {
			t.Fatal(err)
		}
		if back.Model != model || back.Prompt != prompt || back.N != 1 || back.MaxTokens != serving.MaxTokens {
			t.Fatalf("came back as %+v", back)
		}
	})
}

func TestBehaviourV2_PromptMustBeginWithThePinnedInstructions(t *testing.T) {
	if err := serving.Check("Pick one.\n# CATALOG", "Pick one.\n"); err != nil {
		t.Errorf("pinned prompt refused: %v", err)
	}
	for _, prompt := range []string{"", "Pick one", " Pick one.\n# CATALOG", "pick one.\n# CATALOG"} {
		if err := serving.Check(prompt, "Pick one.\n"); fault.Of(err) != conductor.NotPinned {
			t.Errorf("Check(%q) = %v, want not pinned", prompt, err)
		}
	}
	if err := serving.Check("anything", ""); fault.Of(err) != conductor.NotPinned {
		t.Errorf("empty instructions: %v, want not pinned", err)
	}
}

func TestRead(t *testing.T) {
	names := []string{"m@1", "alias"}
	for name, tc := range map[string]struct {
		body string
		code fault.Code
		want serving.Completion
	}{
		"V3 another model":                {`{"model":"m@2","choices":[{"text":"STOP"}]}`, conductor.WrongModel, serving.Completion{}},
		"V3 a longer name":                {`{"model":"m@1x","choices":[{"text":"STOP"}]}`, conductor.WrongModel, serving.Completion{}},
		"V3 an empty name":                {`{"model":"","choices":[{"text":"STOP"}]}`, conductor.WrongModel, serving.Completion{}},
		"V3 no name":                      {`{"choices":[{"text":"STOP"}]}`, conductor.BadCompletion, serving.Completion{}},
		"V3 an advertised alias":          {`{"model":"alias","choices":[{"text":"STOP"}]}`, fault.Code{}, serving.Completion{Text: "STOP", Model: "alias", Tokens: -1, PromptTokens: -1}},
		"V4 no choice":                    {`{"model":"m@1","choices":[]}`, conductor.BadCompletion, serving.Completion{}},
		"V4 two choices":                  {`{"model":"m@1","choices":[{"text":"a"},{"text":"b"}]}`, conductor.BadCompletion, serving.Completion{}},
		"V4 text null":                    {`{"model":"m@1","choices":[{"text":null}]}`, conductor.BadCompletion, serving.Completion{}},
		"V4 text a number":                {`{"model":"m@1","choices":[{"text":1}]}`, conductor.BadCompletion, serving.Completion{}},
		"V4 a chat message":               {`{"model":"m@1","choices":[{"message":{"content":"STOP"}}]}`, conductor.BadCompletion, serving.Completion{}},
		"V4 choice no object":             {`{"model":"m@1","choices":["STOP"]}`, conductor.BadCompletion, serving.Completion{}},
		"V5 cut by the limit":             {`{"model":"m@1","choices":[{"text":"DELEG","finish_reason":"length"}],"usage":{"prompt_tokens":7,"completion_tokens":576}}`, fault.Code{}, serving.Completion{Text: "DELEG", Model: "m@1", Finish: "length", Tokens: 576, PromptTokens: 7}},
		"V6 junk":                         {`<html>busy</html>`, conductor.BadCompletion, serving.Completion{}},
		"V6 nothing":                      {``, conductor.BadCompletion, serving.Completion{}},
		"V6 an error object":              {`{"error":{"message":"over\n\ud83dloaded","code":502}}`, conductor.ProviderError, serving.Completion{Failure: "over\n\ufffdloaded"}},
		"V6 an error beside a good text":  {`{"error":"busy","model":"m@1","choices":[{"text":"STOP"}]}`, conductor.ProviderError, serving.Completion{Failure: "busy"}},
		"V6 an error without a message":   {`{"error":{"code":502},"model":"m@1","choices":[{"text":"STOP"}]}`, conductor.ProviderError, serving.Completion{Failure: `{"code":502}`}},
		"V6 an empty error":               {`{"error":"","model":"m@1","choices":[{"text":"STOP"}]}`, conductor.ProviderError, serving.Completion{Failure: `""`}},
		"V6 an endless error":             {`{"error":"` + strings.Repeat("x", 5000) + `"}`, conductor.ProviderError, serving.Completion{Failure: strings.Repeat("x", 4096) + "…"}},
		"V6 no error":                     {`{"error":null,"model":"m@1","choices":[{"text":"STOP"}]}`, fault.Code{}, serving.Completion{Text: "STOP", Model: "m@1", Tokens: -1, PromptTokens: -1}},
		"V6 a generation that broke off":  {`{"model":"m@1","choices":[{"text":"STOP","finish_reason":"error"}]}`, conductor.GenerationFailed, serving.Completion{}},
		"V6 two values":                   {`{"model":"m@1","choices":[{"text":"a"}]}{}`, conductor.BadCompletion, serving.Completion{}},
		"V6 a member twice":               {`{"model":"m@1","model":"m@1","choices":[{"text":"a"}]}`, conductor.BadCompletion, serving.Completion{}},
		"V7 blanks around are kept":       {`{"model":"m@1","choices":[{"text":" STOP\n "}],"usage":null}`, fault.Code{}, serving.Completion{Text: " STOP\n ", Model: "m@1", Tokens: -1, PromptTokens: -1}},
		"an empty text is a text":         {`{"model":"m@1","choices":[{"text":""}],"usage":{"completion_tokens":0}}`, fault.Code{}, serving.Completion{Model: "m@1", PromptTokens: -1}},
		"unreadable counts are unknown":   {`{"model":"m@1","choices":[{"text":"a"}],"usage":{"completion_tokens":"5","prompt_tokens":-2}}`, fault.Code{}, serving.Completion{Text: "a", Model: "m@1", Tokens: -1, PromptTokens: -1}},
		"half a surrogate pair is a sign": {`{"model":"m@1","choices":[{"text":"\udc00STOP"}]}`, fault.Code{}, serving.Completion{Text: "\ufffdSTOP", Model: "m@1", Tokens: -1, PromptTokens: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := serving.Read([]byte(tc.body), names)
			if diff := cmp.Diff(tc.want, got); fault.Of(err) != tc.code || diff != "" {
				t.Errorf("error %v, want %q; completion differs (-want +got):\n%s", err, tc.code.Name(), diff)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"model":"m","choices":[{"text":"STOP"}],"usage":{"completion_tokens":2}}`))
	f.Add([]byte(`{"model":"m","choices":[{"text":"\ud83d"}]}`))
	f.Add([]byte(`{"model":"n","choices":null}`))
	f.Add([]byte(`{"error":{"message":"\udc00"}}`))
	f.Add([]byte(`{"model":"m","choices":[{"text":"a","finish_reason":"error"}]}`))
	names := []string{"m", "alias"}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := serving.Read(body, names)
		switch {
		case err != nil && c != serving.Completion{Failure: c.Failure} || !utf8.ValidString(c.Failure):
			t.Fatalf("%+v beside %v", c, err)
		case err == nil && (!slices.Contains(names, c.Model) || c.Tokens < serving.Unknown):
			t.Fatalf("read %+v", c)
		}
	})
}

func BenchmarkBody(b *testing.B) {
	prompt := strings.Repeat("openai/gpt / 1.25 / 10 / 400000\n", 300)
	b.SetBytes(int64(len(prompt)))
	b.ReportAllocs()
	for b.Loop() {
		serving.Body("v3-a@b", prompt)
	}
}
