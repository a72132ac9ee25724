package catalog

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/conductor"
	"assay/conductor/internal/decimal"
	"assay/conductor/profile"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/name"
)

// Reason is why a listing's row was left out.
type Reason string

// The reasons, in the order in which they are tried.
const (
	Structural    Reason = "structural"     // the row cannot be read; Detail says how
	Suffix        Reason = "suffix"         // a rate-limited or asynchronous variant: ":free", ":batch"
	ZeroPrice     Reason = "zero_price"     // both prices are zero: a floor of nothing under the exchange rate
	NoTemperature Reason = "no_temperature" // the provider would refuse the pinned temperature
	Modality      Reason = "modality"       // does not answer in text alone
	BadID         Reason = "bad_id"         // strict: blanks, control characters or line ends would reach every prompt
)

// Drop is one row that was left out. Detail refines the reason, for instance "price_negative".
type Drop struct {
	Row    int
	ID     string // "" where the row has none
	Reason Reason
	Detail string
}

// Admit reads a model listing ({"data": [row, ...]}) and returns the usable models sorted by id, and every row left out.
// Prices in a listing are dollars for one token; the snapshot holds them for a million.
// A listing of another shape is conductor.BadListing (the reference reads one without data as empty); an id that stands twice among usable rows conductor.DuplicateID.
func Admit(listing []byte, p profile.Profile) (*Snapshot, []Drop, error) {
	v, err := canon.DecodeLast(listing)
	if err != nil {
		return nil, nil, conductor.BadListing.Because(err)
	}
	o, ok := v.(canon.Object)
	if !ok {
		return nil, nil, conductor.BadListing.With()
	}
	rows, ok := o["data"].([]any)
	if !ok && (p.Strict() || o["data"] != nil) {
		return nil, nil, conductor.BadListing.With()
	}
	var entries []Entry
	var drops []Drop
	for i, row := range rows {
		e, drop := admitRow(row, p)
		if drop.Reason != "" {
			drop.Row, drop.ID = i, e.ID
			drops = append(drops, drop)
			continue
		}
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return strings.Compare(a.ID, b.ID) })
	s, err := New(entries, profile.Compat) // the strict checks were made row by row, as reasons
	return s, drops, err
}

func admitRow(row any, p profile.Profile) (Entry, Drop) {
	bad := func(detail string) Drop { return Drop{Reason: Structural, Detail: detail} }
	o, ok := row.(canon.Object)
	if !ok {
		return Entry{}, bad("not_object")
	}
	id, ok := o["id"].(string)
	if !ok {
		return Entry{}, bad("no_id")
	}
	e := Entry{ID: id}
	pricing, ok := o["pricing"].(canon.Object)
	if !ok {
		return e, bad("no_pricing")
	}
	var detail string
	if e.In, detail = listedPrice(pricing, "prompt", p); detail != "" {
		return e, bad(detail)
	}
	if e.Out, detail = listedPrice(pricing, "completion", p); detail != "" {
		return e, bad(detail)
	}
	if e.Context, e.contextTrue, ok = contextLength(o["context_length"]); !ok || e.contextTrue && p.Strict() {
		return e, bad("context_length")
	}
	if p.Strict() {
		if flaw := name.CheckID(id); flaw != name.Sound {
			return e, Drop{Reason: BadID, Detail: string(flaw)}
		}
	}
	return e, Drop{Reason: usable(e, o)}
}

// usable returns the first reason why a readable row cannot serve, or "".
func usable(e Entry, o canon.Object) Reason {
	if strings.HasSuffix(e.ID, ":free") || strings.HasSuffix(e.ID, ":batch") {
		return Suffix
	}
	if e.In <= 0 && e.Out <= 0 {
		return ZeroPrice
	}
	if params, ok := o["supported_parameters"].([]any); ok && !slices.Contains(params, any("temperature")) {
		return NoTemperature
	}
	if arch, ok := o["architecture"].(canon.Object); ok {
		if out, ok := arch["output_modalities"].([]any); ok && !slices.Equal(out, []any{"text"}) {
			return Modality
		}
	}
	return ""
}

// listedPrice returns the dollars for a million tokens, or what is wrong with the listed price.
func listedPrice(pricing canon.Object, key string, p profile.Profile) (perMillion float64, detail string) {
	v, there := pricing[key]
	if !there {
		return 0, "price_missing"
	}
	f, ok := readPrice(v, p)
	switch {
	case !ok:
		return 0, "price_unreadable"
	case math.IsNaN(f):
		return 0, "price_nan"
	case f < 0:
		return 0, "price_negative"
	case p.Strict() && math.IsInf(f*1e6, 1):
		return 0, "price_infinite"
	case p.Strict() && math.Signbit(f):
		return 0, "price_negative"
	}
	return f * 1e6, ""
}

func readPrice(v any, p profile.Profile) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case canon.Int:
		f, err := strconv.ParseFloat(string(v), 64)
		return f, err == nil
	case bool:
		if v {
			return 1, !p.Strict()
		}
		return 0, !p.Strict()
	case string:
		return decimal.Read(v, p)
	}
	return 0, false
}

// contextLength reads a positive whole number; the reference also lets true through.
func contextLength(v any) (n int64, isTrue, ok bool) {
	switch v := v.(type) {
	case canon.Int:
		n, err := strconv.ParseInt(string(v), 10, 64)
		return n, false, err == nil && n > 0
	case bool:
		return 1, v, v
	}
	return 0, false, false
}

// quoteInfinity makes the bare word that an infinite price is frozen as readable for a JSON reader.
func quoteInfinity(frozen string) string {
	return strings.NewReplacer(
		`"price_in_per_mtok":Infinity`, `"price_in_per_mtok":"Infinity"`,
		`"price_out_per_mtok":Infinity`, `"price_out_per_mtok":"Infinity"`,
	).Replace(frozen)
}

// CheckBudget refuses a window-constant prompt part of this many characters when its estimate exceeds TokenBudget.
func CheckBudget(characters int) error {
	if n := PromptTokens(characters); n > TokenBudget {
		return conductor.CatalogTooLarge.With(fault.Int("estimated_tokens", int64(n)), fault.Int("limit", TokenBudget))
	}
	return nil
}
