package catalog_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/conductor"
	"assay/conductor/catalog"
	"assay/conductor/profile"
	"assay/core/fault"
)

var both = []profile.Profile{profile.Strict, profile.Compat}

// row is a listing's row that is usable unless a test changes it.
func row(id string, more string) string {
	return fmt.Sprintf(`{"id":%q,"context_length":128000,"pricing":{"prompt":"0.00000125","completion":"0.00001"}%s}`, id, more)
}

func listing(rows ...string) []byte { return []byte(`{"data":[` + strings.Join(rows, ",") + `]}`) }

// admit returns the admitted ids, and "reason/detail" by row for what was left out.
func admit(t *testing.T, p profile.Profile, rows ...string) (ids []string, drops map[int]string, s *catalog.Snapshot) {
	t.Helper()
	s, left, err := catalog.Admit(listing(rows...), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range s.Entries() {
		ids = append(ids, e.ID)
	}
	drops = map[int]string{}
	for _, d := range left {
		drops[d.Row] = strings.TrimSuffix(string(d.Reason)+"/"+d.Detail, "/")
	}
	return ids, drops, s
}

func refusal(t *testing.T, err error, want fault.Code) {
	t.Helper()
	if !errors.Is(err, want.With()) {
		t.Errorf("got %v, want the refusal %s", err, want.Name())
	}
}

func TestBehaviourP1_RowsAreSortedByID(t *testing.T) {
	for _, order := range [][]string{{"b/b", "a/z", "a/b", "B/b"}, {"B/b", "a/b", "a/z", "b/b"}} {
		rows := make([]string, len(order))
		for i, id := range order {
			rows[i] = row(id, "")
		}
		ids, _, _ := admit(t, profile.Strict, rows...)
		if want := []string{"B/b", "a/b", "a/z", "b/b"}; !slices.Equal(ids, want) {
			t.Errorf("from %v: %v, want %v", order, ids, want)
		}
	}
}

func TestBehaviourP2_PricesAreForAMillionTokens(t *testing.T) {
	_, _, s := admit(t, profile.Strict, row("a/b", ""))
	if want := (catalog.Entry{ID: "a/b", In: 1.25, Out: 10, Context: 128000}); s.At(0) != want {
		t.Errorf("got %+v, want %+v", s.At(0), want)
	}
	_, _, s = admit(t, profile.Strict, `{"id":"a/b","context_length":1,"pricing":{"prompt":0.00000012345669999999999,"completion":1}}`)
	if s.At(0).In != 0.00000012345669999999999*1e6 || s.At(0).Out != 1e6 {
		t.Errorf("numbers for prices give %+v", s.At(0))
	}
}

func TestBehaviourP_RowsThatAreLeftOut(t *testing.T) {
	priced := func(pricing string) string { return `{"id":"a/b","context_length":1,"pricing":` + pricing + `}` }
	context := func(c string) string {
		return `{"id":"a/b"` + c + `,"pricing":{"prompt":"1","completion":"1"}}`
	}
	const kept = ""
	for _, c := range []struct{ name, row, want string }{
		{"P3 variable price", priced(`{"prompt":"-1","completion":"1"}`), "structural/price_negative"},
		{"P3 variable price", priced(`{"prompt":"1","completion":-1}`), "structural/price_negative"},
		{"P4 completion price missing", priced(`{"prompt":"1"}`), "structural/price_missing"},
		{"P4 prompt price missing", priced(`{"completion":"1"}`), "structural/price_missing"},
		{"P4 price null", priced(`{"prompt":null,"completion":"1"}`), "structural/price_unreadable"},
		{"P4 price a word", priced(`{"prompt":"free","completion":"1"}`), "structural/price_unreadable"},
		{"P4 price hexadecimal", priced(`{"prompt":"0x1p-2","completion":"1"}`), "structural/price_unreadable"},
		{"P4 price empty", priced(`{"prompt":"","completion":"1"}`), "structural/price_unreadable"},
		{"P5 context missing", context(``), "structural/context_length"},
		{"P5 context zero", context(`,"context_length":0`), "structural/context_length"},
		{"P5 context negative", context(`,"context_length":-5`), "structural/context_length"},
		{"P5 context a string", context(`,"context_length":"8192"`), "structural/context_length"},
		{"P5 context a float", context(`,"context_length":4096.0`), "structural/context_length"},
		{"P5 context null", context(`,"context_length":null`), "structural/context_length"},
		{"P6 both prices zero", priced(`{"prompt":"0","completion":"0.0"}`), "zero_price"},
		{"P6 only completion zero", priced(`{"prompt":"0.1","completion":"0"}`), kept},
		{"P6 only prompt zero", priced(`{"prompt":0,"completion":"0.1"}`), kept},
		{"P7 free", row("a/b:free", ""), "suffix"},
		{"P7 batch", row("a/b:batch", ""), "suffix"},
		{"P7 nitro", row("a/b:nitro", ""), kept},
		{"P7 beta", row("a/b:beta", ""), kept},
		{"P7 free within", row("a/b:free:beta", ""), kept},
		{"P8 no temperature", row("a/b", `,"supported_parameters":["top_p","seed"]`), "no_temperature"},
		{"P8 no parameters", row("a/b", `,"supported_parameters":[]`), "no_temperature"},
		{"P8 temperature", row("a/b", `,"supported_parameters":["top_p","temperature"]`), kept},
		{"P8 null", row("a/b", `,"supported_parameters":null`), kept},
		{"P8 absent", row("a/b", ``), kept},
		{"P9 image output", row("a/b", `,"architecture":{"output_modalities":["text","image"]}`), "modality"},
		{"P9 no output", row("a/b", `,"architecture":{"output_modalities":[]}`), "modality"},
		{"P9 text", row("a/b", `,"architecture":{"output_modalities":["text"]}`), kept},
		{"P9 modalities absent", row("a/b", `,"architecture":{}`), kept},
		{"P9 architecture null", row("a/b", `,"architecture":null`), kept},
		{"P10 a number", `42`, "structural/not_object"},
		{"P10 a list", `["a/b"]`, "structural/not_object"},
		{"P10 null", `null`, "structural/not_object"},
		{"P10 no id", `{"context_length":1,"pricing":{"prompt":"1","completion":"1"}}`, "structural/no_id"},
		{"P10 id a number", `{"id":7,"context_length":1,"pricing":{"prompt":"1","completion":"1"}}`, "structural/no_id"},
		{"P10 no pricing", `{"id":"a/b","context_length":1}`, "structural/no_pricing"},
		{"P10 pricing a list", priced(`["1","1"]`), "structural/no_pricing"},
		{"P12 NaN", priced(`{"prompt":"1","completion":"nan"}`), "structural/price"},
		{"first reason wins", row("a/b:free", `,"supported_parameters":[]`), "suffix"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, p := range both {
				ids, drops, _ := admit(t, p, c.row, row("other/model", ""))
				if c.want == kept && (len(drops) != 0 || len(ids) != 2) {
					t.Errorf("%v: %s was left out as %v", p, c.row, drops)
				}
				if c.want != kept && (!strings.HasPrefix(drops[0], c.want) || !slices.Equal(ids, []string{"other/model"})) {
					t.Errorf("%v: %s gave %v and left out %v, want %s", p, c.row, ids, drops, c.want)
				}
			}
		})
	}
}

