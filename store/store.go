// Package store is the contract of what the owner remembers: transactions over small groups of records, one group for each wing.
//
// Invariants:
//   - A transaction happens as a whole or not at all, and is on disk when Update returns nil.
//   - Writers are one behind the other, whatever their number and whichever process they are in; nobody is told to try again.
//   - Every record is written at most once. Writing the same again changes nothing, writing another in its place is a Conflict.
//   - A View sees one moment and can write nothing.
//
// Specification: docs/spec/store.md.
package store

import (
	"context"

	"assay/core/fault"
)

// The refusals of this room.
var (
	NotFound  = fault.NewCode("store.not_found", fault.NotFound, "there is no such record")
	Conflict  = fault.NewCode("store.conflict", fault.Conflict, "another record stands in this place")
	Invalid   = fault.NewCode("store.invalid", fault.Invalid, "not a record that can be kept")
	ReadOnly  = fault.NewCode("store.read_only", fault.Internal, "a view was asked to write")
	Closed    = fault.NewCode("store.closed", fault.Unready, "the store is closed")
	Missing   = fault.NewCode("store.missing", fault.NotFound, "there is no database; make one first")
	NotOurs   = fault.NewCode("store.not_ours", fault.Conflict, "the file is not a database of this program")
	Newer     = fault.NewCode("store.newer", fault.Conflict, "the database was written by a newer version of this program; use that one")
	Failed    = fault.NewCode("store.failed", fault.Unready, "the database cannot be read or written")
	Uncertain = fault.NewCode("store.uncertain", fault.Uncertain, "the transaction may or may not be on disk; look before doing it again")
)

// Store keeps records. It may be used from any number of goroutines.
type Store interface {
	// Update runs f in a transaction that may write. What f returns an error for did not happen. f runs once; it must not wait for
	// another Update, and its Tx means nothing after it returns. With Uncertain the transaction may have happened.
	Update(ctx context.Context, f func(Tx) error) error
	// View runs f over the records of one moment.
	View(ctx context.Context, f func(Tx) error) error
	// Close waits for what is under way.
	Close() error
}

// Tx is what a transaction can do: a group of records for each wing.
type Tx struct {
	Conductor Conductor
}
