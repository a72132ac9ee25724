package window

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"assay/conductor"
	"assay/conductor/catalog"
	"assay/conductor/reading"
	"assay/conductor/task"
	"assay/core/canon"
	"assay/core/digest"
	"assay/core/fault"
)

// Pool is the task pool as a verifier has it.
type Pool struct {
	// Specs are tasks with their statements: all of them, or with Lines at least those that were drawn.
	Specs []task.Spec
	// Lines name every task of a strict window's pool. Nil: they are made from Specs.
	Lines []PoolLine
}

// Verified is a record that follows from its entry, pool and nonce.
type Verified struct {
	Record  Record
	Entry   Entry
	Tasks   []task.Pinned // the slice in its order
	Seen    []string      // tasks of it that the record says were revealed before, sorted
	Catalog *catalog.Snapshot
}

// Verify checks the record of a window by the committed schedule and the pool, and pins its slice. Each rule has its code, in this
// order: WrongWindow, EntryNotPinned, WrongEntry, ForeignEntry or BadEntry, PoolChanged, NoNonce, the draw's own, SliceMismatch,
// BadFrozen (or what a strict catalog refuses), EmptyCatalog; strict also DuplicateTask, NoRules, StatementChanged, BadInvitation and
// WrongFreshness. That the nonce is the chain's and the root the committed one is for the caller to know.
func Verify(r Record, number int64, m Manifest, pool Pool) (Verified, error) {
	if r.Epoch != number {
		return Verified{}, conductor.WrongWindow.With(fault.Int("window", number), fault.Int("epoch", r.Epoch))
	}
	e, err := pinnedEntry(r, m)
	if err != nil {
		return Verified{}, err
	}
	lines, err := poolOf(e, pool)
	if err != nil {
		return Verified{}, err
	}
	if r.Nonce == "" {
		return Verified{}, conductor.NoNonce.With()
	}
	tasks, err := redraw(r, e, pool.Specs, lines)
	if err != nil {
		return Verified{}, err
	}
	s, err := thaw(r.Catalog, e)
	if err != nil {
		return Verified{}, err
	}
	seen, f := Recycled(tasks, r.Seen)
	if e.Profile.Strict() {
		if err := checkStrict(r, e, tasks, seen, f); err != nil {
			return Verified{}, err
		}
	}
	return Verified{Record: r, Entry: e, Tasks: tasks, Seen: seen, Catalog: s}, nil
}

// pinnedEntry reads the record's entry once it is known to be the committed one.
func pinnedEntry(r Record, m Manifest) (Entry, error) {
	sum, err := digest.HexOf(r.Schedule)
	if err != nil {
		return Entry{}, conductor.EntryNotPinned.Because(err)
	}
	epoch, ok := whole(r.Schedule["epoch"])
	if pinned, scheduled := m.Digests[epoch]; !ok || !scheduled || pinned != sum {
		return Entry{}, conductor.EntryNotPinned.With(fault.Int("epoch", epoch), fault.Str("digest", sum))
	}
	if epoch != r.Epoch {
		return Entry{}, conductor.WrongEntry.With(fault.Int("window", r.Epoch), fault.Int("entry", epoch))
	}
	return r.Entry()
}

// poolOf checks the pool's digest. Under strict it returns the pool's lines.
func poolOf(e Entry, pool Pool) ([]PoolLine, error) {
	lines := pool.Lines
	var sum string
	var err error
	if !e.Profile.Strict() {
		sum, err = PoolDigest(pool.Specs, e.Profile)
	} else {
		if lines == nil {
			lines = linesOf(pool.Specs)
		}
		sum = PoolDigestOf(lines)
	}
	if err != nil {
		return nil, err
	}
	if sum != e.PoolDigest {
		return nil, conductor.PoolChanged.With(fault.Str("pool_digest", sum))
	}
	return lines, once(len(lines), func(i int) string { return lines[i].ID })
}

