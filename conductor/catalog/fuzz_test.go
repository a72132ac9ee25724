package catalog_test

import (
	"math"
	"slices"
	"strings"
	"testing"

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