func TestBehaviourP11_AnIDTwiceAmongUsableRows(t *testing.T) {
	for _, p := range both {
		_, drops, err := catalog.Admit(listing(row("a/b", ""), row("c/d", ""), row("a/b", "")), p)
		refusal(t, err, conductor.DuplicateID)
		if len(drops) != 0 {
			t.Errorf("%v: left out %v", p, drops)
		}
		ids, left, _ := admit(t, p, row("a/b", ""), row("a/b", `,"supported_parameters":[]`))
		if !slices.Equal(ids, []string{"a/b"}) || left[1] != "no_temperature" {
			t.Errorf("%v: one usable and one not gives %v, left out %v", p, ids, left)
		}
	}
}

func TestBehaviourP13_NumbersThatArePricesByAccident(t *testing.T) {
	priced := func(price string) string {
		return `{"id":"a/b","context_length":1,"pricing":{"prompt":` + price + `,"completion":"1"}}`
	}
	for _, c := range []struct {
		row    string
		compat float64
		strict string
	}{
		{priced(`"inf"`), math.Inf(1), "structural/price_unreadable"},
		{priced(`"+Infinity"`), math.Inf(1), "structural/price_unreadable"},
		{priced(`"1e400"`), math.Inf(1), "structural/price_unreadable"},
		{priced(`"1e305"`), math.Inf(1), "structural/price_infinite"}, // only its price for a million is
		{priced(`true`), 1e6, "structural/price_unreadable"},
		{priced(`" 0.5 "`), 0.5e6, "structural/price_unreadable"},
		{priced(`"1_0"`), 10e6, "structural/price_unreadable"},
		{priced(`"\u0661"`), 1e6, "structural/price_unreadable"},
		{priced(`"-0"`), 0, "structural/price_negative"},
	} {
		_, drops, s := admit(t, profile.Compat, c.row)
		if len(drops) != 0 || s.At(0).In != c.compat {
			t.Errorf("compat: %s left out %v", c.row, drops)
		}
		if _, drops, _ := admit(t, profile.Strict, c.row); drops[0] != c.strict {
			t.Errorf("strict: %s left out as %q, want %q", c.row, drops[0], c.strict)
		}
	}
	isTrue := `{"id":"a/b","context_length":true,"pricing":{"prompt":"1","completion":"1"}}`
	_, _, s := admit(t, profile.Compat, isTrue)
	if got := string(s.At(0).AppendRow(nil)); got != "a/b / 1e+06 / 1e+06 / True" {
		t.Errorf("compat shows a context length of true as %q", got)
	}
	if want := `[{"context_length":true,"model_id":"a/b","price_in_per_mtok":1000000.0,"price_out_per_mtok":1000000.0}]`; s.Freeze() != want {
		t.Errorf("compat freezes a context length of true as %s", s.Freeze())
	}
	if _, drops, _ := admit(t, profile.Strict, isTrue); drops[0] != "structural/context_length" {
		t.Errorf("strict: a context length of true is left out as %q", drops[0])
	}
	for _, bad := range []string{`"_1"`, `"1_"`, `"1__0"`, `"1_.5"`, `"0x10"`, `"+-inf"`, `"infinit"`, `"1e"`, `"."`, `[]`, `{}`} {
		if _, drops, _ := admit(t, profile.Compat, priced(bad)); drops[0] != "structural/price_unreadable" {
			t.Errorf("compat reads the price %s: %v", bad, drops)
		}
	}
}

