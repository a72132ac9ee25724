package window

import (
	"strconv"

	"assay/conductor"
	"assay/conductor/catalog"
	"assay/conductor/task"
	"assay/core/canon"
	"assay/core/digest"
	"assay/core/fault"
)

// Record is what a window publishes, signed, before any arm runs.
type Record struct {
	Epoch      int64
	Schedule   canon.Object // the entry as it is written; Entry reads it
	Nonce      string
	Catalog    string // frozen text of the catalog
	Freshness  Freshness
	Seen       []string // drawn ids that an earlier window revealed, sorted
	TaskIDs    []string // the slice in the nonce's order
	Benchmarks []string // of the slice, by name
	Counts     []Count  // tasks of each
	Narrowed   []Count  // benchmarks that are left out, with how many tasks there are
	// RulesDigest is the hexadecimal SHA-256 of the published line of rules. Only a strict record has room for it.
	RulesDigest string
	// More are members that a compat record has beyond these: they mean nothing and stay in its digest. A strict record has none.
	More canon.Object
}

// Entry reads the record's schedule entry; see ParseEntry for what it refuses.
func (r Record) Entry() (Entry, error) { return entryOf(r.Schedule) }

// strict reports whether the record's entry says that it is one of the strict profile.
func strict(schedule canon.Object) bool { return schedule["profile"] == "strict" }

// Object returns the record as it is digested and signed.
func (r Record) Object() canon.Object {
	o := canon.Object{
		"v": 1, "epoch": r.Epoch, "schedule": r.Schedule, "nonce": r.Nonce, "catalog": r.Catalog, "freshness": r.Freshness.object(),
		"seen": r.Seen, "task_ids": r.TaskIDs, "benchmarks": r.Benchmarks, "counts": countsObject(r.Counts), "narrowed": countsObject(r.Narrowed),
	}
	if strict(r.Schedule) {
		o["rules_sha256"] = r.RulesDigest
		return o
	}
	for name, v := range r.More {
		if _, own := o[name]; !own {
			o[name] = v
		}
	}
	return o
}

func countsObject(counts []Count) []any {
	out := make([]any, len(counts))
	for i, c := range counts {
		out[i] = []any{c.Benchmark, c.N}
	}
	return out
}

// Digest returns the hexadecimal SHA-256 of the record's canonical JSON. Text that is not UTF-8 has none.
func (r Record) Digest() (string, error) { return digest.HexOf(r.Object()) }

// Basis is what a window is built from.
type Basis struct {
	Epoch        int64
	Entry        Entry
	Pool         []task.Spec // every task, with its statement
	Catalog      string      // frozen text
	Nonce        string
	Revealed     []string // ids of tasks that earlier windows have revealed, in any order
	Instructions string   // strict: the head of every prompt, whose digest the entry pins
	RulesDigest  string   // strict: hexadecimal SHA-256 of the published line of rules
}

// Build draws the slice and writes the record. Refusals are those of Verify; a strict window also refuses a pool with an id twice
// (conductor.DuplicateTask), an invitation out of place in any statement (conductor.BadInvitation), a prompt prefix beyond the
// catalog's token budget (conductor.CatalogTooLarge), and missing rules or instructions (conductor.NoRules).
func Build(b Basis) (Record, []task.Pinned, error) {
	if b.Entry.Epoch != b.Epoch {
		return Record{}, nil, conductor.WrongEntry.With(fault.Int("epoch", b.Epoch), fault.Int("entry", b.Entry.Epoch))
	}
	if b.Nonce == "" {
		return Record{}, nil, conductor.NoNonce.With()
	}
	pool, err := PoolDigest(b.Pool, b.Entry.Profile)
	if err != nil {
		return Record{}, nil, err
	}
	if pool != b.Entry.PoolDigest {
		return Record{}, nil, conductor.PoolChanged.With(fault.Str("pool_digest", pool))
	}
	if err := b.admit(); err != nil {
		return Record{}, nil, err
	}
	window := strconv.FormatInt(b.Epoch, 10)
	d, err := Draw(b.Pool, b.Nonce, window, int(b.Entry.PerBenchmark), int(b.Entry.Minimum))
	if err != nil {
		return Record{}, nil, err
	}
	r := Record{
		Epoch: b.Epoch, Schedule: b.Entry.Object(), Nonce: b.Nonce, Catalog: b.Catalog, RulesDigest: b.RulesDigest,
		TaskIDs: idsOf(d.Tasks), Benchmarks: benchmarksOf(d.Counts), Counts: d.Counts, Narrowed: d.Narrowed,
	}
	r.Seen, r.Freshness = Recycled(d.Tasks, b.Revealed)
	return r, d.Tasks, nil
}

