package worker_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"assay/conductor"
	"assay/conductor/profile"
	"assay/conductor/worker"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/secret"
)

// answer is a good reply with the given members in place of its own.
func answer(choices, usage string) string {
	return `{"model":"a/b","choices":` + choices + `,"usage":` + usage + `}`
}

const (
	oneChoice = `[{"finish_reason":"stop","message":{"content":"42"}}]`
	goodUsage = `{"prompt_tokens":10,"completion_tokens":2,"cost":0.031}`
)

func TestReadReply(t *testing.T) {
	for name, tc := range map[string]struct {
		body string
		code fault.Code // zero: an answer
		text string
	}{
		"W5 an error object beside a good answer":    {`{"error":{"code":502,"message":"down"},"choices":` + oneChoice + `,"usage":` + goodUsage + `}`, conductor.ProviderError, ""},
		"W5 an empty error is an error":              {`{"error":""}`, conductor.ProviderError, ""},
		"W5 a false error is an error":               {`{"error":false}`, conductor.ProviderError, ""},
		"W6 no choices":                              {answer(`[]`, goodUsage), conductor.NoChoices, ""},
		"W6 choices of another type":                 {answer(`{"0":{}}`, goodUsage), conductor.NoChoices, ""},
		"W6 choice that is no object":                {answer(`["x"]`, goodUsage), conductor.NoChoices, ""},
		"W7 finish reason error":                     {answer(`[{"finish_reason":"error","message":{"content":"half"}}]`, goodUsage), conductor.GenerationFailed, ""},
		"W7 length is an answer":                     {answer(`[{"finish_reason":"length","message":{"content":"cut"}}]`, goodUsage), fault.Code{}, "cut"},
		"W7 content_filter is an answer":             {answer(`[{"finish_reason":"content_filter","message":{"content":"no"}}]`, goodUsage), fault.Code{}, "no"},
		"W8 content null is empty text":              {answer(`[{"message":{"content":null}}]`, goodUsage), fault.Code{}, ""},
		"W9 no usage":                                {answer(oneChoice, `null`), conductor.NoCost, ""},
		"W9 cost true":                               {answer(oneChoice, `{"cost":true}`), conductor.NoCost, ""},
		"W9 cost unreadable":                         {answer(oneChoice, `{"cost":"free"}`), conductor.NoCost, ""},
		"W9 cost as text":                            {answer(oneChoice, `{"cost":"0.5"}`), fault.Code{}, "42"},
		"W9 cost infinite":                           {answer(oneChoice, `{"cost":"inf"}`), conductor.NoCost, ""},
		"W9 cost overflows":                          {answer(oneChoice, `{"cost":1e999}`), conductor.NoCost, ""},
		"W9 cost in hexadecimal":                     {answer(oneChoice, `{"cost":"0x10"}`), conductor.NoCost, ""},
		"member names match in case":                 {answer(oneChoice, `{"Cost":1}`), conductor.NoCost, ""},
		"half a surrogate pair":                      {answer(`[{"message":{"content":"a\ud83d"}}]`, goodUsage), fault.Code{}, "a\ufffd"},
		"the last of equal members counts, unmerged": {`{"usage":{"cost":1},"choices":` + oneChoice + `,"usage":{"prompt_tokens":1}}`, conductor.NoCost, ""},
		"blanks sent to keep the connection open":    {" \n  " + answer(oneChoice, goodUsage), fault.Code{}, "42"},
		"HTML":       {`<html>`, conductor.BadReply, ""},
		"cut":        {`{"choices":[`, conductor.BadReply, ""},
		"a list":     {`[]`, conductor.BadReply, ""},
		"null":       {`null`, conductor.BadReply, ""},
		"two values": {`{} {}`, conductor.BadReply, ""},
		"nothing":    {``, conductor.BadReply, ""},
	} {
		for _, p := range []profile.Profile{profile.Compat, profile.Strict} {
			t.Run(name+" "+p.String(), func(t *testing.T) {
				r, err := worker.ReadReply([]byte(tc.body), p)
				if fault.Of(err) != tc.code || r.Text != tc.text {
					t.Fatalf("got %v and text %q, want %q and %q", err, r.Text, tc.code.Name(), tc.text)
				}
				if (err != nil) != (r.Failure != "") {
					t.Errorf("error %v but failure text %q", err, r.Failure)
				}
			})
		}
	}
}

