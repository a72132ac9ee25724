package publication_test

import (
	"bytes"
	"strings"
	"testing"

	"assay/conductor"
	"assay/conductor/profile"
	"assay/conductor/publication"
	"assay/conductor/score"
	"assay/conductor/task"
	"assay/core/canon"
	"assay/core/fault"
)

func TestWhereALineStands(t *testing.T) {
	for i, want := range map[int]string{0: "d/000000.jsonl", 999: "d/000000.jsonl", 1000: "d/000001.jsonl", 123_456: "d/000123.jsonl"} {
		if got := publication.Numbered("d", i); got != want {
			t.Errorf("%d: %s", i, got)
		}
	}
	leaf := string(publication.Leaf(nil, "window/3/tasks/000000.jsonl", 17, []byte("x")))
	if leaf != "window/3/tasks/000000.jsonl 17 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" {
		t.Error(leaf)
	}
	if got := publication.WindowDir(3); got != "window/3" {
		t.Error(got)
	}
}

func TestRules(t *testing.T) {
	e := score.Exchange{"a": {Lam: .5, C: 1}, "b": {Flags: []score.Flag{score.Dominator}}}
	r := publication.Rules{V: 1, Exchange: publication.ExchangeOf(e), Aliases: map[string][]string{"a/b": {"a/b-2026"}}, Allowance: "1.5"}
	line, err := canon.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(line), `"exchange":{"a":{"c":1.0,"flags":[],"lam":0.5},"b":{"c":0.0,"flags":["dominator"],"lam":0.0}}`) {
		t.Errorf("%s", line)
	}
	var back publication.Rules
	if err := publication.Parse("rules.json", 1, line, &back); err != nil || back.Rates()["a"].Lam != .5 || !back.Rates()["b"].Excluded() {
		t.Errorf("%+v, %v", back, err)
	}
	for served, want := range map[string]bool{"a/b": true, "a/b-2026": true, "b": false, "": false, "A/B": false} {
		if r.Serves("a/b", served) != want {
			t.Errorf("a/b served as %q", served)
		}
	}
	p, limited, err := r.Bound()
	if err != nil || !limited || p.String() != "$1.500000" {
		t.Errorf("%v, %v, %v", p, limited, err)
	}
	before, err := r.Digest()
	if err != nil {
		t.Fatal(err)
	}
	r.Duels++
	if after, _ := r.Digest(); after == before {
		t.Error("the digest does not cover the rules")
	}
}

func TestALineHasOneSpelling(t *testing.T) {
	line, err := canon.Marshal(publication.TaskOfSpec(task.Spec{ID: "t", Benchmark: "b", Prompt: "grö\n"}))
	if err != nil {
		t.Fatal(err)
	}
	var got publication.Task
	if err := publication.Parse("f", 1, line, &got); err != nil || got.Spec().Prompt != "grö\n" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{string(line) + " ", strings.Replace(string(line), "ö", `\u00f6`, 1), strings.Replace(string(line), `"tools":[]`, `"tools":null`, 1), "{}", ""} {
		if err := publication.Parse("f", 1, []byte(bad), &publication.Task{}); fault.Of(err) != conductor.BadPublication {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	line, _ := canon.Marshal(publication.TaskOfSpec(task.Spec{ID: "t", Benchmark: "b", Prompt: "p"}))
	f.Add(line)
	f.Add([]byte(`{"arm":"king","attempt":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, v := range []any{&publication.Task{}, &publication.Rules{}, &publication.Arm{}, &publication.Source{}, &publication.Dropped{}, &publication.Outcome{}} {
			if publication.Parse("f", 1, text, v) != nil {
				continue
			}
			again, err := canon.Marshal(v)
			if err != nil || !bytes.Equal(again, text) {
				t.Fatalf("%T: %q is read as %q", v, text, again)
			}
		}
	})
}

func FuzzReadHead(f *testing.F) {
	f.Add([]byte(`{"record":{"catalog":"[]","nonce":"n","schedule":{"profile":"strict"}},"sig":"","v":1}`))
	f.Add([]byte(`{"record":[`))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := publication.ReadHead(bytes.NewReader(text))
		if err == nil && h.Profile != profile.Strict && h.Profile != profile.Compat {
			t.Fatal(h)
		}
	})
}
