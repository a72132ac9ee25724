// Package catalog holds the models that a window may call: which rows of a listing are admitted, at what price, in what order.
//
// Invariants:
//   - A ModelID is made by Snapshot.Lookup only, so an uncommitted model cannot be named to a worker.
//   - A snapshot never changes; its frozen text reads back to the same snapshot, order kept.
//   - Every row that is left out is published with a reason.
//
// Specification: docs/spec/catalog.md.
package catalog

import (
	"math"
	"slices"
	"strconv"

	"assay/conductor"
	"assay/conductor/profile"
	"assay/core/canon"
	"assay/core/digest"
	"assay/core/fault"
	"assay/core/name"
	"assay/core/text"
)

// TokenBudget is the largest window-constant part of a prompt, in estimated tokens (see PromptTokens).
const TokenBudget = 32_000

// Heading stands between the instructions and the rows of the catalog in every prompt.
const Heading = "\n# CATALOG\nThe models available this window: id / $ per million input tokens / $ per million output tokens / context length.\n"

// AppendPrefix appends the window-constant part of every prompt: instructions, heading and a line for each model.
func (s *Snapshot) AppendPrefix(dst []byte, instructions string) []byte {
	dst = append(append(dst, instructions...), Heading...)
	for i := range s.Len() {
		dst = append(s.At(i).AppendRow(dst), '\n')
	}
	return dst
}

// PromptTokens returns the estimate that the budget is measured with: ceil(characters / 2).
func PromptTokens(characters int) int { return (characters + 1) / 2 }

// Entry is one model: prices in dollars for a million tokens, context length in tokens.
type Entry struct {
	ID          string
	In, Out     float64
	Context     int64
	contextTrue bool // the reference freezes a context length of true as it came
}

// Sum returns the price by which models are ranked: in plus out.
func (e Entry) Sum() float64 { return e.In + e.Out }

// Snapshot is an ordered, immutable catalog.
type Snapshot struct {
	entries []Entry
	byID    map[string]int32
}

// New makes a snapshot of the entries in their order. A repeated id is conductor.DuplicateID.
// Under profile.Strict every id, price and context length is checked as well.
func New(entries []Entry, p profile.Profile) (*Snapshot, error) {
	s := &Snapshot{entries: slices.Clone(entries), byID: make(map[string]int32, len(entries))}
	for i, e := range s.entries {
		if _, dup := s.byID[e.ID]; dup {
			return nil, conductor.DuplicateID.With(fault.Str("id", e.ID))
		}
		if p.Strict() {
			if err := e.check(); err != nil {
				return nil, err
			}
		}
		s.byID[e.ID] = int32(i)
	}
	return s, nil
}

// check applies the strict profile's rules to one entry.
func (e Entry) check() error {
	if flaw := name.CheckID(e.ID); flaw != name.Sound {
		return conductor.BadModelID.With(fault.Str("id", e.ID), fault.Str("flaw", string(flaw)))
	}
	for _, p := range []float64{e.In, e.Out} {
		if math.IsNaN(p) || math.IsInf(p, 0) || p < 0 {
			return conductor.BadPrice.With(fault.Str("id", e.ID), fault.Float("price", p))
		}
	}
	if e.Context <= 0 || e.contextTrue {
		return conductor.BadContext.With(fault.Str("id", e.ID))
	}
	return nil
}

// Len returns how many models there are.
func (s *Snapshot) Len() int { return len(s.entries) }

// At returns the entry at place i of the snapshot's order.
func (s *Snapshot) At(i int) Entry { return s.entries[i] }

// Entries returns a copy of the entries in order.
func (s *Snapshot) Entries() []Entry { return slices.Clone(s.entries) }

// ModelID names a model of one snapshot. The zero ModelID names none and is refused by every consumer.
type ModelID struct {
	snapshot *Snapshot
	index    int32
}

// Lookup returns the model with exactly this id: no folding, no prefix, no normalisation.
func (s *Snapshot) Lookup(id string) (ModelID, bool) {
	i, ok := s.byID[id]
	if !ok {
		return ModelID{}, false
	}
	return ModelID{s, i}, true
}

// IsZero reports whether m names no model.
func (m ModelID) IsZero() bool { return m.snapshot == nil }

// String returns the id, or "" for the zero ModelID.
func (m ModelID) String() string {
	if m.snapshot == nil {
		return ""
	}
	return m.snapshot.entries[m.index].ID
}

// Index returns the model's place in its snapshot's order. The zero ModelID has none: asking it is a broken invariant.
func (m ModelID) Index() int {
	m.mustName()
	return int(m.index)
}

// Entry returns the model's row. The zero ModelID has none: asking it is a broken invariant.
func (m ModelID) Entry() Entry {
	m.mustName()
	return m.snapshot.entries[m.index]
}

func (m ModelID) mustName() {
	if m.snapshot == nil {
		panic("catalog: a ModelID is made by Snapshot.Lookup only, and the zero ModelID names no model")
	}
}

// AppendRow appends the row that a Conductor sees, for instance "openai/gpt-5.4 / 1.25 / 10 / 400000".
// Prices have six significant digits at most.
func (e Entry) AppendRow(dst []byte) []byte {
	dst = append(append(dst, e.ID...), " / "...)
	dst = append(appendPrice(dst, e.In), " / "...)
	dst = append(appendPrice(dst, e.Out), " / "...)
	if e.contextTrue {
		return append(dst, "True"...)
	}
	return strconv.AppendInt(dst, e.Context, 10)
}

