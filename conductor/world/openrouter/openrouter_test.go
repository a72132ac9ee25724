package openrouter_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/conductor"
	"assay/conductor/catalog"
	"assay/conductor/profile"
	"assay/conductor/world"
	"assay/conductor/world/openrouter"
	"assay/core/fault"
)

const listing = `{"data": [
 {"id": "z/dear", "pricing": {"prompt": "0.000003", "completion": "0.000015"}, "context_length": 200000},
 {"id": "a/cheap", "pricing": {"prompt": "0.0000001", "completion": "0.0000004"}, "context_length": 32768, "supported_parameters": ["temperature"]},
 {"id": "a/cheap:free", "pricing": {"prompt": "0", "completion": "0"}, "context_length": 32768},
 {"id": "m/unpriced", "pricing": {"prompt": "-1", "completion": "-1"}, "context_length": 32768}
]}`

func TestModels(t *testing.T) {
	models, drops, err := openrouter.Models([]byte(listing), profile.Strict)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]world.Model{{ID: "a/cheap", In: 0.1, Out: 0.4, Context: 32768}, {ID: "z/dear", In: 3, Out: 15, Context: 200000}}, models, cmp.Comparer(near)); d != "" {
		t.Error(d)
	}
	reasons := map[string]catalog.Reason{}
	for _, d := range drops {
		reasons[d.ID] = d.Reason
	}
	if d := cmp.Diff(map[string]catalog.Reason{"a/cheap:free": catalog.Suffix, "m/unpriced": catalog.Structural}, reasons); d != "" {
		t.Error(d)
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

func TestFault11_ModelThatIsNotUsableIsRefusedAndNotSubstituted(t *testing.T) {
	models, _, err := openrouter.Models([]byte(listing), profile.Strict, "a/cheap", "m/unpriced")
	if models != nil || fault.Of(err) != conductor.MissingIDs {
		t.Errorf("%v, %v; want the missing id named", models, err)
	}
	if models, _, err := openrouter.Models([]byte(listing), profile.Strict, "z/dear", "a/cheap"); err != nil || len(models) != 2 || models[0].ID != "a/cheap" {
		t.Errorf("%v, %v", models, err)
	}
}
