package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"assay/conductor"
	"assay/conductor/action"
	"assay/conductor/catalog"
	"assay/conductor/policy"
	"assay/conductor/profile"
)

// unknown says that no turn naming the id is an action.
func unknown(t *testing.T, s *catalog.Snapshot, ids ...string) {
	t.Helper()
	for _, id := range ids {
		for _, verb := range []string{"DELEGATE ", "RETRY "} {
			if _, f := action.Parse(verb+id, s, profile.Strict); f != action.UnknownID {
				t.Errorf("%s%s: %v", verb, id, f)
			}
		}
	}
}

func TestFault1_AVariablePriceIsNoPrice(t *testing.T) {
	for _, price := range []string{`"-1"`, `-1`, `"-0.000001"`, `"-1e-30"`, `"-1.0"`} {
		auto := `{"id":"acme/auto","context_length":200000,"pricing":{"prompt":` + price + `,"completion":` + price + `}}`
		half := `{"id":"acme/half","context_length":200000,"pricing":{"prompt":"0.1","completion":` + price + `}}`
		for _, p := range both {
			ids, drops, s := admit(t, p, auto, half, row("acme/one", ""))
			if !slices.Equal(ids, []string{"acme/one"}) || drops[0] != "structural/price_negative" || drops[1] != "structural/price_negative" {
				t.Errorf("%v: price %s gives %v, left out %v", p, price, ids, drops)
			}
			for _, e := range s.Entries() {
				if e.In < 0 || e.Out < 0 {
					t.Errorf("%v: a negative price reached the snapshot: %+v", p, e)
				}
			}
			unknown(t, s, "acme/auto", "acme/half")
		}
	}
}

func TestFault2_AnIDIsMatchedWhole(t *testing.T) {
	_, _, s := admit(t, profile.Strict, row("acme/auto-coder", ""), row("z/z", ""))
	unknown(t, s, "acme/auto", "auto-coder", "ACME/auto-coder", "acme/auto-coder2", "me/auto-coder", "acme/auto-coder/", "acme", "/")
	if _, f := action.Parse("DELEGATE acme/auto-coder", s, profile.Strict); f != action.Readable {
		t.Errorf("the id itself is refused: %v", f)
	}
}

func TestFault11_AModelWithoutAPriceIsRefusedByName(t *testing.T) {
	_, drops, s := admit(t, profile.Strict, `{"id":"acme/unpriced","context_length":1,"pricing":{}}`, row("acme/one", ""), row("acme/two", ""))
	if drops[0] != "structural/price_missing" {
		t.Errorf("left out as %q", drops[0])
	}
	_, left, err := catalog.Admit(listing(`{"id":"acme/unpriced","context_length":1,"pricing":{}}`), profile.Strict)
	if err != nil || left[0].ID != "acme/unpriced" {
		t.Errorf("the row that was left out is not named: %+v, %v", left, err)
	}
	_, err = s.Narrow([]string{"acme/one", "acme/unpriced"})
	refusal(t, err, conductor.MissingIDs)
	if err == nil || !strings.Contains(err.Error(), "acme/unpriced") {
		t.Errorf("the refusal does not name the model: %v", err)
	}
	_, err = policy.Constant("acme/unpriced", s)
	refusal(t, err, conductor.UnknownModel)
	unknown(t, s, "acme/unpriced")
}
