package catalog_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/conductor"
	"assay/conductor/catalog"
	"assay/conductor/profile"
	"assay/core/fault"
	"assay/core/name"
)

func FuzzAdmit(f *testing.F) {
	f.Add([]byte(`{"data":[]}`))
	f.Add(listing(row("a/b", ""), row("c/d:free", ""), row("e/f", `,"supported_parameters":["temperature"]`), `7`, `null`))
	f.Add(listing(`{"id":"a/b","context_length":true,"pricing":{"prompt":"inf","completion":"-0"}}`, row("a/b", "")))
	f.Add(listing(`{"id":"a\nb","context_length":1,"pricing":{"prompt":" 1_0 ","completion":"٣"}}`))
	f.Add([]byte(`{"data":[{"id":"x","id":"y","context_length":99999999999999999999,"pricing":{"prompt":1e400,"completion":1}}]}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		strict, drops, errStrict := catalog.Admit(payload, profile.Strict)
		compat, dropsC, errCompat := catalog.Admit(payload, profile.Compat)
		if errStrict == nil && errCompat == nil {
			if strict.Len()+len(drops) != compat.Len()+len(dropsC) {
				t.Fatalf("rows go missing: %d+%d against %d+%d", strict.Len(), len(drops), compat.Len(), len(dropsC))
			}
			for _, e := range strict.Entries() {
				if m, ok := compat.Lookup(e.ID); !ok || m.Entry() != e {
					t.Fatalf("strict admits %+v, compat does not", e)
				}
			}
		}
		if errStrict == nil {
			checkSound(t, strict)
			if _, err := catalog.New(strict.Entries(), profile.Strict); err != nil {
				t.Fatalf("an admitted snapshot is refused when it is made again: %v", err)
			}
		}
		if errCompat == nil {
			refrozen(t, compat)
		}
	})
}

// checkSound says what a strict snapshot promises.
func checkSound(t *testing.T, s *catalog.Snapshot) {
	t.Helper()
	entries := s.Entries()
	if !slices.IsSortedFunc(entries, func(a, b catalog.Entry) int { return strings.Compare(a.ID, b.ID) }) {
		t.Fatal("not in the order of ids")
	}
	for _, e := range entries {
		if name.CheckID(e.ID) != name.Sound || !price(e.In) || !price(e.Out) || e.Context <= 0 {
			t.Fatalf("admitted %+v", e)
		}
	}
	refrozen(t, s)
}

func price(f float64) bool { return f >= 0 && !math.IsInf(f, 1) }

// refrozen says that a snapshot's frozen text reads back to the same text.
func refrozen(t *testing.T, s *catalog.Snapshot) {
	t.Helper()
	text := s.Freeze()
	back, err := catalog.Thaw(text, profile.Compat)
	if err != nil || back.Freeze() != text {
		t.Fatalf("%q does not read back: %v", text, err)
	}
}

func FuzzThaw(f *testing.F) {
	f.Add(`[]`)
	f.Add(`[{"context_length":8192,"model_id":"z/z","price_in_per_mtok":0.12345669999999999,"price_out_per_mtok":1e-06}]`)
	f.Add(`[{"context_length":true,"model_id":"\u00fc \n","price_in_per_mtok":Infinity,"price_out_per_mtok":3}]`)
	f.Add(`[{"context_length":1,"model_id":"a","price_in_per_mtok":-1.0,"price_out_per_mtok":-0.0}]`)
	f.Fuzz(func(t *testing.T, frozen string) {
		s, err := catalog.Thaw(frozen, profile.Compat)
		strict, errStrict := catalog.Thaw(frozen, profile.Strict)
		if errStrict == nil && (err != nil || strict.Freeze() != s.Freeze()) {
			t.Fatalf("strict reads %q, compat does not: %v", frozen, err)
		}
		if err != nil {
			if fault.Of(err) == fault.Unknown {
				t.Fatalf("a refusal without a name: %v", err)
			}
			return
		}
		refrozen(t, s)
	})
}

// What the vectors pin as an accident is exactly where the profiles differ, and there Strict takes less.
func TestVectorsOfCatalogSnapshot(t *testing.T) {
	vectors(t, "catalog_snapshot", func(line []byte) {
		var l struct {
			ID, Op, Quirk string
			In            struct{ Payload json.RawMessage }
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		if l.Op != "snapshot" {
			return
		}
		strict, drops, errS := catalog.Admit(l.In.Payload, profile.Strict)
		compat, _, errC := catalog.Admit(l.In.Payload, profile.Compat)
		if errS != nil || errC != nil {
			if l.Quirk == "" && fault.Of(errS) != fault.Of(errC) && fault.Of(errS) != conductor.BadListing {
				t.Errorf("%s: strict refuses with %v, compat with %v", l.ID, errS, errC)
			}
			return
		}
		badIDs := catalog.Count(drops)[catalog.BadID]
		switch {
		case l.Quirk == "" && strict.Len()+badIDs != compat.Len():
			t.Errorf("%s: strict admits %d and leaves %d ids out, compat admits %d, and the line pins no accident", l.ID, strict.Len(), badIDs, compat.Len())
		case l.Quirk != "" && strict.Freeze() == compat.Freeze():
			t.Errorf("%s: strict reads the accident %s as compat does", l.ID, l.Quirk)
		}
	})
}

// vectors hands every line of a group to f, or skips where the conformance vectors are not at hand.
func vectors(tb testing.TB, group string, f func(line []byte)) {
	tb.Helper()
	for up, i := "..", 0; i < 5; up, i = filepath.Join(up, ".."), i+1 {
		b, err := os.ReadFile(filepath.Join(up, "shared", "vectors", "conductor", group+".jsonl"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			f([]byte(line))
		}
		return
	}
	tb.Skip("the conformance vectors are not beside this repository")
}
