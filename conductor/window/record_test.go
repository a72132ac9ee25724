package window_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/conductor"
	"assay/conductor/catalog"
	"assay/conductor/profile"
	"assay/conductor/reading"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/canon"
	"assay/core/digest"
	"assay/core/fault"
)

const head = "Say one line.\n"

var both = []profile.Profile{profile.Strict, profile.Compat}

func models(t testing.TB, n int) string {
	t.Helper()
	entries := make([]catalog.Entry, n)
	for i := range entries {
		entries[i] = catalog.Entry{ID: "m/" + strconv.Itoa(i), In: .1, Out: .4, Context: 1000}
	}
	s, err := catalog.New(entries, profile.Strict)
	if err != nil {
		t.Fatal(err)
	}
	return s.Freeze()
}

// basis is a window 7 over two benchmarks and one that is too small.
func basis(t testing.TB, p profile.Profile) window.Basis {
	t.Helper()
	b := window.Basis{Epoch: 7, Pool: pool(map[string]int{"alpha": 9, "beta": 5, "tiny": 1}), Catalog: models(t, 2), Nonce: "n1"}
	b.Entry = window.Entry{Epoch: 7, PerBenchmark: 4, Minimum: 2, Profile: p}
	if p.Strict() {
		b.Instructions, b.RulesDigest = head, digest.HexOfBytes([]byte("rules"))
		b.Entry.InstructionsDigest, b.Entry.RulesDigest = digest.HexOfBytes([]byte(head)), b.RulesDigest
	}
	commit(t, &b)
	return b
}

// commit gives the entry the pool's digest.
func commit(t testing.TB, b *window.Basis) {
	t.Helper()
	var err error
	if b.Entry.PoolDigest, err = window.PoolDigest(b.Pool, b.Entry.Profile); err != nil {
		t.Fatal(err)
	}
}

