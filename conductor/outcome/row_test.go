package outcome_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay/conductor"
	"assay/conductor/outcome"
	"assay/conductor/reading"
	"assay/core/digest"
	"assay/core/fault"
	"assay/core/money"
)

var full = outcome.Entry{
	Key: outcome.Key{Task: "t-1", Model: "acme/small", Attempt: 2},
	Row: outcome.Row{
		Text: "größe\nAnswer: C", Cost: 18_800, Grade: .5, TokensIn: 100, TokensOut: 10, ServedModel: "acme/small-2", Provider: "Acme",
		Observations: []reading.Observation{{
			Call: reading.Call{Name: reading.Read, Arg: "a.py", Start: "10"}, Output: "x", Truncated: true, ReplyDigest: strings.Repeat("a", 64),
		}},
		ReceiptIDs: []string{"w7-king-1/0/0/0", "w7-king-1/0/0/1"},
	},
	FilledAt: 1_790_000_000,
}

const fullLine = `{"attempt":2,"cost_pico":18800,"failed":false,"failure":null,"filled_at":1790000000,"grade":0.5,"model_id":"acme/small",` +
	`"observations":[{"arg":"a.py","name":"READ","output":"x","response_sha256":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",` +
	`"start":10,"truncated":true}],"provider":"Acme","receipt_ids":["w7-king-1/0/0/0","w7-king-1/0/0/1"],"served_model":"acme/small-2",` +
	`"task_id":"t-1","text":"gr\u00f6\u00dfe\nAnswer: C","tokens_in":100,"tokens_out":10}`

const failedLine = `{"attempt":1,"cost_pico":0,"failed":true,"failure":"","filled_at":0,"grade":0.0,"model_id":"m","observations":[],"provider":"",` +
	`"receipt_ids":[],"served_model":"","task_id":"t","text":null,"tokens_in":0,"tokens_out":0}`

func TestRowsHaveOneSpelling(t *testing.T) {
	for _, c := range []struct {
		e    outcome.Entry
		line string
	}{{full, fullLine}, {outcome.Entry{Key: outcome.Key{Task: "t", Model: "m", Attempt: 1}, Row: outcome.Row{Failed: true}}, failedLine}} {
		text, err := c.e.Append(nil)
		if err != nil || string(text) != c.line {
			t.Errorf("written as %s, want %s (%v)", text, c.line, err)
		}
		e, err := outcome.Parse([]byte(c.line))
		if d := cmp.Diff(c.e, e); d != "" || err != nil {
			t.Errorf("%v %s", err, d)
		}
	}
}

// What is published of a row does not hang on when it was bought, and on all else.
func TestDigestIsOfTheRowWithoutItsTime(t *testing.T) {
	sum, err := outcome.Digest(full.Key, full.Row)
	want := digest.HexOfBytes([]byte(strings.Replace(fullLine, `"filled_at":1790000000,`, "", 1)))
	if err != nil || sum != want {
		t.Errorf("digest %s, want %s (%v)", sum, want, err)
	}
	seen := map[string]string{sum: "the row"}
	for name, change := range map[string]func(k *outcome.Key, r *outcome.Row){
		"task": func(k *outcome.Key, _ *outcome.Row) { k.Task = "t-2" }, "model": func(k *outcome.Key, _ *outcome.Row) { k.Model = "m" },
		"attempt": func(k *outcome.Key, _ *outcome.Row) { k.Attempt = 3 }, "text": func(_ *outcome.Key, r *outcome.Row) { r.Text = "" },
		"failed": func(_ *outcome.Key, r *outcome.Row) { r.Text, r.Failed = "", true },
		"cost":   func(_ *outcome.Key, r *outcome.Row) { r.Cost++ }, "grade": func(_ *outcome.Key, r *outcome.Row) { r.Grade = 1 },
		"tokens in": func(_ *outcome.Key, r *outcome.Row) { r.TokensIn++ }, "tokens out": func(_ *outcome.Key, r *outcome.Row) { r.TokensOut++ },
		"served": func(_ *outcome.Key, r *outcome.Row) { r.ServedModel = "" }, "provider": func(_ *outcome.Key, r *outcome.Row) { r.Provider = "" },
		"receipts": func(_ *outcome.Key, r *outcome.Row) { r.ReceiptIDs = nil }, "observations": func(_ *outcome.Key, r *outcome.Row) { r.Observations = nil },
	} {
		k, r := full.Key, full.Row
		change(&k, &r)
		sum, err := outcome.Digest(k, r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if other := seen[sum]; other != "" {
			t.Errorf("another %s has the digest of %s", name, other)
		}
		seen[sum] = name
	}
}

func TestWhatIsNoRowIsRefused(t *testing.T) {
	for _, c := range []struct{ old, new string }{
		{`"attempt":2`, `"attempt":0`}, {`"attempt":2`, `"attempt":2.0`}, {`"attempt":2,`, ``}, {`"attempt":2`, `"attempt":2,"attempt":2`},
		{`"cost_pico":18800`, `"cost_pico":-1`}, {`"cost_pico":18800`, `"cost_pico":1e3`}, {`"grade":0.5`, `"grade":1.5`},
		{`"grade":0.5`, `"grade":0.50`}, {`"grade":0.5`, `"grade":-0.5`}, {`"failed":false`, `"failed":true`}, {`"failure":null`, `"failure":"x"`},
		{`"failure":null`, `"failure":""`}, {`"filled_at":1790000000`, `"filled_at":-1`}, {`"task_id":"t-1"`, `"task_id":""`},
		{`"model_id":"acme/small"`, `"model_id":""`}, {`"text":"gr\u00f6\u00dfe`, `"text":"größe`}, {`"start":10`, `"start":"10"`},
		{`"start":10`, `"start":010`}, {`"start":10`, `"start":0`}, {`"start":10`, `"start":1.5`}, {`"start":10`, `"start":null`},
		{`"name":"READ"`, `"name":""`}, {`"truncated":true`, `"truncated":1`}, {`"tokens_in":100`, `"tokens_in":-1`},
		{`"tokens_out":10}`, `"tokens_out":10} `}, {`"tokens_out":10}`, `"tokens_out":10,"more":1}`}, {`"receipt_ids":[`, `"receipt_ids":["a","b","c",`},
		{`{"arg"`, ` {"arg"`}, {`"text":"`, `"text":null,"t":"`},
	} {
		bad := strings.Replace(fullLine, c.old, c.new, 1)
		if bad == fullLine {
			t.Fatalf("%s is not in the line", c.old)
		}
		if _, err := outcome.Parse([]byte(bad)); fault.Of(err) != conductor.BadRow {
			t.Errorf("%s for %s: %v", c.new, c.old, err)
		}
	}
	nan := full
	nan.Row.Grade = math.NaN()
	if _, err := nan.Append(nil); fault.Of(err) != conductor.BadRow {
		t.Errorf("a grade that is no number: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(fullLine))
	f.Add([]byte(failedLine))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := outcome.Parse(text)
		if err != nil {
			if fault.Of(err) != conductor.BadRow {
				t.Errorf("%v", err)
			}
			return
		}
		if again, err := e.Append(nil); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%s is written again as %s (%v)", text, again, err)
		}
	})
}

func TestRetestIsAFunctionOfNonceAndKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "keys")
		keys := make([]outcome.Key, n)
		costs := map[outcome.Key]money.Pico{}
		for i := range keys {
			keys[i] = outcome.Key{Task: fmt.Sprint("t", i), Model: "m", Attempt: 1}
			costs[keys[i]] = money.Dollar * money.Pico(rapid.IntRange(0, 60).Draw(t, "cents")) / 100
		}
		nonce := rapid.StringMatching("[0-9a-f]{4}").Draw(t, "nonce")
		cost := func(k outcome.Key) money.Pico { return costs[k] }
		picked := outcome.Retest(nonce, keys, cost, outcome.RetestKeys, outcome.RetestCost)
		again := outcome.Retest(nonce, append(rapid.Permutation(keys).Draw(t, "order"), keys...), cost, outcome.RetestKeys, outcome.RetestCost)
		if d := cmp.Diff(picked, again); d != "" {
			t.Fatalf("the order of keys counts: %s", d)
		}
		var sum money.Pico
		last := ""
		for _, k := range picked {
			sum += costs[k]
			rank := digest.HexOfBytes([]byte(nonce + "|" + k.Task + "|m|1"))
			if rank <= last {
				t.Fatal("the keys do not stand in the order of their digests")
			}
			last = rank
		}
		if len(picked) > outcome.RetestKeys || sum > outcome.RetestCost {
			t.Fatalf("%d keys for %s", len(picked), sum)
		}
		for _, k := range keys { // what was left out did not fit
			if !containsKey(picked, k) && len(picked) < outcome.RetestKeys && sum+costs[k] <= outcome.RetestCost {
				t.Fatalf("%v fits and is left out", k)
			}
		}
	})
}

func containsKey(keys []outcome.Key, k outcome.Key) bool {
	for _, other := range keys {
		if other == k {
			return true
		}
	}
	return false
}

func TestCompareNamesTheDrift(t *testing.T) {
	base := outcome.Row{Text: "a", Cost: 100, Grade: 1, ServedModel: "m-1", Provider: "P"}
	for name, c := range map[string]struct {
		change func(r *outcome.Row)
		want   []outcome.Drift
		text   bool
	}{
		"the same":           {func(*outcome.Row) {}, nil, true},
		"another text":       {func(r *outcome.Row) { r.Text = "b" }, nil, false},
		"another provider":   {func(r *outcome.Row) { r.Provider = "Q" }, nil, true},
		"a quarter more":     {func(r *outcome.Row) { r.Cost = 125 }, nil, true},
		"a quarter less":     {func(r *outcome.Row) { r.Cost = 75 }, nil, true},
		"more than that":     {func(r *outcome.Row) { r.Cost = 126 }, []outcome.Drift{outcome.DriftCost}, true},
		"less than that":     {func(r *outcome.Row) { r.Cost = 74 }, []outcome.Drift{outcome.DriftCost}, true},
		"another grade":      {func(r *outcome.Row) { r.Grade = 0 }, []outcome.Drift{outcome.DriftGrade}, true},
		"another model":      {func(r *outcome.Row) { r.ServedModel = "m-2" }, []outcome.Drift{outcome.DriftServed}, true},
		"a failure for free": {func(r *outcome.Row) { *r = outcome.Row{Failed: true, Failure: "x", ServedModel: "m-1"} }, []outcome.Drift{outcome.DriftFailed, outcome.DriftCost}, false},
	} {
		again := base
		c.change(&again)
		got := outcome.Compare(full.Key, base, again)
		if d := cmp.Diff(c.want, got.Drift); d != "" || got.SameText != c.text || got.Key != full.Key || got.Again.Cost != again.Cost {
			t.Errorf("%s: %+v %s", name, got, d)
		}
	}
	if got := outcome.Compare(full.Key, outcome.Row{}, outcome.Row{Cost: 1}); len(got.Drift) != 1 {
		t.Errorf("what was free costs something: %+v", got)
	}
}
