package window_test

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"assay/conductor"
	"assay/conductor/profile"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/fault"
)

func TestBehaviourN1_MembersOfAnEntry(t *testing.T) {
	want := []string{"epoch", "max_conductor_tokens", "max_steps", "minimum", "per_benchmark", "pool_digest", "scaffold_version", "temperature", "v"}
	e := window.Entry{Epoch: 4, PerBenchmark: 125, Minimum: 20, PoolDigest: "00", Profile: profile.Compat}
	if got := slices.Sorted(maps.Keys(e.Object())); !slices.Equal(got, want) {
		t.Errorf("compat: %v", got)
	}
	e.Profile, e.InstructionsDigest = profile.Strict, "11"
	strict := append(slices.Clone(want), "instructions_sha256", "profile")
	slices.Sort(strict)
	if got := slices.Sorted(maps.Keys(e.Object())); !slices.Equal(got, strict) {
		t.Errorf("strict: %v", got)
	}
	o := e.Object()
	for k, v := range map[string]any{
		"v": 1, "epoch": int64(4), "scaffold_version": "v3-scaffold-1", "max_steps": 12, "temperature": 0.0, "max_conductor_tokens": 576,
		"per_benchmark": int64(125), "minimum": int64(20), "pool_digest": "00", "profile": "strict", "instructions_sha256": "11",
	} {
		if o[k] != v {
			t.Errorf("%s is %v, want %v", k, o[k], v)
		}
	}
}

// Whatever decides results moves the entry's digest, so the root that is committed.
func TestAnEntrysDigestCoversWhatDecidesResults(t *testing.T) {
	base := window.Entry{Epoch: 4, PerBenchmark: 125, Minimum: 20, PoolDigest: "00", InstructionsDigest: "11"}
	seen := map[string]bool{base.Digest(): true}
	for name, change := range map[string]func(*window.Entry){
		"epoch": func(e *window.Entry) { e.Epoch++ }, "per benchmark": func(e *window.Entry) { e.PerBenchmark++ }, "minimum": func(e *window.Entry) { e.Minimum++ },
		"pool": func(e *window.Entry) { e.PoolDigest = "01" }, "profile": func(e *window.Entry) { e.Profile = profile.Compat },
		"instructions": func(e *window.Entry) { e.InstructionsDigest = "12" },
	} {
		e := base
		change(&e)
		if seen[e.Digest()] {
			t.Errorf("%s does not move the digest", name)
		}
		seen[e.Digest()] = true
	}
	compat := window.Entry{Epoch: 4, PerBenchmark: 125, Minimum: 20, PoolDigest: "00", Profile: profile.Compat}
	other := compat
	other.InstructionsDigest = "11" // the reference's entries have no room for it
	if compat.Digest() != other.Digest() {
		t.Error("compat: the instructions move the digest")
	}
}

func pool(sizes map[string]int) (out []task.Spec) {
	for _, b := range slices.Sorted(maps.Keys(sizes)) {
		for i := range sizes[b] {
			out = append(out, task.Spec{ID: b + "-" + strconv.Itoa(i), Benchmark: b, Prompt: "p" + strconv.Itoa(i)})
		}
	}
	return out
}

func ids(d window.Drawn) (out []string) {
	for _, t := range d.Tasks {
		out = append(out, t.ID())
	}
	return out
}

func TestBehaviourN2_ADrawTakesTheSmallestKeys(t *testing.T) {
	p := pool(map[string]int{"beta": 9, "alpha": 5, "gamma": 3})
	d, err := window.Draw(p, "n1", "7", 4, 2)
	if err != nil {
		t.Fatal(err)
	}
	if want := []window.Count{{"alpha", 4}, {"beta", 4}, {"gamma", 3}}; !slices.Equal(d.Counts, want) || len(d.Narrowed) != 0 {
		t.Errorf("counts %v, narrowed %v", d.Counts, d.Narrowed)
	}
	taken := map[string]bool{}
	for _, id := range ids(d) {
		taken[id] = true
	}
	for _, in := range p {
		for _, out := range p {
			if in.Benchmark == out.Benchmark && taken[in.ID] && !taken[out.ID] && window.DrawKey("n1", "7", in.Benchmark, in.ID) > window.DrawKey("n1", "7", out.Benchmark, out.ID) {
				t.Errorf("%s was taken before %s", in.ID, out.ID)
			}
		}
	}
	if got := ids(d); !slices.Equal(got, task.Order("n1", got)) {
		t.Errorf("not in the nonce's order: %v", got)
	}
	slices.Reverse(p)
	again, err := window.Draw(p, "n1", "7", 4, 2)
	if err != nil || !slices.Equal(ids(again), ids(d)) {
		t.Errorf("another input order draws %v, %v", ids(again), err)
	}
	if p[0].ID != "gamma-2" {
		t.Error("the draw moved the caller's pool")
	}
}