func TestBehaviourW5_FailureCarriesCodeAndMessage(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"code":502,"message":"down"}}`:           "provider error in a 200 body: code=502 down",
		`{"error":{"code":"overloaded","message":"later"}}`: "provider error in a 200 body: code=overloaded later",
		`{"error":{"code":5.5}}`:                            "provider error in a 200 body: code=5.5",
		`{"error":"boom"}`:                                  "provider error in a 200 body: code= boom",
	} {
		for _, p := range []profile.Profile{profile.Compat, profile.Strict} {
			if r, _ := worker.ReadReply([]byte(body), p); r.Failure != want {
				t.Errorf("%s %v: failure %q, want %q", body, p, r.Failure, want)
			}
		}
	}
}

// A key that a clip had cut in half would not be recognised, so the failure comes whole, up to a bound for its size.
func TestAFailureIsWholeForWhoHidesSecretsInIt(t *testing.T) {
	const key = "sk-or-v1-0123456789abcdef0123456789abcdef"
	r, err := worker.ReadReply([]byte(`{"error":{"code":401,"message":"`+strings.Repeat("é", 140)+key+`"}}`), profile.Strict)
	if hidden := secret.NewRedactor(secret.New(key)).Redact(r.Failure); !strings.Contains(r.Failure, key) || strings.Contains(hidden, "sk-or") {
		t.Errorf("failure %q, hidden %q", r.Failure, hidden)
	}
	if said := err.(*fault.Error).Public(); strings.Contains(said, "sk-or") || !strings.Contains(said, "401") {
		t.Errorf("the refusal itself says %q", said)
	}
	r, _ = worker.ReadReply([]byte(`{"error":{"message":"`+strings.Repeat("é", 1<<20)+`"}}`), profile.Strict)
	if len(r.Failure) > 5000 || !utf8.ValidString(r.Failure) {
		t.Errorf("a failure of %d bytes", len(r.Failure))
	}
}

func TestBehaviourW14_Allowance(t *testing.T) {
	five, three, zero := 5.0, 3.0, 0.0
	for _, tc := range []struct {
		limit, credits *float64
		want           float64
	}{{&five, &three, 3}, {&five, nil, 5}, {nil, nil, 10}, {&five, &zero, 0}} {
		if got := worker.Allowance(tc.limit, tc.credits, 10); got != tc.want {
			t.Errorf("Allowance(%v, %v, 10) = %v, want %v", tc.limit, tc.credits, got, tc.want)
		}
	}
}

func TestFault4_PartialTextIsNoAnswerAndNullUsageIsNotFree(t *testing.T) {
	r, err := worker.ReadReply([]byte(`{"error":{"code":429,"message":"slow down"}}`), profile.Strict)
	if fault.Of(err) != conductor.ProviderError || worker.Outcome(err) != "worker_error" || !strings.Contains(r.Failure, "code=429") {
		t.Errorf("error %v, outcome %s, failure %q", err, worker.Outcome(err), r.Failure)
	}
	r, err = worker.ReadReply([]byte(`{"choices":[{"finish_reason":"error","message":{"content":"{\"a\": 1, "}}],"usage":{"prompt_tokens":null}}`), profile.Strict)
	if fault.Of(err) != conductor.GenerationFailed || worker.Outcome(err) != "worker_error" {
		t.Errorf("error %v, outcome %s", err, worker.Outcome(err))
	}
	if r.Text != "" || r.Usage&worker.Unmetered == 0 || r.Costed {
		t.Errorf("reply %+v: want no text, unmetered, no cost", r)
	}
}

func TestFault5_AnEmptyListOfChoicesKeepsItsBill(t *testing.T) {
	body := []byte(`{"choices":[],"usage":{"prompt_tokens":4241,"completion_tokens":0,"cost":0.0042}}`)
	r, err := worker.ReadReply(body, profile.Strict)
	if fault.Of(err) != conductor.NoChoices || worker.Outcome(err) != "empty_answer" || r.Text != "" {
		t.Errorf("error %v, outcome %s, text %q", err, worker.Outcome(err), r.Text)
	}
	if r.TokensIn != 4241 || !r.Costed || r.Cost != 0.0042 || r.Pico != 4_200_000_000 || r.Usage != 0 {
		t.Errorf("reply %+v: want 4241 prompt tokens and 0.0042 dollars", r)
	}
	if r, _ = worker.ReadReply(body, profile.Compat); r.Costed || r.TokensIn != 0 {
		t.Errorf("reply %+v: the reference charges nothing for a failure", r)
	}
}

func TestFault7_ReasoningBeyondTheWholeIsAddedAndFlagged(t *testing.T) {
	read := func(out string, p profile.Profile) worker.Reply {
		r, err := worker.ReadReply([]byte(answer(oneChoice, `{"prompt_tokens":1,"cost":0.1,"completion_tokens":`+out+`,"completion_tokens_details":{"reasoning_tokens":850}}`)), p)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := read("900", profile.Strict); r.ChargedOut != 900 || r.Usage != 0 {
		t.Errorf("a part within the whole: charged %d, flags %v", r.ChargedOut, r.Usage)
	}
	if r := read("50", profile.Strict); r.ChargedOut != 900 || r.TokensOut != 50 || r.Usage != worker.Inconsistent {
		t.Errorf("a part beyond the whole: charged %d of %d, flags %v", r.ChargedOut, r.TokensOut, r.Usage)
	}
	if r := read("50", profile.Compat); r.ChargedOut != 50 {
		t.Errorf("compat charged %d, want the reported 50", r.ChargedOut)
	}
}

func TestFault8_TheServedNameIsShownNotPriced(t *testing.T) {
	for _, served := range []string{`"flash-2"`, `"acme/flash-2"`, `null`} {
		r, err := worker.ReadReply([]byte(`{"model":`+served+`,"choices":`+oneChoice+`,"usage":`+goodUsage+`}`), profile.Strict)
		if err != nil || r.Cost != 0.031 || r.Pico != 31*money.Dollar/1000 {
			t.Errorf("served %s: cost %v, error %v", served, r.Cost, err)
		}
		if want := strings.Trim(strings.Replace(served, "null", "", 1), `"`); r.ServedModel != want {
			t.Errorf("served name %q, want %q", r.ServedModel, want)
		}
	}
	if _, err := worker.ReadReply([]byte(`{"model":"flash-2","choices":`+oneChoice+`}`), profile.Strict); fault.Of(err) != conductor.NoCost {
		t.Errorf("a reply without a cost gave %v, want a refusal", err)
	}
}