// redraw derives the slice again, and compares it with the record's.
func redraw(r Record, e Entry, specs []task.Spec, lines []PoolLine) ([]task.Pinned, error) {
	window := strconv.FormatInt(r.Epoch, 10)
	var d Drawn
	var err error
	if e.Profile.Strict() {
		d, err = drawLines(lines, specs, r.Nonce, window, e)
	} else {
		d, err = Draw(specs, r.Nonce, window, int(e.PerBenchmark), int(e.Minimum))
	}
	if err != nil {
		return nil, err
	}
	for _, c := range []struct {
		member string
		same   bool
	}{
		{"task_ids", slices.Equal(idsOf(d.Tasks), r.TaskIDs)}, {"benchmarks", slices.Equal(benchmarksOf(d.Counts), r.Benchmarks)},
		{"counts", slices.Equal(d.Counts, r.Counts)}, {"narrowed", slices.Equal(d.Narrowed, r.Narrowed)},
	} {
		if !c.same {
			return nil, conductor.SliceMismatch.With(fault.Str("member", c.member))
		}
	}
	return d.Tasks, nil
}

// drawLines draws from lines, and pins what was drawn with the statements that the lines name.
func drawLines(lines []PoolLine, specs []task.Spec, nonce, window string, e Entry) (Drawn, error) {
	p, err := pickFrom(len(lines), func(i int) (string, string) { return lines[i].Benchmark, lines[i].ID }, nonce, window, int(e.PerBenchmark), int(e.Minimum))
	if err != nil {
		return Drawn{}, err
	}
	byID := make(map[string]int, len(specs))
	for i, s := range specs {
		byID[s.ID] = i
	}
	drawn := make([]task.Spec, len(p.at))
	for i, at := range p.at {
		k, ok := byID[lines[at].ID]
		if !ok || LineOf(specs[k]).String() != lines[at].String() {
			return Drawn{}, conductor.StatementChanged.With(fault.Str("task_id", lines[at].ID))
		}
		drawn[i] = specs[k]
	}
	d := Drawn{Counts: p.counts, Narrowed: p.narrowed}
	d.Tasks, err = Slice(nonce, drawn)
	return d, err
}

// checkStrict applies what only a strict record promises; seen and f are what its own list of seen tasks makes of the slice.
func checkStrict(r Record, e Entry, tasks []task.Pinned, seen []string, f Freshness) error {
	if err := ruled(r.RulesDigest, e); err != nil {
		return err
	}
	for _, t := range tasks {
		if err := invited(task.Spec{ID: t.ID(), Prompt: t.Prompt(), Tools: t.Tools()}); err != nil {
			return err
		}
	}
	if f.Staleness == nil && r.Freshness.Staleness != nil { // something was revealed before, but nothing of this slice
		f.Staleness = new(float64)
	}
	want, err := digest.HexOf(f.object())
	if err != nil {
		return err
	}
	got, err := digest.HexOf(r.Freshness.object())
	if err != nil || got != want || !slices.Equal(seen, r.Seen) {
		return conductor.WrongFreshness.Because(err)
	}
	return nil
}

// invited refuses a statement that invites to inspect a repository without a declared verb, or the reverse.
func invited(t task.Spec) error {
	if reading.Invited(t.Prompt, t.Tools) {
		return nil
	}
	return conductor.BadInvitation.With(fault.Str("task_id", t.ID))
}

// thaw reads a record's catalog. One without models is conductor.EmptyCatalog.
func thaw(frozen string, e Entry) (*catalog.Snapshot, error) {
	s, err := catalog.Thaw(frozen, e.Profile)
	if err != nil {
		return nil, err
	}
	if s.Len() == 0 {
		return nil, conductor.EmptyCatalog.With()
	}
	if e.Profile.Strict() && s.Freeze() != frozen {
		return nil, conductor.BadFrozen.Because(canon.Spelling.With())
	}
	return s, nil
}

func characters(b []byte) int { return utf8.RuneCount(b) }

// ruled refuses a strict window whose rules are not the ones that its entry committed before anybody submitted.
func ruled(rules string, e Entry) error {
	if _, err := digest.Parse[Record](rules); err != nil {
		return conductor.NoRules.Because(err)
	}
	if rules != e.RulesDigest {
		return conductor.NoRules.With(fault.Str("committed", e.RulesDigest), fault.Str("here", rules))
	}
	return nil
}