func TestBehaviourN3_ASmallStratumIsLeftOut(t *testing.T) {
	d, err := window.Draw(pool(map[string]int{"hle": 9, "cybergym": 3}), "n1", "7", 6, 4)
	if err != nil || !slices.Equal(d.Narrowed, []window.Count{{"cybergym", 3}}) || !slices.Equal(d.Counts, []window.Count{{"hle", 6}}) || len(d.Tasks) != 6 {
		t.Errorf("%v, %v, %v", d.Narrowed, d.Counts, err)
	}
	d, err = window.Draw(pool(map[string]int{"hle": 9, "cybergym": 4}), "n1", "7", 6, 4)
	if err != nil || len(d.Narrowed) != 0 || len(d.Tasks) != 10 {
		t.Errorf("as many as the minimum: %v, %d tasks, %v", d.Narrowed, len(d.Tasks), err)
	}
}

func TestBehaviourN_DrawsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		name       string
		per, least int
		want       fault.Code
	}{
		{"N4 fewer than the minimum are drawn", 3, 4, conductor.BelowMinimum},
		{"N5 nothing is drawable", 20, 10, conductor.NothingDrawable},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := window.Draw(pool(map[string]int{"hle": 9}), "n1", "7", c.per, c.least)
			if fault.Of(err) != c.want || len(d.Tasks) != 0 {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := window.Draw(nil, "n1", "7", 1, 1); fault.Of(err) != conductor.NothingDrawable {
		t.Errorf("an empty pool: %v", err)
	}
	twice := append(pool(map[string]int{"a": 2}), task.Spec{ID: "a-0", Benchmark: "b"})
	if _, err := window.Draw(twice, "n1", "7", 2, 1); fault.Of(err) != conductor.DuplicateTask {
		t.Errorf("an id in two benchmarks: %v", err)
	}
}

func TestBehaviourN6_WindowAndNonceChooseTheSlice(t *testing.T) {
	p := pool(map[string]int{"a": 40})
	draw := func(nonce, number string) []string {
		d, err := window.Draw(p, nonce, number, 10, 1)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Sorted(slices.Values(ids(d)))
	}
	base := draw("n1", "7")
	if slices.Equal(base, draw("n1", "8")) || slices.Equal(base, draw("n2", "7")) {
		t.Errorf("the slice stays %v", base)
	}
	if !slices.Equal(base, draw("n1", "7")) {
		t.Error("one window has two slices")
	}
}

func TestPoolDigest(t *testing.T) {
	p := pool(map[string]int{"a": 3, "b": 2})
	p[1].Tools, p[2].Group = []string{"READ"}, "repo"
	base, err := window.PoolDigest(p, profile.Compat)
	if err != nil {
		t.Fatal(err)
	}
	backwards := slices.Clone(p)
	slices.Reverse(backwards)
	if got, err := window.PoolDigest(backwards, profile.Compat); err != nil || got != base {
		t.Errorf("the input's order moves the digest: %v", err)
	}
	for name, change := range map[string]func(*task.Spec){
		"id": func(s *task.Spec) { s.ID += "x" }, "benchmark": func(s *task.Spec) { s.Benchmark += "x" }, "prompt": func(s *task.Spec) { s.Prompt += " " },
		"tools": func(s *task.Spec) { s.Tools = []string{"LIST"} }, "group": func(s *task.Spec) { s.Group += "x" },
	} {
		q := slices.Clone(p)
		change(&q[2])
		if got, err := window.PoolDigest(q, profile.Compat); err != nil || got == base {
			t.Errorf("%s does not move the digest: %v", name, err)
		}
	}
	twice := append(slices.Clone(p), p[0])
	twice[len(twice)-1].Prompt = "another statement"
	reversed := slices.Clone(twice)
	slices.Reverse(reversed)
	a, errA := window.PoolDigest(twice, profile.Compat)
	b, errB := window.PoolDigest(reversed, profile.Compat)
	if errA != nil || errB != nil || a != b || a == base {
		t.Errorf("an id with two statements: %s (%v) and backwards %s (%v)", a, errA, b, errB)
	}
}

func TestProperty_a_draw_is_a_part_of_the_pool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.IntRange(1, 12), 1, 4).Draw(t, "sizes")
		least := rapid.IntRange(1, 8).Draw(t, "minimum")
		per := least + rapid.IntRange(0, 6).Draw(t, "more")
		d, err := window.Draw(pool(sizes), rapid.String().Draw(t, "nonce"), "7", per, least)
		want := 0
		for _, n := range sizes {
			if n >= least {
				want += min(n, per)
			}
		}
		if want == 0 {
			if fault.Of(err) != conductor.NothingDrawable {
				t.Fatal(err)
			}
			return
		}
		if err != nil || len(d.Tasks) != want || len(d.Counts)+len(d.Narrowed) != len(sizes) {
			t.Fatalf("%d tasks, want %d; counts %v, narrowed %v: %v", len(d.Tasks), want, d.Counts, d.Narrowed, err)
		}
	})
}