func manifest(t testing.TB, entries ...window.Entry) window.Manifest {
	t.Helper()
	m, err := window.NewManifest(entries)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func build(t testing.TB, b window.Basis) (window.Record, []task.Pinned) {
	t.Helper()
	r, tasks, err := window.Build(b)
	if err != nil {
		t.Fatal(err)
	}
	return r, tasks
}

func text(t testing.TB, o canon.Object) []byte {
	t.Helper()
	b, err := canon.ASCII(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reread writes the record, changes a member of what is written unless change is nil, and reads it.
func reread(t testing.TB, r window.Record, change func(canon.Object)) (window.Record, error) {
	t.Helper()
	o, err := canon.DecodeObject(text(t, r.Object()))
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(o)
	}
	return window.ParseRecord(text(t, o))
}

// verify reads and verifies a changed record as window 7.
func verify(t testing.TB, b window.Basis, change func(canon.Object), p window.Pool, m window.Manifest) error {
	t.Helper()
	r, _ := build(t, b)
	r, err := reread(t, r, change)
	if err != nil {
		return err
	}
	_, err = window.Verify(r, 7, m, p)
	return err
}

func TestARecordReadsBackAndVerifies(t *testing.T) {
	for _, p := range both {
		b := basis(t, p)
		r, tasks := build(t, b)
		back, err := reread(t, r, nil)
		if err != nil {
			t.Fatalf("%v: %v", p, err)
		}
		before, _ := r.Digest()
		after, err := back.Digest()
		if err != nil || before != after {
			t.Errorf("%v: the digest moves from %s to %s: %v", p, before, after, err)
		}
		for _, r := range []window.Record{r, back} { // as it was made, and as a stranger reads it
			v, err := window.Verify(r, 7, manifest(t, b.Entry), window.Pool{Specs: b.Pool})
			if err != nil || !slices.EqualFunc(v.Tasks, tasks, func(a, b task.Pinned) bool { return a.ID() == b.ID() && a.Prompt() == b.Prompt() }) {
				t.Errorf("%v: %v, %v", p, v.Tasks, err)
			}
			if v.Entry != b.Entry || v.Catalog.Len() != 2 {
				t.Errorf("%v: entry %+v", p, v.Entry)
			}
		}
		if len(tasks) != 8 || !slices.Equal(r.Narrowed, []window.Count{{"tiny", 1}}) || !slices.Equal(r.Benchmarks, []string{"alpha", "beta"}) {
			t.Errorf("%v: %+v", p, r)
		}
		if _, has := r.Object()["rules_sha256"]; has != p.Strict() {
			t.Errorf("%v: signs rules: %v", p, has)
		}
	}
}

func TestBehaviourN_RecordsThatAreRefused(t *testing.T) {
	set := func(name string, v any) func(canon.Object) { return func(o canon.Object) { o[name] = v } }
	entry := func(name string, v any) func(canon.Object) {
		return func(o canon.Object) { o["schedule"].(canon.Object)[name] = v }
	}
	swap := func(o canon.Object) { ids := o["task_ids"].([]any); ids[0], ids[1] = ids[1], ids[0] }
	for _, c := range []struct {
		name   string
		change func(canon.Object)
		want   fault.Code
	}{
		{"N7 two tasks swapped", swap, conductor.SliceMismatch},
		{"N7 a task changed", func(o canon.Object) { o["task_ids"].([]any)[0] = "alpha-99" }, conductor.SliceMismatch},
		{"N7 other benchmarks", set("benchmarks", []any{"alpha"}), conductor.SliceMismatch},
		{"N7 other counts", set("counts", []any{}), conductor.SliceMismatch},
		{"N7 narrowed otherwise", set("narrowed", []any{}), conductor.SliceMismatch},
		{"N7 a slice that is no list", set("task_ids", "alpha-1"), conductor.SliceMismatch},
		{"N9 an entry altered", entry("per_benchmark", 5), conductor.EntryNotPinned},
		{"N9 other constants, which nobody committed", entry("max_steps", 99), conductor.EntryNotPinned},
		{"N9 no entry", set("schedule", nil), conductor.EntryNotPinned},
		{"N9 an entry without epoch", entry("epoch", "7"), conductor.EntryNotPinned},
		{"N10 the entry of another window", entry("epoch", 8), conductor.WrongEntry},
		{"N11 another window's record", set("epoch", 8), conductor.WrongWindow},
		{"N12 another version", set("v", 2), conductor.NotWindowRecord},
		{"N12 no version", func(o canon.Object) { delete(o, "v") }, conductor.NotWindowRecord},
		{"N12 epoch is text", set("epoch", "7"), conductor.NotWindowRecord},
		{"N12 freshness is none", set("freshness", canon.Object{}), conductor.NotWindowRecord},
		{"N13 no nonce", set("nonce", ""), conductor.NoNonce},
		{"N13 a nonce that is null", set("nonce", nil), conductor.NoNonce},
		{"N14 an empty catalog", set("catalog", "[]"), conductor.EmptyCatalog},
		{"N14 an unreadable catalog", set("catalog", "nope"), conductor.BadFrozen},
		{"N14 no catalog", set("catalog", nil), conductor.BadFrozen},
	} {
		for _, p := range both {
			b := basis(t, p)
			other := b.Entry
			other.Epoch = 8
			if err := verify(t, b, c.change, window.Pool{Specs: b.Pool}, manifest(t, b.Entry, other)); fault.Of(err) != c.want {
				t.Errorf("%s, %v: %v", c.name, p, err)
			}
		}
	}
	for _, junk := range []string{"", "[]", "null", "{", `{"v":1,"v":1}`, `{"v":1} x`} {
		if _, err := window.ParseRecord([]byte(junk)); fault.Of(err) != conductor.NotWindowRecord {
			t.Errorf("%q: %v", junk, err)
		}
	}
}

func TestBehaviourN8_AnotherPool(t *testing.T) {
	for _, p := range both {
		b := basis(t, p)
		changed := slices.Clone(b.Pool)
		changed[3].Prompt += " "
		for name, specs := range map[string][]task.Spec{"a statement changed": changed, "a task less": b.Pool[1:]} {
			if err := verify(t, b, nil, window.Pool{Specs: specs}, manifest(t, b.Entry)); fault.Of(err) != conductor.PoolChanged {
				t.Errorf("%v: %s: %v", p, name, err)
			}
		}
		if _, _, err := window.Build(window.Basis{Epoch: 7, Entry: b.Entry, Pool: changed, Nonce: "n"}); fault.Of(err) != conductor.PoolChanged {
			t.Errorf("%v: built on a changed pool: %v", p, err)
		}
	}
}

func TestBehaviourN16_N17_FreshnessOfASlice(t *testing.T) {
	for _, p := range both {
		b := basis(t, p)
		r, tasks := build(t, b)
		if r.Freshness.Staleness != nil || len(r.Seen) != 0 || !slices.Equal(r.Freshness.Fresh, []string{"alpha", "beta"}) {
			t.Errorf("nothing revealed: %+v", r.Freshness)
		}
		var alphas []string
		for _, t := range tasks {
			if t.Benchmark() == "alpha" {
				alphas = append(alphas, t.ID())
			}
		}
		b.Revealed = []string{alphas[1], "never-drawn", alphas[0]}
		r, _ = build(t, b)
		slices.Sort(alphas[:2])
		f := r.Freshness
		if !slices.Equal(r.Seen, alphas[:2]) || f.Staleness == nil || *f.Staleness != .25 || f.RecycledFraction != .5 || f.N != 8 || f.Categories != 2 ||
			!slices.Equal(f.Recycled, []string{"alpha"}) || !slices.Equal(f.Fresh, []string{"beta"}) {
			t.Errorf("%v: seen %v, %+v", p, r.Seen, f)
		}
		b.Revealed = []string{"never-drawn"}
		if r, _ = build(t, b); r.Freshness.Staleness == nil || *r.Freshness.Staleness != 0 {
			t.Errorf("another task was revealed: %+v", r.Freshness)
		}
		if err := verify(t, b, nil, window.Pool{Specs: b.Pool}, manifest(t, b.Entry)); err != nil {
			t.Errorf("%v: %v", p, err)
		}
	}
}

func TestStrictRecordsSayWhatFollows(t *testing.T) {
	b := basis(t, profile.Strict)
	r, _ := build(t, b)
	b.Revealed = []string{r.TaskIDs[0]}
	fresh := func(name string, v any) func(canon.Object) {
		return func(o canon.Object) {
			o["freshness"].(canon.Object)["category_freshness"].(canon.Object)[name] = v
		}
	}
	for name, c := range map[string]struct {
		change func(canon.Object)
		want   fault.Code
	}{
		"staleness":       {func(o canon.Object) { o["freshness"].(canon.Object)["staleness"] = .5 }, conductor.WrongFreshness},
		"no staleness":    {func(o canon.Object) { o["freshness"].(canon.Object)["staleness"] = nil }, conductor.WrongFreshness},
		"seen, not drawn": {func(o canon.Object) { o["seen"] = []any{r.TaskIDs[0], "zz-1"} }, conductor.WrongFreshness},
		"recycled part":   {fresh("recycled_fraction", .75), conductor.WrongFreshness},
		"rules":           {func(o canon.Object) { o["rules_sha256"] = "x" }, conductor.NoRules},
		"no rules":        {func(o canon.Object) { delete(o, "rules_sha256") }, conductor.NoRules},
		"one more member": {func(o canon.Object) { o["extra"] = 1 }, conductor.NotWindowRecord},
		"respelled catalog": {func(o canon.Object) {
			o["catalog"] = strings.Replace(o["catalog"].(string), ",", " ,", 1)
		}, conductor.BadFrozen},
	} {
		if err := verify(t, b, c.change, window.Pool{Specs: b.Pool}, manifest(t, b.Entry)); fault.Of(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A compat record may hold members that mean nothing; they stay in its digest.
func TestCompatKeepsFurtherMembers(t *testing.T) {
	b := basis(t, profile.Compat)
	r, _ := build(t, b)
	plain, _ := r.Digest()
	more, err := reread(t, r, func(o canon.Object) { o["extra"] = []any{1.5} })
	if err != nil {
		t.Fatal(err)
	}
	sum, err := more.Digest()
	if err != nil || sum == plain {
		t.Errorf("the member left the digest: %v", err)
	}
	if _, err := window.Verify(more, 7, manifest(t, b.Entry), window.Pool{Specs: b.Pool}); err != nil {
		t.Error(err)
	}
}

// A strict window is verified from the pool's lines and the statements of what was drawn, the others staying unseen.
func TestStrictIsVerifiedWithoutTheStatementsThatWereNotDrawn(t *testing.T) {
	b := basis(t, profile.Strict)
	r, tasks := build(t, b)
	var lines []window.PoolLine
	drawn := map[string]bool{}
	for _, t := range tasks {
		drawn[t.ID()] = true
	}
	var specs []task.Spec
	for _, s := range b.Pool {
		lines = append(lines, window.LineOf(s))
		if drawn[s.ID] {
			specs = append(specs, s)
		}
	}
	slices.Reverse(lines)
	v, err := window.Verify(r, 7, manifest(t, b.Entry), window.Pool{Specs: specs, Lines: lines})
	if err != nil || len(v.Tasks) != len(tasks) {
		t.Fatal(err)
	}
	other := slices.Clone(specs)
	other[0].Prompt = "another statement"
	grouped := slices.Clone(specs)
	grouped[0].Group = "g"
	for name, specs := range map[string][]task.Spec{"another statement": other, "a statement less": specs[1:], "another group": grouped} {
		if _, err := window.Verify(r, 7, manifest(t, b.Entry), window.Pool{Specs: specs, Lines: lines}); fault.Of(err) != conductor.StatementChanged {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := window.Verify(r, 7, manifest(t, b.Entry), window.Pool{Specs: specs, Lines: lines[1:]}); fault.Of(err) != conductor.PoolChanged {
		t.Errorf("a line less: %v", err)
	}
}

func TestWindowsThatAreNotBuilt(t *testing.T) {
	invitation := reading.Invitation([]string{reading.Read})
	for _, c := range []struct {
		name   string
		change func(*window.Basis)
		strict fault.Code
		compat fault.Code // fault.Unknown: it is built
	}{
		{"N4 below the minimum", func(b *window.Basis) { b.Entry.Minimum = 5 }, conductor.BelowMinimum, conductor.BelowMinimum},
		{"N5 nothing drawable", func(b *window.Basis) { b.Entry.Minimum, b.Entry.PerBenchmark = 20, 20 }, conductor.NothingDrawable, conductor.NothingDrawable},
		{"N10 the entry of another window", func(b *window.Basis) { b.Entry.Epoch = 8 }, conductor.WrongEntry, conductor.WrongEntry},
		{"N13 no nonce", func(b *window.Basis) { b.Nonce = "" }, conductor.NoNonce, conductor.NoNonce},
		{"N14 an empty catalog", func(b *window.Basis) { b.Catalog = "[]" }, conductor.EmptyCatalog, conductor.EmptyCatalog},
		{"N14 an unreadable catalog", func(b *window.Basis) { b.Catalog = "nope" }, conductor.BadFrozen, conductor.BadFrozen},
		{"a catalog beyond the budget", func(b *window.Basis) { b.Catalog = models(t, 3000) }, conductor.CatalogTooLarge, fault.Unknown},
		{"no rules", func(b *window.Basis) { b.RulesDigest = "" }, conductor.NoRules, fault.Unknown},
		{"rules that were not committed", func(b *window.Basis) { b.RulesDigest = digest.HexOfBytes([]byte("others")) }, conductor.NoRules, fault.Unknown},
		{"other instructions", func(b *window.Basis) { b.Instructions += " " }, conductor.NoRules, fault.Unknown},
		{"an id twice, whether drawn or not", func(b *window.Basis) {
			b.Pool = append(slices.Clone(b.Pool), task.Spec{ID: "alpha-0", Benchmark: "tiny", Prompt: "x"})
			b.Entry.Minimum, b.Entry.PerBenchmark = 3, 3 // tiny is narrowed
		}, conductor.DuplicateTask, fault.Unknown},
		{"T24 invited without a verb", func(b *window.Basis) { b.Pool[0].Prompt += invitation }, conductor.BadInvitation, fault.Unknown},
		{"T24 a verb without invitation", func(b *window.Basis) { b.Pool[0].Tools = []string{reading.Read} }, conductor.BadInvitation, fault.Unknown},
		{"T24 invited to another verb", func(b *window.Basis) {
			b.Pool[0].Tools, b.Pool[0].Prompt = []string{reading.List}, "x"+invitation
		}, conductor.BadInvitation, fault.Unknown},
		{"a task without id", func(b *window.Basis) { b.Pool[0].ID = "" }, conductor.BadTask, conductor.BadTask},
	} {
		for _, p := range both {
			b := basis(t, p)
			c.change(&b)
			if sum, err := window.PoolDigest(b.Pool, p); err == nil {
				b.Entry.PoolDigest = sum
			}
			want := c.compat
			if p.Strict() {
				want = c.strict
			}
			r, tasks, err := window.Build(b)
			if (err != nil) != (want != fault.Unknown) || err != nil && fault.Of(err) != want {
				t.Errorf("%s, %v: %v", c.name, p, err)
			}
			if err != nil && (len(tasks) > 0 || len(r.TaskIDs) > 0) {
				t.Errorf("%s, %v: leaves %v behind", c.name, p, r)
			}
		}
	}
}

func TestBehaviourT24_AnInvitationStandsWhereVerbsAreDeclared(t *testing.T) {
	b := basis(t, profile.Strict)
	for i := range b.Pool {
		b.Pool[i].Tools = []string{reading.Read, reading.Find}
		b.Pool[i].Prompt += reading.Invitation(b.Pool[i].Tools)
	}
	commit(t, &b)
	r, _ := build(t, b)
	if _, err := window.Verify(r, 7, manifest(t, b.Entry), window.Pool{Specs: b.Pool}); err != nil {
		t.Error(err)
	}
	// An owner who builds with other rules is found out by whoever verifies: the draw knows nothing of statements.
	drawn := slices.IndexFunc(b.Pool, func(s task.Spec) bool { return s.ID == r.TaskIDs[0] })
	b.Pool[drawn].Tools = nil
	b.Entry.Profile = profile.Compat
	commit(t, &b)
	forged, _ := build(t, b)
	b.Entry.Profile = profile.Strict
	commit(t, &b)
	forged.Schedule, forged.RulesDigest = b.Entry.Object(), b.RulesDigest
	if _, err := window.Verify(forged, 7, manifest(t, b.Entry), window.Pool{Specs: b.Pool}); fault.Of(err) != conductor.BadInvitation {
		t.Errorf("a forged window: %v", err)
	}
}

func TestProperty_what_is_built_verifies_and_nothing_else_does(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := rapid.SampledFrom(both).Draw(rt, "profile")
		b := basis(t, p)
		b.Pool = pool(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.IntRange(2, 9), 1, 3).Draw(rt, "sizes"))
		commit(t, &b)
		b.Nonce = rapid.StringN(1, 12, -1).Draw(rt, "nonce")
		for _, s := range b.Pool {
			if rapid.Bool().Draw(rt, "revealed") {
				b.Revealed = append(b.Revealed, s.ID)
			}
		}
		r, _ := build(t, b)
		back, err := reread(t, r, nil)
		if err != nil {
			rt.Fatal(err)
		}
		m := manifest(t, b.Entry)
		if _, err := window.Verify(back, 7, m, window.Pool{Specs: b.Pool}); err != nil {
			rt.Fatal(err)
		}
		back.Nonce += "x"
		if _, err := window.Verify(back, 7, m, window.Pool{Specs: b.Pool}); err == nil {
			if d, err := window.Draw(b.Pool, back.Nonce, "7", 4, 2); err != nil || !slices.Equal(ids(d), r.TaskIDs) {
				rt.Fatal("another nonce verifies")
			}
		}
	})
}
