package conformance_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"assay/conductor/admission"
	"assay/conductor/profile"
	"assay/core/canon"
	"assay/core/text"
	"assay/verify/conformance"
)

// stricter holds the lines without an accident that Strict answers otherwise all the same.
var stricter = []string{
	"catalog_snapshot-0012", // a listing without data: Compat reads it as an empty one
	// A call that does not stand alone in the worker's reply is part of the answer.
	"episode-0052", "episode-0053", "episode-0054", "episode-0055", "episode-0058", "episode-0059", "episode-0067", "episode-0068",
	"episode-0070", "episode-0071",
	// An output is cut after so many bytes, with a mark.
	"observe-0041", "observe-0042", "observe-0045", "observe-0056", "observe-0060", "observe-0061",
}

// notAlone reports whether a line of parse_tool wants a call that does not stand alone in its reply.
func notAlone(v vector) bool {
	var in struct {
		Raw string `json:"raw"`
	}
	return strings.HasPrefix(v.ID, "parse_tool") && string(v.Want) != "null" && canon.Lenient(v.In, &in) == nil && text.LastLine(in.Raw) != text.Trim(in.Raw)
}

// harmless holds the accidents that change nothing in their line.
var harmless = []string{"graders-0081"}

// badID is Strict's own word for a listing's row whose id a Conductor cannot name.
const badID = "bad_id"

// TestStrictDiffersOnlyOnAccidents runs every group but admission, which has further rules in Strict.
func TestStrictDiffersOnlyOnAccidents(t *testing.T) {
	for set := range lines {
		t.Run(set, func(t *testing.T) {
			tree := shared(t, set)
			groups, err := conformance.RunAll(profile.Strict, tree, nil)
			if err != nil {
				t.Fatal(err)
			}
			var want, got []string
			for _, g := range groups {
				if !g.Known || g.Name == "admission" {
					continue
				}
				for _, v := range vectors(t, tree, g.Name) {
					if (v.Quirk != "" || slices.Contains(stricter, v.ID) || notAlone(v)) && !slices.Contains(harmless, v.ID) {
						want = append(want, v.ID)
					}
				}
				for _, f := range g.Failed {
					if g.Name == "parse" && !strings.Contains(f.Why, "rejected as ") {
						t.Errorf("%s: strict reads a turn in a way of its own: %s", f.ID, f.Why)
					}
					if !strings.Contains(f.Why, " "+badID+"]") {
						got = append(got, f.ID)
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("lines on which strict differs (-want +got):\n%s", diff)
			}
		})
	}
}

// vector is what the tests of Strict need of a line.
type vector struct {
	ID    string         `json:"id"`
	Quirk string         `json:"quirk"`
	In    jsontext.Value `json:"in"`
	Want  jsontext.Value `json:"want"`
}

func vectors(t *testing.T, tree fs.FS, group string) (out []vector) {
	t.Helper()
	text, err := fs.ReadFile(tree, group+".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var v vector
		if err := canon.Lenient([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// TestStrictFindsWhatCompatRefuses wants Strict to find whatever Compat finds, and to refuse every accident too.
func TestStrictFindsWhatCompatRefuses(t *testing.T) {
	refused, accidents := 0, 0
	for _, v := range vectors(t, shared(t, "conductor"), "admission") {
		reference, tree, err := conformance.Trees(v.In)
		if err != nil {
			t.Fatal(err)
		}
		ref, err := admission.ReadReference(reference, profile.Compat)
		if err != nil {
			t.Fatal(err)
		}
		compat, err := admission.Admit(tree, ref, profile.Compat)
		if err != nil {
			t.Fatal(err)
		}
		found, err := admission.Findings(tree, ref, profile.Strict)
		if err != nil {
			t.Fatal(err)
		}
		if v.Quirk != "" {
			accidents++
			if len(found) == 0 {
				t.Errorf("%s: strict admits the accident %s", v.ID, v.Quirk)
			}
		}
		if compat.Admitted() {
			continue
		}
		refused++
		if !slices.Contains(found, compat.Refusal()) {
			t.Errorf("%s: strict does not find %+v among %+v", v.ID, compat.Refusal(), found)
		}
	}
	if refused < 50 || accidents < 3 {
		t.Errorf("%d refused trees and %d accidents were looked at", refused, accidents)
	}
}
