// Package sqlite keeps the owner's records in one SQLite file.
//
// Invariants:
//   - One connection writes. What waits for it is taken together: one transaction, one fsync, a savepoint for each caller.
//   - Every write transaction begins IMMEDIATE, so nobody reads first and is refused the write afterwards.
//   - A database of a newer schema, or of another program, is refused and left as it is.
//   - Readers have connections of their own that cannot write, and see the moment at which they began.
//
// Specification: docs/spec/store.md.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	_ "modernc.org/sqlite" // the driver of the name below

	"assay/core/fault"
	"assay/store"
)

// driver is the name that modernc.org/sqlite registers.
const driver = "sqlite"

// readers is how many views look at once; more wait.
const readers = 4

// settings of every connection. A writer of another process holds the file for one commit at a time; two minutes is far beyond
// the longest of those, and below it nobody is told that the file is busy.
const settings = "_pragma=busy_timeout(120000)&_pragma=foreign_keys(1)&_pragma=synchronous(FULL)&_pragma=trusted_schema(0)"

// DB is a store.Store in one file.
type DB struct {
	writer  *sql.DB // of one connection
	conn    *sql.Conn
	readers *sql.DB
	jobs    chan *job
	done    chan struct{} // the writing goroutine has ended

	mu     sync.RWMutex // held for reading while a job is handed over
	closed bool
}

var _ store.Store = (*DB)(nil)

// Create makes a database at path, mode 0600, where none is.
func Create(ctx context.Context, path string) (*DB, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, store.Conflict.With(fault.Str("path", path))
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, store.Failed.Because(err)
	}
	return open(ctx, path)
}

// Open opens the database at path and brings its schema up to date. An empty file, which a Create that was cut off leaves, is
// an empty database.
func Open(ctx context.Context, path string) (*DB, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, store.Missing.With(fault.Str("path", path))
	case err != nil:
		return nil, store.Failed.Because(err)
	case !info.Mode().IsRegular():
		return nil, store.NotOurs.With(fault.Str("path", path))
	}
	return open(ctx, path)
}

func open(ctx context.Context, path string) (_ *DB, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, store.Failed.Because(err)
	}
	db := &DB{jobs: make(chan *job, batch), done: make(chan struct{})}
	defer func() {
		if err != nil {
			db.release()
		}
	}()
	if db.writer, err = pool(path, settings, 1); err != nil {
		return nil, err
	}
	if db.conn, err = db.writer.Conn(ctx); err != nil {
		return nil, broken(err, path)
	}
	if err = migrate(ctx, db.conn, path); err != nil {
		return nil, err
	}
	if db.readers, err = pool(path, settings+"&_pragma=query_only(1)", readers); err != nil {
		return nil, err
	}
	go db.write()
	return db, nil
}

func pool(path, settings string, connections int) (*sql.DB, error) {
	name := url.URL{Scheme: "file", Path: path, RawQuery: settings}
	p, err := sql.Open(driver, name.String())
	if err != nil {
		return nil, store.Failed.Because(err)
	}
	p.SetMaxOpenConns(connections)
	p.SetMaxIdleConns(connections)
	return p, nil
}

// View runs f over the records of one moment.
func (db *DB) View(ctx context.Context, f func(store.Tx) error) error {
	tx, err := db.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		if db.isClosed() {
			return store.Closed.With()
		}
		return wrap(ctx, err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return f(records(ctx, tx))
}

func (db *DB) isClosed() bool {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return db.closed
}

// Close waits for the transactions under way and lets the file go.
func (db *DB) Close() error {
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return nil
	}
	db.closed = true
	close(db.jobs)
	db.mu.Unlock()
	<-db.done
	return db.release()
}

// release closes what was opened. Readers go first, so that the last connection to close, which tidies the log away, can write.
func (db *DB) release() error {
	var errs []error
	if db.readers != nil {
		errs = append(errs, db.readers.Close())
	}
	if db.conn != nil {
		errs = append(errs, db.conn.Close())
	}
	if db.writer != nil {
		errs = append(errs, db.writer.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return store.Failed.Because(err)
	}
	return nil
}
