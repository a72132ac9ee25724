package sqlite

import (
	"context"
	"errors"
	"sync/atomic"

	"assay/store"
)

// batch is how many callers one transaction takes along.
const batch = 256

// job is one caller's transaction.
type job struct {
	ctx    context.Context
	f      func(store.Tx) error
	taken  atomic.Bool // by the writer, or by a caller that gave up
	result chan error
	panics any // what f panicked with
	err    error
}

// Update runs f in a transaction that may write.
func (db *DB) Update(ctx context.Context, f func(store.Tx) error) error {
	j := &job{ctx: ctx, f: f, result: make(chan error, 1)}
	if err := db.hand(ctx, j); err != nil {
		return err
	}
	select {
	case err := <-j.result:
		return j.end(err)
	case <-ctx.Done():
		if j.taken.CompareAndSwap(false, true) {
			return ctx.Err() // it was still waiting
		}
	}
	return j.end(<-j.result) // too late: it is under way, and its end must be known
}

func (j *job) end(err error) error {
	if j.panics != nil {
		panic(j.panics) // in the goroutine whose function it is
	}
	return err
}

func (db *DB) hand(ctx context.Context, j *job) error {
	db.mu.RLock()
	defer db.mu.RUnlock()
	if db.closed {
		return store.Closed.With()
	}
	select {
	case db.jobs <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write is the one goroutine that writes. It takes what waits into one transaction.
func (db *DB) write() {
	defer close(db.done)
	for j := range db.jobs {
		list := []*job{j}
	more:
		for len(list) < batch {
			select {
			case next, open := <-db.jobs:
				if !open {
					break more
				}
				list = append(list, next)
			default:
				break more
			}
		}
		db.commit(list)
	}
}

// commit carries out jobs in one transaction and tells every caller how it ended.
func (db *DB) commit(list []*job) {
	ctx := context.Background() // one caller's deadline is not the others'
	_, err := db.conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	if err != nil {
		err = wrap(ctx, err)
	} else {
		for _, j := range list {
			if j.taken.CompareAndSwap(false, true) {
				j.err = db.carryOut(ctx, j)
			} else {
				j.err = j.ctx.Err() // nobody waits for it
			}
		}
		if _, err = db.conn.ExecContext(ctx, "COMMIT"); err != nil {
			_, undo := db.conn.ExecContext(ctx, "ROLLBACK") // refused where the commit undid itself
			err = store.Uncertain.Because(errors.Join(err, undo))
		}
	}
	for _, j := range list {
		j.taken.Store(true)
		if j.err == nil {
			j.err = err // of the whole transaction
		}
		j.result <- j.err
	}
}

// carryOut runs one job between its savepoints.
func (db *DB) carryOut(ctx context.Context, j *job) error {
	if _, err := db.conn.ExecContext(ctx, "SAVEPOINT job"); err != nil {
		return wrap(ctx, err)
	}
	err := j.run(records(ctx, db.conn))
	if err != nil {
		if _, undo := db.conn.ExecContext(ctx, "ROLLBACK TO job"); undo != nil {
			err = errors.Join(err, wrap(ctx, undo))
		}
	}
	if _, end := db.conn.ExecContext(ctx, "RELEASE job"); end != nil && err == nil {
		err = wrap(ctx, end)
	}
	return err
}

var errPanic = errors.New("the transaction's function panicked")

func (j *job) run(tx store.Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			j.panics, err = p, errPanic
		}
	}()
	return j.f(tx)
}