func TestStrictLeavesOutIDsThatWouldChangeAPrompt(t *testing.T) {
	for id, flaw := range map[string]string{
		"":                         "empty",
		"a b/c":                    "blank",
		"a/b\nSTOP":                "line_end",
		"a/b\u2028c":               "line_end",
		"a/\u200bb":                "invisible",
		"a/\x07b":                  "control",
		strings.Repeat("m", 256+1): "too_long",
	} {
		quoted := fmt.Sprintf("%q", id)
		if id == "a/\x07b" {
			quoted = `"a/\u0007b"`
		}
		r := `{"id":` + quoted + `,"context_length":1,"pricing":{"prompt":"1","completion":"1"}}`
		if _, drops, _ := admit(t, profile.Strict, r); drops[0] != "bad_id/"+flaw {
			t.Errorf("strict: %q is left out as %q, want the flaw %s", id, drops[0], flaw)
		}
		if ids, _, _ := admit(t, profile.Compat, r); !slices.Equal(ids, []string{id}) {
			t.Errorf("compat: %q gives %q", id, ids)
		}
	}
}

func TestBehaviourP14_FreezeThaw(t *testing.T) {
	s, err := catalog.New([]catalog.Entry{
		{ID: "z/z", In: 0.12345669999999999, Out: 1e-6, Context: 8192}, {ID: "a/ü", In: 10, Out: 0, Context: 1},
	}, profile.Strict)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"context_length":8192,"model_id":"z/z","price_in_per_mtok":0.12345669999999999,"price_out_per_mtok":1e-06},` +
		`{"context_length":1,"model_id":"a/\u00fc","price_in_per_mtok":10.0,"price_out_per_mtok":0.0}]`
	if s.Freeze() != want {
		t.Errorf("frozen as\n%s, want\n%s", s.Freeze(), want)
	}
	back, err := catalog.Thaw(want, profile.Strict)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(s.Entries(), back.Entries(), cmp.AllowUnexported(catalog.Entry{})); d != "" || back.Digest() != s.Digest() {
		t.Errorf("thawed otherwise: %s", d)
	}
	infinite, _, err := catalog.Admit(listing(`{"id":"a/b","context_length":1,"pricing":{"prompt":"inf","completion":"1"}}`), profile.Compat)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := catalog.Thaw(infinite.Freeze(), profile.Compat); err != nil || back.Freeze() != infinite.Freeze() {
		t.Errorf("an infinite price does not read back: %v", err)
	}
	_, err = catalog.Thaw(infinite.Freeze(), profile.Strict)
	refusal(t, err, conductor.BadPrice)
	for _, bad := range []string{
		"", "{}", "null", "[1]", `[{}]`, `[{"model_id":"a","context_length":1,"price_in_per_mtok":1.0}]`, "[]x",
		`[{"context_length":1.5,"model_id":"a","price_in_per_mtok":1.0,"price_out_per_mtok":1.0}]`,
		`[{"context_length":1,"model_id":"a","price_in_per_mtok":"1","price_out_per_mtok":1.0}]`,
		`[{"context_length":1,"model_id":7,"price_in_per_mtok":1.0,"price_out_per_mtok":1.0}]`,
	} {
		for _, p := range both {
			_, err := catalog.Thaw(bad, p)
			refusal(t, err, conductor.BadFrozen)
		}
	}
}

func TestBehaviourP15_Narrow(t *testing.T) {
	s, err := catalog.New([]catalog.Entry{
		{ID: "dear", In: 3, Out: 12, Context: 1}, {ID: "mid-b", In: 1, Out: 2, Context: 1}, {ID: "mid-a", In: 2, Out: 1, Context: 1}, {ID: "cheap", In: 0.1, Out: 0.4, Context: 1},
	}, profile.Strict)
	if err != nil {
		t.Fatal(err)
	}
	n, err := s.Narrow([]string{"dear", "mid-a", "cheap", "mid-b", "cheap"})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range n.Entries() {
		ids = append(ids, e.ID)
	}
	if want := []string{"cheap", "mid-b", "mid-a", "dear"}; !slices.Equal(ids, want) { // equal sums keep the snapshot's order
		t.Errorf("narrowed to %v, want %v", ids, want)
	}
	_, err = s.Narrow([]string{"cheap", "gone/model"})
	refusal(t, err, conductor.MissingIDs)
	if err == nil || !strings.Contains(err.Error(), "gone/model") {
		t.Errorf("the refusal does not name the model: %v", err)
	}
	for _, few := range [][]string{nil, {"cheap"}, {"cheap", "cheap"}} {
		_, err = s.Narrow(few)
		refusal(t, err, conductor.TooFewIDs)
	}
}

func TestBehaviourP16_LookupGivesTheIDUnchangedOrNothing(t *testing.T) {
	_, _, s := admit(t, profile.Strict, row("a/b", ""), row("c/d", ""))
	m, ok := s.Lookup("c/d")
	if !ok || m.String() != "c/d" || m.Index() != 1 || m.Entry().ID != "c/d" || m.IsZero() {
		t.Errorf("c/d is looked up as %q at %d", m, m.Index())
	}
	for _, id := range []string{"", "a", "a/b ", " a/b", "A/B", "a/b:nitro", "e/f"} {
		if m, ok := s.Lookup(id); ok || !m.IsZero() || m.String() != "" || !panics(func() { m.Index() }) || !panics(func() { m.Entry() }) {
			t.Errorf("%q is looked up as %q", id, m)
		}
	}
}

func TestBehaviourP17_EmptyListing(t *testing.T) {
	for _, p := range both {
		s, drops, err := catalog.Admit([]byte(`{"data":[]}`), p)
		if err != nil || s.Len() != 0 || len(drops) != 0 {
			t.Errorf("%v: %v", p, err)
		}
		for _, bad := range []string{``, `[]`, `null`, `{"data":{}}`, `{"data":7}`, `{"data":[]} x`} {
			_, _, err := catalog.Admit([]byte(bad), p)
			refusal(t, err, conductor.BadListing)
		}
	}
	if s, _, err := catalog.Admit([]byte(`{}`), profile.Compat); err != nil || s.Len() != 0 {
		t.Errorf("compat reads a payload without data as empty: %v", err)
	}
	_, _, err := catalog.Admit([]byte(`{}`), profile.Strict)
	refusal(t, err, conductor.BadListing)
}

func TestNewIsStrictAboutWhatItIsGiven(t *testing.T) {
	for _, c := range []struct {
		e    catalog.Entry
		want fault.Code
	}{
		{catalog.Entry{ID: "a b", In: 1, Out: 1, Context: 1}, conductor.BadModelID},
		{catalog.Entry{ID: "a\xff", In: 1, Out: 1, Context: 1}, conductor.BadModelID},
		{catalog.Entry{ID: "a", In: -1, Out: 1, Context: 1}, conductor.BadPrice},
		{catalog.Entry{ID: "a", In: 1, Out: math.NaN(), Context: 1}, conductor.BadPrice},
		{catalog.Entry{ID: "a", In: 1, Out: math.Inf(1), Context: 1}, conductor.BadPrice},
		{catalog.Entry{ID: "a", In: 1, Out: 1}, conductor.BadContext},
	} {
		_, err := catalog.New([]catalog.Entry{c.e}, profile.Strict)
		refusal(t, err, c.want)
		if _, err := catalog.New([]catalog.Entry{c.e}, profile.Compat); err != nil {
			t.Errorf("compat: %v", err)
		}
	}
}

func TestRankIsByPriceThenID(t *testing.T) {
	s, err := catalog.New([]catalog.Entry{
		{ID: "c", In: 1, Out: 1, Context: 1}, {ID: "a", In: 2, Out: 0, Context: 1}, {ID: "b", In: 0, Out: 1, Context: 1}, {ID: "d", In: 9, Out: 9, Context: 1},
	}, profile.Strict)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Rank(), []int{2, 1, 0, 3}; !slices.Equal(got, want) {
		t.Errorf("ranked %v, want %v", got, want)
	}
}

func TestBudgetOfThePrefix(t *testing.T) {
	if err := catalog.CheckBudget(2 * catalog.TokenBudget); err != nil {
		t.Errorf("64,000 characters are 32,000 tokens: %v", err)
	}
	refusal(t, catalog.CheckBudget(2*catalog.TokenBudget+1), conductor.CatalogTooLarge)
}

func TestNearestIsAHint(t *testing.T) {
	_, _, s := admit(t, profile.Strict, row("openai/gpt-5.4", ""), row("z-ai/glm-5.2", ""))
	for id, want := range map[string]string{
		"openai/gpt5.4": "openai/gpt-5.4", "OpenAI/gpt-5.4": "openai/gpt-5.4", "z-ai/glm-5": "z-ai/glm-5.2", "something/else": "", "": "",
		strings.Repeat("x", 1000): "",
	} {
		if got := s.Nearest(id); got != want {
			t.Errorf("nearest to %q is %q, want %q", id, got, want)
		}
	}
	// A hint is for people: nothing is ever looked up by it.
	if _, ok := s.Lookup("openai/gpt5.4"); ok {
		t.Error("a near miss is looked up")
	}
}

// panics reports whether f panics with a sentence, as a broken invariant does.
func panics(f func()) (yes bool) {
	defer func() { _, yes = recover().(string) }()
	f()
	return false
}
