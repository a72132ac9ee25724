package admission_test

import (
	"strings"
	"testing"

	"assay/conductor/admission"
	"assay/conductor/profile"
)

func TestWeightIndex(t *testing.T) {
	const all = `{"metadata":{"total_size":32},"weight_map":{"a":"1.safetensors","b":"1.safetensors","c":"sub/2.safetensors"}}`
	index := func(path, text string) change { return change{path: text} }
	const top = "model.safetensors.index.json"
	check(t, []want{
		{name: "all named", compat: "admitted", change: index(top, all)},
		{name: "one left out", compat: "admitted", strict: "bad_index " + top, change: index(top, strings.Replace(all, `"a":"1.safetensors",`, "", 1))},
		{name: "another file", compat: "admitted", strict: "bad_index " + top, change: index(top, strings.Replace(all, `"a":"1.`, `"a":"2.`, 1))},
		{name: "outside", compat: "admitted", strict: "bad_index " + top, change: index(top, strings.Replace(all, `"1.`, `"../1.`, 1))},
		{name: "an unknown tensor", compat: "admitted", strict: "bad_index " + top, change: index(top, strings.Replace(all, `"a":`, `"z":"1.safetensors","a":`, 1))},
		{name: "named twice", compat: "admitted", strict: "bad_index " + top, change: index(top, strings.Replace(all, `"a":`, `"a":"x","a":`, 1))},
		{name: "a number", compat: "admitted", strict: "bad_index " + top, change: index(top, strings.Replace(all, `"1.safetensors"`, `1`, 1))},
		{name: "no map", compat: "admitted", strict: "bad_index " + top, change: index(top, `{"weight_map":[]}`)},
		{name: "no JSON", compat: "admitted", strict: "bad_index " + top, change: index(top, `{`)},
		{name: "paths begin at its folder", compat: "admitted", strict: "bad_index sub/x.safetensors.index.json",
			change: index("sub/x.safetensors.index.json", strings.ReplaceAll(all, "sub/", ""))},
		{name: "too long", compat: "admitted", strict: "oversized_file " + top, change: index(top, all+strings.Repeat(" ", 32<<20))},
	})
}

// TestIndexBlamesNoUnreadFile: what a malformed weight file held is not known, so an index that names it is not wrong for that.
func TestIndexBlamesNoUnreadFile(t *testing.T) {
	found, err := admission.Findings(good(change{
		"1.safetensors":                "short",
		"model.safetensors.index.json": `{"weight_map":{"a":"1.safetensors","b":"1.safetensors","c":"sub/2.safetensors"}}`,
	}), reference(t), profile.Strict)
	if err != nil || len(found) != 1 || found[0].Kind != admission.MalformedWeightFile {
		t.Errorf("%v, %v", found, err)
	}
}
