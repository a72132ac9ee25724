package worker_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/conductor/catalog"
	"assay/conductor/profile"
	"assay/conductor/reading"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/conductor/worker"
	"assay/core/canon"
	"assay/core/digest"
)

func pinned(tb testing.TB, prompt string, tools ...string) task.Pinned {
	tb.Helper()
	slice, err := window.Slice("n", []task.Spec{{ID: "t-1", Benchmark: "hle", Prompt: prompt, Tools: tools}})
	if err != nil {
		tb.Fatal(err)
	}
	return slice[0]
}

func model(tb testing.TB, id string) catalog.ModelID {
	tb.Helper()
	s, err := catalog.New([]catalog.Entry{{ID: id, In: 1, Out: 1, Context: 1}}, profile.Strict)
	if err != nil {
		tb.Fatal(err)
	}
	m, _ := s.Lookup(id)
	return m
}

// body is a request's body as JSON.
func body(tb testing.TB, b []byte) map[string]any {
	tb.Helper()
	var o map[string]any
	if err := json.Unmarshal(b, &o); err != nil {
		tb.Fatalf("%s: %v", b, err)
	}
	return o
}

const statement = "What is 2+2?\r\nSay \"four\" — größe\x00 \U0001f642\n\n"

func TestBehaviourW1_TheMembersOfABody(t *testing.T) {
	got := slices.Sorted(maps.Keys(body(t, worker.NewRequest(pinned(t, statement), model(t, "a/b")).Body())))
	if want := []string{"messages", "model", "provider", "stream", "temperature", "usage"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestBehaviourW2_OneMessageWithTheStatementUnchanged(t *testing.T) {
	want := []any{map[string]any{"role": "user", "content": statement}}
	if d := cmp.Diff(want, body(t, worker.NewRequest(pinned(t, statement), model(t, "a/b")).Body())["messages"]); d != "" {
		t.Error(d)
	}
}

func TestBehaviourW3_NothingChangesAPinnedMember(t *testing.T) {
	plain := worker.ChatBody("a/b", "text", nil)
	pushed := worker.ChatBody("a/b", "text", canon.Object{
		"model": "evil/model", "messages": []any{}, "provider": canon.Object{"order": []any{"evil"}}, "usage": false, "stream": true,
	})
	if !bytes.Equal(plain, pushed) {
		t.Errorf("parameters changed the body to %s", pushed)
	}
	more := body(t, worker.ChatBody("a/b", "text", canon.Object{"temperature": 0.5}))
	if more["temperature"] != 0.5 || more["model"] != "a/b" {
		t.Errorf("a parameter of its own gives %v", more)
	}
}

func TestBehaviourW4_RoutingAndUsageArePinned(t *testing.T) {
	const want = `{"messages":[{"content":"x","role":"user"}],"model":"a/b","provider":{"allow_fallbacks":false,"require_parameters":true,"sort":"price"},` +
		`"stream":false,"temperature":0.0,"usage":{"include":true}}`
	if got := string(worker.NewRequest(pinned(t, "x"), model(t, "a/b")).Body()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBehaviourS19_WithoutReadsTheTextIsTheStatement(t *testing.T) {
	for _, prompt := range []string{statement, "", "DELEGATE a/b", "ends in\nREAD a 1"} {
		r := worker.NewRequest(pinned(t, prompt, "READ"), model(t, "a/b"))
		if r.Text() != prompt || r.Digest() != digest.HexOfBytes([]byte(prompt)) {
			t.Errorf("%q is sent as %q", prompt, r.Text())
		}
	}
}

// Two requests of one delegate never see each other's observations, whichever way they were made.
func TestObserveLeavesTheRequestAsItWas(t *testing.T) {
	see := func(arg string) reading.Observation {
		return reading.Observation{Call: reading.Call{Name: reading.Read, Arg: arg, Start: "1"}, Output: arg}
	}
	first := worker.NewRequest(pinned(t, "x", "READ"), model(t, "a/b"))
	one := first.Observe(see("a"))
	left, right := one.Observe(see("b")), one.Observe(see("c"))
	three := left.Observe(see("d"))
	left4, right4 := three.Observe(see("e")), three.Observe(see("f"))
	for _, c := range []struct {
		r    worker.Request
		want []string
	}{{first, nil}, {one, []string{"a"}}, {left, []string{"a", "b"}}, {right, []string{"a", "c"}}, {three, []string{"a", "b", "d"}},
		{left4, []string{"a", "b", "d", "e"}}, {right4, []string{"a", "b", "d", "f"}}} {
		var got []string
		for _, o := range c.r.Observations() {
			got = append(got, o.Output)
		}
		if !slices.Equal(got, c.want) || c.r.Text() != reading.Compose("x", c.r.Observations()) {
			t.Errorf("observed %v, want %v", got, c.want)
		}
	}
}

func TestARequestNeedsATaskAndAModel(t *testing.T) {
	for name, make := range map[string]func(){
		"no task":  func() { worker.NewRequest(task.Pinned{}, model(t, "a/b")) },
		"no model": func() { worker.NewRequest(pinned(t, "x"), catalog.ModelID{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: a request was made", name)
				}
			}()
			make()
		}()
	}
	if r := (worker.Request{}); !r.IsZero() {
		t.Error("the zero Request is one")
	}
}
