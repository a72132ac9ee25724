// Package table keeps the draws of one window on disk, so that arms that play at the same time, or after a crash, share them.
//
// Invariants:
//   - One caller at a time buys a draw; whoever else wants it waits and is served the same row.
//   - A row is served when it is on disk, and the first row of a draw stands.
//   - A file of another window, a damaged file and one in which a draw stands twice are refused and left as they are.
//
// The file: docs/spec/outcome-table.md.
package table

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor"
	"assay/conductor/outcome"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/money"
	"assay/run/lines"
)

// Window names the window whose draws a table holds.
type Window struct {
	Number int64
	Nonce  string
}

func (w Window) format() string {
	return fmt.Sprintf("assay/outcomes/1 window %d nonce %s", w.Number, w.Nonce)
}

// Table is a window's draws. It is safe for concurrent use.
type Table struct {
	now  func() time.Time
	file *lines.File // nil: in memory
	read *os.File    // the same, for rows that were there when it was opened

	mu     sync.Mutex
	draws  map[outcome.Key]*draw
	claims map[outcome.Key]chan struct{} // closed when the claim ends
	hits   map[outcome.Key]int
	broken error
}

// draw is one row.
type draw struct {
	outcome.Entry
	digest  string
	line    int64 // its position in the file
	at      int64 // of a row that is not loaded: where its payload stands,
	length  int   // and how long it is; 0 for a row that is loaded
	durable bool
}

// New returns a table that lives in memory and knows no time.
func New() *Table {
	return &Table{draws: map[outcome.Key]*draw{}, claims: map[outcome.Key]chan struct{}{}, hits: map[outcome.Key]int{}}
}

