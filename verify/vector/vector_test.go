package vector_test

import (
	"testing"
	"testing/fstest"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/profile"
	"assay/verify/vector"
)

// FuzzLine runs a foreign line through a group whose rule gives back its input: every line passes or fails, once.
func FuzzLine(f *testing.F) {
	for _, s := range []string{`{"id":"a-1","op":"x","in":1,"want":1}`, `{"id":"a-1","in":1,"want_error":"word"}`, `{`, "\xff", `{"id":7}`, `{"in":[1.0],"want":[1]}`} {
		f.Add(s)
	}
	known := map[string]vector.Runner{"a": func(_ profile.Profile, _ string, in jsontext.Value) (any, error) { return string(in), nil }}
	f.Fuzz(func(t *testing.T, line string) {
		groups, err := vector.Run(profile.Compat, known, fstest.MapFS{"a.jsonl": {Data: []byte(line)}}, nil)
		if err != nil || len(groups) != 1 {
			t.Fatalf("%v, %v", groups, err)
		}
		if g := groups[0]; g.Lines != g.Passed+len(g.Failed) {
			t.Fatalf("%d lines, %d passed, %d failed", g.Lines, g.Passed, len(g.Failed))
		}
	})
}