func TestProfilesDifferOnNumberSyntax(t *testing.T) {
	for text, want := range map[string]float64{` 0.5 `: 0.5, `1_0.5`: 10.5, `１`: 1} {
		body := []byte(answer(oneChoice, `{"cost":"`+text+`"}`))
		if r, err := worker.ReadReply(body, profile.Compat); err != nil || r.Cost != want {
			t.Errorf("compat %q: %v, %v", text, r.Cost, err)
		}
		if _, err := worker.ReadReply(body, profile.Strict); fault.Of(err) != conductor.NoCost {
			t.Errorf("strict %q: %v", text, err)
		}
	}
	for _, text := range []string{`_1`, `1_`, `1__0`, `1_.5`, `nan`, `1e999`} {
		if _, err := worker.ReadReply([]byte(answer(oneChoice, `{"cost":"`+text+`"}`)), profile.Compat); fault.Of(err) != conductor.NoCost {
			t.Errorf("compat read %q: %v", text, err)
		}
	}
}

func FuzzReadReply(f *testing.F) {
	for _, s := range []string{
		answer(oneChoice, goodUsage), answer(`[]`, goodUsage), `{"error":{}}`, `[]`, `{"usage":{"cost":"1_0"}}`,
		answer(`[{"finish_reason":"error","message":{"content":"x"}}]`, `{"cost":-1,"prompt_tokens":1e300}`), "{\"model\":\"\xff\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		c, errC := worker.ReadReply(body, profile.Compat)
		s, errS := worker.ReadReply(body, profile.Strict)
		if errC != nil && errS == nil {
			t.Fatalf("strict reads what compat refuses with %v", errC)
		}
		if errS == nil && (s.Text != c.Text || s.Cost != c.Cost) {
			t.Fatalf("the profiles read two answers: %+v and %+v", s, c)
		}
		if errS != nil && (s.Text != "" || s.Failure == "") || errS == nil && !s.Costed {
			t.Fatalf("reply %+v beside %v", s, errS)
		}
		if math.IsNaN(s.Cost) || math.IsInf(s.Cost, 0) || s.ChargedOut < s.TokensOut {
			t.Fatalf("reply %+v", s)
		}
		if !bytes.Equal(before, body) {
			t.Fatal("the body was written to")
		}
	})
}

func BenchmarkReadReply(b *testing.B) {
	body := []byte(`{"id":"gen-1","object":"chat.completion","created":1770600410,"model":"a/b","provider":"P","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"` +
		strings.Repeat("words and\\n", 400) + `"}}],"usage":{"prompt_tokens":47,"completion_tokens":1966,"total_tokens":2013,"cost":0.0164}}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := worker.ReadReply(body, profile.Strict); err != nil {
			b.Fatal(err)
		}
	}
}
