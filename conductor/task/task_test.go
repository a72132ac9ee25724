package task_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay/conductor"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/fault"
)

func TestBehaviourS21_TaskOrder(t *testing.T) {
	want := []string{"a-3", "a-0", "b-5", "a-5", "a-1", "b-1", "b-2", "b-3", "a-2", "b-4", "a-4", "b-0"}
	for _, in := range [][]string{
		{"a-0", "a-1", "a-2", "a-3", "a-4", "a-5", "b-0", "b-1", "b-2", "b-3", "b-4", "b-5"},
		{"b-5", "b-4", "b-3", "b-2", "b-1", "b-0", "a-5", "a-4", "a-3", "a-2", "a-1", "a-0"},
	} {
		if got := task.Order("n1", in); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if got := task.OrderKey("n1", "a-3"); got != "014c75f089f64eb5ec1ffe4df8309044d54632155c3e367b0b49d29de14d8940" {
		t.Errorf("key %s", got)
	}
	if got := task.Order("x", nil); len(got) != 0 {
		t.Errorf("nothing in the order %v", got)
	}
}

func TestBehaviourS22_TheNonceGivesTheOrder(t *testing.T) {
	ids := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	if a, b := task.Order("one", ids), task.Order("two", ids); slices.Equal(a, b) {
		t.Errorf("two nonces give %v", a)
	}
	if a, b := task.Order("one", ids), task.Order("one", ids); !slices.Equal(a, b) {
		t.Errorf("one nonce gives %v and %v", a, b)
	}
}

func TestBehaviourF8_Subsample(t *testing.T) {
	var labels []task.Label
	for _, id := range []string{"b-0", "b-1", "b-2", "a-0", "a-1", "a-2", "a-3", "a-4", "c-0"} {
		labels = append(labels, task.Label{ID: id, Benchmark: id[:1]})
	}
	inOrder := func(prefix string) (out []string) {
		for _, id := range task.Order("n1", []string{"a-0", "a-1", "a-2", "a-3", "a-4", "b-0", "b-1", "b-2", "c-0"}) {
			if id[:1] == prefix {
				out = append(out, id)
			}
		}
		return out
	}
	a, b, c := inOrder("a"), inOrder("b"), inOrder("c")
	for size, want := range map[int][]string{
		1: {a[0]}, 2: {a[0], b[0]}, 4: {a[0], b[0], c[0], a[1]}, 6: {a[0], b[0], c[0], a[1], b[1], a[2]}, 60: slices.Concat(a, b, c), 0: nil,
	} {
		got, err := task.Subsample("n1", size, labels)
		if err != nil || !slices.Equal(got, task.Order("n1", want)) {
			t.Errorf("size %d: %v, %v, want %v", size, got, err, task.Order("n1", want))
		}
		slices.Reverse(labels)
	}
	if _, err := task.Subsample("n1", 60, nil); fault.Of(err) != conductor.NoTasks {
		t.Errorf("no tasks: %v", err)
	}
}

func TestProperty_order_is_a_permutation_that_ignores_the_inputs_order(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOf(rapid.String()).Draw(t, "ids")
		nonce := rapid.String().Draw(t, "nonce")
		got := task.Order(nonce, ids)
		if shuffled := rapid.Permutation(ids).Draw(t, "shuffled"); !slices.Equal(task.Order(nonce, shuffled), got) {
			t.Fatalf("%v and %v are ordered otherwise", ids, shuffled)
		}
		if a, b := slices.Sorted(slices.Values(ids)), slices.Sorted(slices.Values(got)); !slices.Equal(a, b) {
			t.Fatalf("%v becomes %v", ids, got)
		}
	})
}

func TestPinnedTasks(t *testing.T) {
	tools := []string{"READ", "LIST"}
	slice, err := window.Slice("n", []task.Spec{{ID: "a", Benchmark: "b", Prompt: "p\r\n", Tools: tools, Group: "g"}})
	if err != nil {
		t.Fatal(err)
	}
	tools[0] = "changed behind its back"
	p := slice[0]
	if p.ID() != "a" || p.Benchmark() != "b" || p.Prompt() != "p\r\n" || p.Group() != "g" || !slices.Equal(p.Tools(), []string{"READ", "LIST"}) || p.IsZero() {
		t.Errorf("pinned as %v", p)
	}
	if !p.Declares("READ") || p.Declares("FIND") || p.Declares("read") {
		t.Error("declares other tools than it was given")
	}
	if !(task.Pinned{}).IsZero() {
		t.Error("the zero task is one")
	}
	for name, s := range map[string]task.Spec{
		"no id": {Benchmark: "b", Prompt: "p"}, "no benchmark": {ID: "a", Prompt: "p"}, "prompt not UTF-8": {ID: "a", Benchmark: "b", Prompt: "\xff"},
		"id not UTF-8": {ID: "\xff", Benchmark: "b"}, "benchmark not UTF-8": {ID: "a", Benchmark: "\xff"},
		"tool not UTF-8": {ID: "a", Benchmark: "b", Tools: []string{"\xff"}}, "group not UTF-8": {ID: "a", Benchmark: "b", Group: "\xff"},
	} {
		if _, err := window.Slice("n", []task.Spec{s}); fault.Of(err) != conductor.BadTask {
			t.Errorf("%s: %v", name, err)
		}
	}
}