// Open opens the table of a window at path, or creates it, and takes the file for this process until Close. now is the clock
// that a row's time is read from.
func Open(path string, w Window, now func() time.Time) (*Table, error) {
	t := New()
	t.now = now
	at := lines.Start(w.format())
	file, err := lines.Open(path, w.format(), func(_ int64, payload []byte) error {
		d := &draw{at: at + lines.Lead, length: len(payload), durable: true}
		at += lines.Lead + int64(len(payload)) + lines.Trail
		attempt, err := strconv.Atoi(string(canon.Peek(payload, "attempt")))
		if err != nil {
			return conductor.BadRow.Because(err)
		}
		d.Key = outcome.Key{
			Task: canon.Text(jsontext.Value(canon.Peek(payload, "task_id"))), Model: canon.Text(jsontext.Value(canon.Peek(payload, "model_id"))), Attempt: attempt,
		}
		if t.draws[d.Key] != nil {
			return conductor.DuplicateRow.With(subject(d.Key)...)
		}
		t.draws[d.Key] = d
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the outcome table: %w", err)
	}
	t.file = file
	if t.read, err = os.Open(path); err != nil {
		return nil, errors.Join(fmt.Errorf("reading the outcome table: %w", err), file.Close())
	}
	return t, nil
}

// load reads a row that was on disk when the table was opened. t.mu is held.
func (t *Table) load(d *draw) error {
	if d.length == 0 {
		return nil
	}
	text := make([]byte, d.length)
	if _, err := t.read.ReadAt(text, d.at); err != nil {
		return fmt.Errorf("reading the outcome table: %w", err)
	}
	e, err := outcome.Parse(text)
	if err == nil && e.Key != d.Key {
		err = conductor.BadRow.With(subject(d.Key)...)
	}
	if err != nil {
		return fmt.Errorf("reading the outcome table: %w", err)
	}
	full, err := drawn(e)
	if err != nil {
		return err
	}
	d.Entry, d.digest, d.length = full.Entry, full.digest, 0
	return nil
}

// loadAll reads every row. What cannot be read ends the table. t.mu is held.
func (t *Table) loadAll() {
	for _, d := range t.draws {
		if err := t.load(d); err != nil && t.broken == nil {
			t.broken = err
		}
	}
}

func subject(k outcome.Key) []fault.Field {
	return []fault.Field{fault.Str("task", k.Task), fault.Str("model", k.Model), fault.Int("attempt", int64(k.Attempt))}
}

func drawn(e outcome.Entry) (*draw, error) {
	sum, err := outcome.Digest(e.Key, e.Row)
	return &draw{Entry: e, digest: sum}, err
}

// Claim returns the row of a key, or nil: then the caller alone may buy the draw and must call Fill or Release. Whoever else
// wants the key waits until then, or until ctx ends. What the row points to is shared and must not be changed.
func (t *Table) Claim(ctx context.Context, k outcome.Key) (*outcome.Row, error) {
	for {
		row, wait, err := t.claim(k)
		if wait == nil || err != nil {
			return row, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// claim returns the row, or takes the claim, or returns what to wait for.
func (t *Table) claim(k outcome.Key) (row *outcome.Row, wait <-chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken != nil {
		return nil, nil, t.broken
	}
	if d := t.draws[k]; d != nil && d.durable {
		if err := t.load(d); err != nil {
			return nil, nil, err
		}
		row := d.Row
		return &row, nil, nil
	}
	if busy, ok := t.claims[k]; ok {
		return nil, busy, nil
	}
	t.claims[k] = make(chan struct{})
	return nil, nil, nil
}

// Fill stores the row of a key, with or without a claim, and ends the claim; the row is on disk when it returns. A key that has a
// row keeps it. A row that no delegate can have given is refused, and the claim stands.
func (t *Table) Fill(k outcome.Key, r outcome.Row) error {
	d, err := drawn(outcome.Entry{Key: k, Row: r})
	if err != nil {
		return err
	}
	if d, err = t.add(d); err != nil {
		return err
	}
	if t.file != nil {
		err = t.file.Sync(d.line)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle(k, err)
	if err == nil {
		d.durable = true
	}
	return err
}

// add appends a row, or finds the one that is there.
func (t *Table) add(d *draw) (_ *draw, err error) {
	var text []byte
	if t.file != nil {
		d.FilledAt = t.now().Unix()
		if text, err = d.Append(nil); err != nil {
			return nil, err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if there := t.draws[d.Key]; there != nil {
		return there, nil
	}
	if t.broken != nil {
		return nil, t.broken
	}
	if t.file != nil {
		if d.line, err = t.file.Append(text); err != nil {
			t.settle(d.Key, err)
			return nil, err
		}
	}
	t.draws[d.Key] = d
	if _, claimed := t.claims[d.Key]; !claimed { // who wants the row before it is on disk has to wait all the same
		t.claims[d.Key] = make(chan struct{})
	}
	return d, nil
}

// settle ends a claim. t.mu is held.
func (t *Table) settle(k outcome.Key, err error) {
	if t.broken == nil {
		t.broken = err
	}
	if claim, ok := t.claims[k]; ok {
		delete(t.claims, k)
		close(claim)
	}
}

// Release gives a claim back that came to no outcome. Without a claim it does nothing.
func (t *Table) Release(k outcome.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.draws[k] == nil { // else it is being filled, and ends then
		t.settle(k, nil)
	}
}

// Hit counts a row that was served and charged. Hits live in memory: who resumes an arm counts its replayed steps again.
func (t *Table) Hit(k outcome.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hits[k]++
}

// Stats sums up the table.
func (t *Table) Stats() outcome.Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loadAll()
	var s outcome.Stats
	for _, d := range t.draws {
		if !d.durable {
			continue
		}
		s.Rows++
		s.Fills++
		s.Provider = s.Provider.Plus(d.Row.Cost)
		if d.Row.Failed {
			s.FailedRows++
		}
	}
	for _, n := range t.hits {
		s.Hits += n
	}
	return s
}

// Rows yields every row that is on disk in the order of keys, with its digest. Rows that are filled meanwhile may be missing.
func (t *Table) Rows() iter.Seq2[outcome.Entry, string] {
	t.mu.Lock()
	t.loadAll()
	draws := slices.Collect(maps.Values(t.draws))
	draws = slices.DeleteFunc(draws, func(d *draw) bool { return !d.durable })
	t.mu.Unlock()
	slices.SortFunc(draws, func(a, b *draw) int { return a.Key.Compare(b.Key) })
	return func(yield func(outcome.Entry, string) bool) {
		for _, d := range draws {
			if !yield(d.Entry, d.digest) {
				return
			}
		}
	}
}

// Retest returns the entries that are bought again at the end of the window: up to eight keys that were hit, for a dollar at most.
func (t *Table) Retest(nonce string) []outcome.Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loadAll()
	var hit []outcome.Key
	for k := range t.hits {
		if d := t.draws[k]; d != nil && d.durable {
			hit = append(hit, k)
		}
	}
	keys := outcome.Retest(nonce, hit, func(k outcome.Key) money.Pico { return t.draws[k].Row.Cost }, outcome.RetestKeys, outcome.RetestCost)
	out := make([]outcome.Entry, len(keys))
	for i, k := range keys {
		out[i] = t.draws[k].Entry
	}
	return out
}

// Close lets the file go. Everything is refused from then on, also to who waits. A table in memory stays as it is.
func (t *Table) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return nil
	}
	err := errors.Join(t.file.Close(), t.read.Close())
	if t.broken == nil {
		t.broken = lines.Broken.Because(os.ErrClosed)
	}
	for k := range t.claims {
		t.settle(k, nil)
	}
	return err
}
