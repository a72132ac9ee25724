package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	sqlite "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"assay/core/fault"
	"assay/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID stands in the header of every database of this program: "asay" in ASCII.
const applicationID = 0x61736179

// schemas returns the migrations in order. The n-th, counted from 1, makes schema n of schema n-1; none is ever edited.
func schemas() ([]string, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql") // sorted by name
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range names {
		text, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, string(text))
	}
	return out, nil
}

// migrate brings a database to the newest schema. All of it is one transaction that begins IMMEDIATE, so of two processes that
// open an old database one waits and then finds it new. The log mode lies outside: it cannot be changed within.
func migrate(ctx context.Context, c *sql.Conn, path string) error {
	all, err := schemas()
	if err != nil {
		return store.Failed.Because(err)
	}
	if err := check(ctx, c, path, len(all)); err != nil { // before a byte is written
		return err
	}
	if _, err := c.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return broken(err, path)
	}
	if _, err := c.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return broken(err, path)
	}
	err = apply(ctx, c, path, all)
	if err == nil {
		_, err = c.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		_, undo := c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return broken(errors.Join(err, undo), path)
	}
	return nil
}

func apply(ctx context.Context, c *sql.Conn, path string, all []string) error {
	if err := check(ctx, c, path, len(all)); err != nil { // another process may have been faster
		return err
	}
	have, err := pragma(ctx, c, "user_version")
	if err != nil {
		return err
	}
	for n := have; n < len(all); n++ {
		if _, err := c.ExecContext(ctx, all[n]); err != nil {
			return fmt.Errorf("making schema %d: %w", n+1, err)
		}
	}
	if have == len(all) {
		return nil
	}
	_, err = c.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(all)))
	return err
}

// check refuses what this program must not touch.
func check(ctx context.Context, c *sql.Conn, path string, newest int) error {
	id, err := pragma(ctx, c, "application_id")
	if err != nil {
		return broken(err, path)
	}
	version, err := pragma(ctx, c, "user_version")
	if err != nil {
		return broken(err, path)
	}
	tables := 0
	if err := c.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return broken(err, path)
	}
	switch empty := id == 0 && version == 0 && tables == 0; {
	case empty:
		return nil
	case id != applicationID:
		return store.NotOurs.With(fault.Str("path", path))
	case version > newest:
		return store.Newer.With(fault.Str("path", path), fault.Int("schema", int64(version)), fault.Int("known", int64(newest)))
	}
	return nil
}

func pragma(ctx context.Context, c *sql.Conn, name string) (n int, err error) {
	err = c.QueryRowContext(ctx, "PRAGMA "+name).Scan(&n)
	return n, err
}

// broken names an error of opening a database. A code of this room stays as it is.
func broken(err error, path string) error {
	if fault.Of(err) != fault.Unknown {
		return err
	}
	if result(err) == lib.SQLITE_NOTADB {
		return store.NotOurs.With(fault.Str("path", path)).Because(err)
	}
	return store.Failed.With(fault.Str("path", path)).Because(err)
}

// result returns SQLite's primary result code, 0 for an error of another kind.
func result(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// wrap names an error of a statement.
func wrap(ctx context.Context, err error) error {
	switch {
	case err == nil, fault.Of(err) != fault.Unknown:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, sql.ErrTxDone):
		return store.Failed.Because(err)
	}
	switch result(err) {
	case lib.SQLITE_CONSTRAINT:
		return store.Conflict.Because(err)
	case lib.SQLITE_READONLY:
		return store.ReadOnly.Because(err)
	}
	return store.Failed.Because(err)
}