func appendPrice(dst []byte, p float64) []byte {
	if math.IsInf(p, 1) {
		return append(dst, "inf"...)
	}
	return strconv.AppendFloat(dst, p, 'g', 6, 64)
}

// Rank returns the snapshot's places by rising price (in plus out), ties by id.
func (s *Snapshot) Rank() []int {
	order := make([]int, len(s.entries))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := s.entries[a], s.entries[b]
		switch {
		case x.Sum() < y.Sum():
			return -1
		case x.Sum() > y.Sum():
			return 1
		case x.ID < y.ID:
			return -1
		}
		return 1
	})
	return order
}

// Narrow returns the snapshot of the named models by rising summed price.
// A name that is not there is conductor.MissingIDs; fewer than two distinct names are conductor.TooFewIDs.
func (s *Snapshot) Narrow(ids []string) (*Snapshot, error) {
	want := make(map[string]bool, len(ids))
	for _, id := range ids {
		if _, ok := s.byID[id]; !ok {
			return nil, conductor.MissingIDs.With(fault.Str("id", id))
		}
		want[id] = true
	}
	if len(want) < 2 {
		return nil, conductor.TooFewIDs.With(fault.Int("ids", int64(len(want))))
	}
	var kept []Entry
	for _, e := range s.entries {
		if want[e.ID] {
			kept = append(kept, e)
		}
	}
	slices.SortStableFunc(kept, func(a, b Entry) int {
		switch {
		case a.Sum() < b.Sum():
			return -1
		case a.Sum() > b.Sum():
			return 1
		}
		return 0
	})
	return New(kept, profile.Compat)
}

// Freeze returns the text that a window record pins: a JSON array in the ASCII canonical form.
//
//	[{"context_length":128000,"model_id":"a/b","price_in_per_mtok":0.1,"price_out_per_mtok":0.4}]
func (s *Snapshot) Freeze() string {
	dst := []byte{'['}
	for i, e := range s.entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"context_length":`...)
		if e.contextTrue {
			dst = append(dst, "true"...)
		} else {
			dst = strconv.AppendInt(dst, e.Context, 10)
		}
		dst = append(dst, `,"model_id":`...)
		dst = canon.AppendStringASCII(dst, e.ID)
		dst = append(dst, `,"price_in_per_mtok":`...)
		dst = appendFrozenPrice(dst, e.In)
		dst = append(dst, `,"price_out_per_mtok":`...)
		dst = append(appendFrozenPrice(dst, e.Out), '}')
	}
	return string(append(dst, ']'))
}

// appendFrozenPrice writes an infinite price as the bare word that the reference leaves in its records.
func appendFrozenPrice(dst []byte, p float64) []byte {
	if math.IsInf(p, 1) {
		return append(dst, "Infinity"...)
	}
	return canon.AppendFloat(dst, p)
}

// Digest returns the SHA-256 of the frozen text.
func (s *Snapshot) Digest() digest.Of[Snapshot] { return digest.Sum[Snapshot]([]byte(s.Freeze())) }

// Thaw reads a frozen text, keeping its order. A text that is no catalog is conductor.BadFrozen.
func Thaw(frozen string, p profile.Profile) (*Snapshot, error) {
	v, err := canon.DecodeLast([]byte(quoteInfinity(frozen)))
	if err != nil {
		return nil, conductor.BadFrozen.Because(err)
	}
	rows, ok := v.([]any)
	if !ok {
		return nil, conductor.BadFrozen.With()
	}
	entries := make([]Entry, 0, len(rows))
	for i, r := range rows {
		e, ok := thawRow(r)
		if !ok {
			return nil, conductor.BadFrozen.With(fault.Int("row", int64(i)))
		}
		entries = append(entries, e)
	}
	return New(entries, p)
}

func thawRow(r any) (Entry, bool) {
	o, ok := r.(canon.Object)
	if !ok {
		return Entry{}, false
	}
	id, ok1 := o["model_id"].(string)
	in, ok2 := frozenPrice(o["price_in_per_mtok"])
	out, ok3 := frozenPrice(o["price_out_per_mtok"])
	ctx, isTrue, ok4 := contextLength(o["context_length"])
	return Entry{ID: id, In: in, Out: out, Context: ctx, contextTrue: isTrue}, ok1 && ok2 && ok3 && ok4
}

func frozenPrice(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case canon.Int:
		f, err := strconv.ParseFloat(string(v), 64)
		return f, err == nil
	case string:
		return math.Inf(1), v == "Infinity"
	}
	return 0, false
}

// Nearest returns the id that is closest to s by edit distance, ties by snapshot order, or "" when nothing is close:
// more than a third of s would have to change. It serves hints; nothing that decides may call it.
func (s *Snapshot) Nearest(id string) string {
	if len(id) > name.MaxID {
		return ""
	}
	best, least := "", len(id)/3+1
	for _, e := range s.entries {
		if d := text.Distance(id, e.ID); d < least {
			best, least = e.ID, d
		}
	}
	return best
}
