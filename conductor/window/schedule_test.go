package window_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"assay/conductor"
	"assay/conductor/profile"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/canon"
	"assay/core/digest"
	"assay/core/fault"
)

func TestBehaviourN18_TheRootCoversEveryEntry(t *testing.T) {
	b := basis(t, profile.Strict)
	var entries []window.Entry
	for i := range int64(12) {
		e := b.Entry
		e.Epoch = 3 * i
		entries = append(entries, e)
	}
	base := manifest(t, entries...)
	backwards := slices.Clone(entries)
	slices.Reverse(backwards)
	if m := manifest(t, backwards...); m.Root != base.Root || !maps.Equal(m.Digests, base.Digests) {
		t.Error("the order of entries moves the root")
	}
	for i := range entries {
		changed := slices.Clone(entries)
		changed[i].Minimum++
		if manifest(t, changed...).Root == base.Root {
			t.Errorf("entry %d does not move the root", i)
		}
	}
	if _, err := window.NewManifest(append(entries, entries[0])); fault.Of(err) != conductor.BadSchedule {
		t.Errorf("two entries for one window: %v", err)
	}
	back, err := window.ParseManifest(text(t, base.Object()))
	if err != nil || back.Root != base.Root || !slices.Equal(back.Epochs(), base.Epochs()) {
		t.Errorf("reads back as %+v: %v", back, err)
	}
	for name, change := range map[string]func(canon.Object){
		"root": func(o canon.Object) { o["root"] = strings.Repeat("0", 64) }, "version": func(o canon.Object) { o["v"] = 2 },
		"epochs": func(o canon.Object) { o["epochs"] = []any{} }, "a digest less": func(o canon.Object) { delete(o["digests"].(canon.Object), "3") },
		"more": func(o canon.Object) { o["x"] = 1 }, "no digest": func(o canon.Object) { o["digests"].(canon.Object)["3"] = "x" },
		"no epoch": func(o canon.Object) { o["digests"].(canon.Object)["x"] = strings.Repeat("0", 64) }, "digests": func(o canon.Object) { o["digests"] = nil },
		"a second spelling": func(o canon.Object) { o["digests"].(canon.Object)["03"] = o["digests"].(canon.Object)["3"] },
	} {
		o := base.Object()
		change(o)
		if _, err := window.ParseManifest(text(t, o)); fault.Of(err) != conductor.BadSchedule {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEntriesReadBack(t *testing.T) {
	for _, p := range both {
		e := basis(t, p).Entry
		back, err := window.ParseEntry(text(t, e.Object()))
		if err != nil || back != e || back.Digest() != e.Digest() {
			t.Errorf("%v: %+v: %v", p, back, err)
		}
		for name, v := range map[string]any{"max_steps": 13, "temperature": .5, "scaffold_version": "v4", "max_conductor_tokens": 577, "v": 2} {
			o := e.Object()
			o[name] = v
			if _, err := window.ParseEntry(text(t, o)); fault.Of(err) != conductor.ForeignEntry || !strings.Contains(err.Error(), name) {
				t.Errorf("%v: %s: %v", p, name, err)
			}
		}
		for name, v := range map[string]any{
			"epoch": -1, "minimum": 1.5, "per_benchmark": "4", "pool_digest": "00", "profile": "compat", "instructions_sha256": "x", "more": 1,
		} {
			o := e.Object()
			o[name] = v
			if _, err := window.ParseEntry(text(t, o)); fault.Of(err) != conductor.BadEntry {
				t.Errorf("%v: %s: %v", p, name, err)
			}
		}
	}
	if _, err := window.ParseEntry([]byte("[]")); fault.Of(err) != conductor.BadEntry {
		t.Errorf("a list: %v", err)
	}
	// What is committed and still not ours is refused in its place, after the commitment was compared.
	b := basis(t, profile.Compat)
	r, _ := build(t, b)
	o := b.Entry.Object()
	o["max_steps"] = 99
	sum, err := digest.HexOf(o)
	if err != nil {
		t.Fatal(err)
	}
	r.Schedule = o
	if _, err := window.Verify(r, 7, window.Manifest{Digests: map[int64]string{7: sum}}, window.Pool{Specs: b.Pool}); fault.Of(err) != conductor.ForeignEntry {
		t.Errorf("other constants that were committed: %v", err)
	}
}

func TestPoolLines(t *testing.T) {
	s := task.Spec{ID: "t-1", Benchmark: "größe", Prompt: "x", Tools: []string{"READ", "a\"b"}}
	const want = `["gr\u00f6\u00dfe","t-1","2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",["READ","a\"b"],null]`
	if got := window.LineOf(s).String(); got != want {
		t.Errorf("%s", got)
	}
	for _, bad := range []string{
		"", "[]", want + " ", " " + want, strings.Replace(want, ",null", `,""`, 1), strings.Replace(want, "null", "1", 1), strings.Replace(want, "2d7", "2D7", 1),
		strings.Replace(want, `"t-1"`, `""`, 1), strings.Replace(want, `"t-1"`, "1", 1), strings.Replace(want, `["READ"`, `[1`, 1),
		strings.Replace(want, `\u00f6`, "ö", 1), strings.Replace(want, ",", ", ", 1), strings.Replace(want, "null", "null,null", 1),
	} {
		if l, err := window.ParsePoolLine([]byte(bad)); fault.Of(err) != conductor.BadPoolLine {
			t.Errorf("%s: %+v, %v", bad, l, err)
		}
	}
	p := pool(map[string]int{"a": 3, "b": 2})
	p[1].Tools, p[2].Group = []string{"READ"}, "repo"
	var lines []window.PoolLine
	var joined []string
	for _, s := range p { // the pool stands in the digest's order already
		l, err := window.ParsePoolLine([]byte(window.LineOf(s).String()))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
		joined = append(joined, l.String())
	}
	sum := digest.HexOfBytes([]byte("[" + strings.Join(joined, ",") + "]"))
	slices.Reverse(lines)
	strict, err := window.PoolDigest(p, profile.Strict)
	if err != nil || strict != sum || window.PoolDigestOf(lines) != sum {
		t.Errorf("%s, %s, want %s: %v", strict, window.PoolDigestOf(lines), sum, err)
	}
	if compat, err := window.PoolDigest(p, profile.Compat); err != nil || compat == sum {
		t.Errorf("compat: %s, %v", compat, err)
	}
	if empty := window.PoolDigestOf(nil); empty != digest.HexOfBytes([]byte("[]")) {
		t.Errorf("an empty pool: %s", empty)
	}
}
