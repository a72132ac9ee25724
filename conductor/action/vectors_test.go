package action_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/conductor/action"
	"assay/conductor/catalog"
	"assay/conductor/profile"
)

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

type parseLine struct {
	ID, Quirk string
	In        struct {
		Raw string
		IDs []string
	}
	Want struct {
		Kind    string
		ModelID *string `json:"model_id"`
	}
	WantError string `json:"want_error"`
}

func (l parseLine) want() string {
	if l.Want.ModelID != nil {
		return l.Want.Kind + " " + *l.Want.ModelID
	}
	return l.Want.Kind + l.WantError
}

func catalogOfIDs(tb testing.TB, ids []string) *catalog.Snapshot {
	tb.Helper()
	entries := make([]catalog.Entry, len(ids))
	for i, id := range ids {
		entries[i] = catalog.Entry{ID: id, In: 1, Out: 1, Context: 1}
	}
	return snapshot(tb, profile.Compat, entries...)
}

// Compat reads as the reference does; Strict differs on the lines that pin an accident, and there it refuses.
func TestVectorsOfParse(t *testing.T) {
	vectors(t, "parse", func(line []byte) {
		var l parseLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		s := catalogOfIDs(t, l.In.IDs)
		compat, strict := said(l.In.Raw, s, profile.Compat), said(l.In.Raw, s, profile.Strict)
		if compat != l.want() {
			t.Errorf("%s: compat reads %q, want %q", l.ID, compat, l.want())
		}
		if l.Quirk == "" && strict != compat {
			t.Errorf("%s: strict reads %q, compat %q, and the line pins no accident", l.ID, strict, compat)
		}
		if _, isFailure := action.ParseFailure(strict); l.Quirk != "" && !isFailure {
			t.Errorf("%s: strict reads %q where the line pins an accident", l.ID, strict)
		}
	})
}

func TestVectorsOfTracker(t *testing.T) {
	vectors(t, "tracker", func(line []byte) {
		var l struct {
			ID string
			In struct{ IDs, Turns []string }

			Want struct {
				Outcomes     [][]any
				ForcedStopAt *int `json:"forced_stop_at"`
			}
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		s := catalogOfIDs(t, l.In.IDs)
		var tr action.Tracker
		for i, want := range l.Want.Outcomes {
			a, f := action.Parse(l.In.Turns[i], s, profile.Compat)
			forced := tr.Take(f)
			kind := a.Kind().String()
			switch {
			case forced:
				kind = "forced_stop"
			case f != action.Readable:
				kind = "refused"
			}
			model, _ := want[1].(string)
			if kind != want[0] || a.Model().String() != model || float64(tr.Failures()) != want[2] {
				t.Errorf("%s turn %d: %s %s %d, want %v", l.ID, i, kind, a.Model(), tr.Failures(), want)
			}
			if forced != (l.Want.ForcedStopAt != nil && *l.Want.ForcedStopAt == i) {
				t.Errorf("%s turn %d: forced %v, want it at %v", l.ID, i, forced, l.Want.ForcedStopAt)
			}
		}
	})
}
