// Package outcome is the table of worker answers that the arms of a window share, so that king and challenger face the same draws.
//
// Invariants:
//   - A row is one delegate, keyed by task, model and how often this episode has asked that model; the first buyer fills it for good.
//   - A meter's refusal is never a row: it says nothing about the model.
//
// Specification: docs/spec/outcome-table.md.
package outcome

import (
	"cmp"
	"strings"

	"assay/conductor/reading"
	"assay/core/money"
)

// Key names one draw. Attempt counts from 1 within an episode.
type Key struct {
	Task, Model string
	Attempt     int
}

// Compare orders keys by task, model and attempt.
func (k Key) Compare(other Key) int {
	return cmp.Or(strings.Compare(k.Task, other.Task), strings.Compare(k.Model, other.Model), cmp.Compare(k.Attempt, other.Attempt))
}

// Row is what one delegate gave.
type Row struct {
	Text         string // the answer; empty for a failed delegate
	Failed       bool   // the worker failed: Failure says why and Text is no answer
	Failure      string
	Observations []reading.Observation
	Cost         money.Pico // of all calls of the delegate
	Grade        float64    // in [0,1]
	TokensIn     int64
	TokensOut    int64
	ServedModel  string // as the provider named it
	Provider     string
	ReceiptIDs   []string // the calls that filled the row, in order; none where no meter paid them
}

// Table holds the rows of one window. It is not safe for concurrent use: whoever shares it brings the lock.
type Table struct {
	rows  map[Key]Row
	fills int
	hits  int
}

// NewTable returns an empty table.
func NewTable() *Table { return &Table{rows: make(map[Key]Row)} }

// Get returns the row of a key.
func (t *Table) Get(k Key) (Row, bool) {
	r, ok := t.rows[k]
	return r, ok
}

// Hit counts a row that was served.
func (t *Table) Hit() { t.hits++ }

// Put stores a row. A key that is there keeps its row.
func (t *Table) Put(k Key, r Row) {
	if _, there := t.rows[k]; !there {
		t.rows[k] = r
		t.fills++
	}
}

// Stats sums up a table.
type Stats struct {
	Rows       int
	Fills      int // rows that were put: calls that had an outcome
	Hits       int // rows that were served instead of a call
	FailedRows int
	Provider   money.Pico // what filling the rows cost
}

// Stats returns the table's sums.
func (t *Table) Stats() Stats {
	s := Stats{Rows: len(t.rows), Fills: t.fills, Hits: t.hits}
	for _, r := range t.rows {
		if r.Failed {
			s.FailedRows++
		}
		s.Provider = s.Provider.Plus(r.Cost)
	}
	return s
}

// FailureRate returns failed rows over rows, 0 for an empty table.
func (s Stats) FailureRate() float64 {
	if s.Rows == 0 {
		return 0
	}
	return float64(s.FailedRows) / float64(s.Rows)
}