// admit applies the rules of a strict window to what the owner brings, and the catalog's to every window.
func (b Basis) admit() error {
	s, err := thaw(b.Catalog, b.Entry)
	if err != nil || !b.Entry.Profile.Strict() {
		return err
	}
	if err := ruled(b.RulesDigest, b.Entry); err != nil {
		return err
	}
	if digest.HexOfBytes([]byte(b.Instructions)) != b.Entry.InstructionsDigest {
		return conductor.NoRules.With(fault.Str("instructions_sha256", b.Entry.InstructionsDigest))
	}
	if err := catalog.CheckBudget(characters(s.AppendPrefix(nil, b.Instructions))); err != nil {
		return err
	}
	if err := once(len(b.Pool), func(i int) string { return b.Pool[i].ID }); err != nil {
		return err
	}
	for _, t := range b.Pool {
		if err := invited(t); err != nil {
			return err
		}
	}
	return nil
}

func idsOf(tasks []task.Pinned) []string {
	out := make([]string, len(tasks))
	for i, t := range tasks {
		out[i] = t.ID()
	}
	return out
}

func benchmarksOf(counts []Count) []string {
	out := make([]string, len(counts))
	for i, c := range counts {
		out[i] = c.Benchmark
	}
	return out
}

// once refuses an id that stands twice among n.
func once(n int, id func(int) string) error {
	seen := make(map[string]struct{}, n)
	for i := range n {
		if _, twice := seen[id(i)]; twice {
			return conductor.DuplicateTask.With(fault.Str("task_id", id(i)))
		}
		seen[id(i)] = struct{}{}
	}
	return nil
}

// ParseRecord reads what Object wrote. A member of the wrong type is refused by the code of the rule that it belongs to:
// conductor.EntryNotPinned for the entry, NoNonce, SliceMismatch, BadFrozen, and NotWindowRecord for all the rest.
func ParseRecord(text []byte) (Record, error) {
	o, err := canon.DecodeObject(text)
	if err != nil {
		return Record{}, conductor.NotWindowRecord.Because(err)
	}
	if v, ok := o["v"].(canon.Int); !ok || v != "1" {
		return Record{}, conductor.NotWindowRecord.With(fault.Str("member", "v"))
	}
	var r Record
	var ok [10]bool
	r.Epoch, ok[0] = whole(o["epoch"])
	r.Schedule, ok[1] = o["schedule"].(canon.Object)
	r.Nonce, ok[2] = o["nonce"].(string)
	r.TaskIDs, ok[3] = texts(o["task_ids"])
	r.Benchmarks, ok[4] = texts(o["benchmarks"])
	r.Counts, ok[5] = countsOf(o["counts"])
	r.Narrowed, ok[6] = countsOf(o["narrowed"])
	r.Catalog, ok[7] = o["catalog"].(string)
	r.Seen, ok[8] = texts(o["seen"])
	r.Freshness, ok[9] = freshnessOf(o["freshness"])
	for i, rule := range []fault.Code{
		conductor.NotWindowRecord, conductor.EntryNotPinned, conductor.NoNonce, conductor.SliceMismatch, conductor.SliceMismatch,
		conductor.SliceMismatch, conductor.SliceMismatch, conductor.BadFrozen, conductor.NotWindowRecord, conductor.NotWindowRecord,
	} {
		if !ok[i] {
			return Record{}, rule.With()
		}
	}
	if strict(r.Schedule) {
		if r.RulesDigest, _ = o["rules_sha256"].(string); r.RulesDigest == "" {
			return Record{}, conductor.NoRules.With()
		}
	}
	r.More = more(o, r)
	if d, err := firstOther(r.Object(), o); d != "" || err != nil {
		return Record{}, conductor.NotWindowRecord.Because(err).With(fault.Str("member", d))
	}
	return r, nil
}

// more returns the members of o that are not the record's own, nil for none.
func more(o canon.Object, r Record) (beyond canon.Object) {
	own := r.Object()
	for name, v := range o {
		if _, has := own[name]; has {
			continue
		}
		if beyond == nil {
			beyond = canon.Object{}
		}
		beyond[name] = v
	}
	return beyond
}

func countsOf(v any) ([]Count, bool) {
	list, ok := v.([]any)
	out := make([]Count, len(list))
	for i := 0; ok && i < len(list); i++ {
		pair, _ := list[i].([]any)
		if ok = len(pair) == 2; !ok {
			break
		}
		name, isText := pair[0].(string)
		n, isWhole := whole(pair[1])
		out[i], ok = Count{name, int(n)}, isText && isWhole
	}
	return out, ok
}
