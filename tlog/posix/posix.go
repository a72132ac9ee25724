// Package posix writes a transparency log into a folder of plain files: whatever was acknowledged is there after a crash, and nothing
// that was not signed ever counts.
//
// Invariants:
//   - The checkpoint is replaced last: tiles and bundles are on disk under their names before a checkpoint speaks of them.
//   - A log that was killed at any moment opens again with the size of its last checkpoint. What an unfinished batch left is removed, so
//     appending the same leaves again writes the same bytes.
//   - The folder is a function of the leaves and of the sizes at which checkpoints were made, not of crashes in between.
//   - A tile that is there is never written over with other bytes.
//   - One process holds the folder, by flock.
//
// Specification: docs/spec/log.md.
package posix

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"

	"assay/core/fault"
	"assay/core/sign"
	"assay/tlog"
)

// The refusals of this room.
var (
	Locked     = fault.NewCode("tlog.locked", fault.Conflict, "another process writes this log")
	NoSpace    = fault.NewCode("tlog.no_space", fault.Exhausted, "the disk is full; nothing was appended")
	OtherBytes = fault.NewCode("tlog.other_bytes", fault.Conflict, "a file is there with other bytes: another writer, or damage")
	NotLog     = fault.NewCode("tlog.not_log", fault.Conflict, "the folder holds files and no checkpoint")
	Broken     = fault.NewCode("tlog.broken", fault.Uncertain, "an earlier write failed half-way: open the log again")
	Closed     = fault.NewCode("tlog.closed", fault.NotAllowed, "the log is closed")
)

// Options are a log's settings. The zero Options are good.
type Options struct {
	// Hook is called at each step of writing, with the step's name ("tlog/…"), by several goroutines at a time: a place to crash.
	Hook func(step string)
}

// Log is an open log. It is safe for concurrent use.
type Log struct {
	dir    *os.File // holds the lock
	root   *os.Root
	signer sign.Signer
	origin string
	hook   func(step string)
	fail   func(step string) error // for tests

	mu      sync.Mutex
	idle    sync.Cond // no leader is at work
	queue   []*request
	leading bool
	closed  bool
	broken  error
	signed  tlog.Signed

	// Only the leader looks at these.
	tree  *tlog.Builder
	temps int64
	last  int // requests in the batch before
}

// request is what one caller appends.
type request struct {
	leaves [][]byte
	alone  bool // under a checkpoint of its own
	first  int64
	err    error
	done   chan struct{}
}

// Open opens the log in a folder, or begins one with an empty checkpoint where the folder is empty or absent. The checkpoint must be
// signed by the signer's key under the origin.
func Open(dir string, s sign.Signer, origin string, o Options) (*Log, error) {
	if _, err := tlog.NewVerifierKey(origin, s.Public()); err != nil {
		return nil, err
	}
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	held, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := lock(held); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	l := &Log{dir: held, root: root, signer: s, origin: origin, hook: o.Hook}
	l.idle.L = &l.mu
	if err := l.load(); err != nil {
		return nil, errors.Join(err, root.Close(), held.Close())
	}
	return l, nil
}

// Append adds a leaf and returns its index when the leaf is on disk, integrated and covered by a checkpoint on disk. Appends that wait
// at the same time share one checkpoint. A cancelled append was not made; one that is being written is waited for.
func (l *Log) Append(ctx context.Context, leaf []byte) (int64, error) {
	return l.append(ctx, &request{leaves: [][]byte{leaf}})
}

// AppendAll adds leaves in their order, all or none, under one checkpoint of their own, and returns the index of the first. No leaves
// make no checkpoint.
func (l *Log) AppendAll(ctx context.Context, leaves [][]byte) (int64, error) {
	if len(leaves) == 0 {
		return l.Size(), nil
	}
	return l.append(ctx, &request{leaves: leaves, alone: true})
}

func (l *Log) append(ctx context.Context, r *request) (int64, error) {
	for _, leaf := range r.leaves {
		if len(leaf) > tlog.MaxLeaf {
			return 0, tlog.LeafTooLarge.With(fault.Int("bytes", int64(len(leaf))))
		}
	}
	r.done = make(chan struct{})
	if err := l.enter(ctx, r); err != nil {
		return 0, err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if l.leave(r) {
			return 0, ctx.Err()
		}
		<-r.done
	}
	return r.first, r.err
}

// enter queues a request and makes sure that somebody works.
func (l *Log) enter(ctx context.Context, r *request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(ctx.Err(), l.refuses()); err != nil {
		return err
	}
	l.queue = append(l.queue, r)
	if !l.leading {
		l.leading = true
		go l.lead()
	}
	return nil
}

func (l *Log) refuses() error {
	if l.closed {
		return Closed.With()
	}
	return l.broken
}

// leave takes a request out of the queue. It is false where a leader has taken it.
func (l *Log) leave(r *request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.queue, r)
	if i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
	}
	return i >= 0
}

// Size returns the number of leaves that the checkpoint covers.
func (l *Log) Size() int64 { return l.Checkpoint().Checkpoint().Size }

// Checkpoint returns the newest checkpoint that is on disk.
func (l *Log) Checkpoint() tlog.Signed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.signed
}

// FS returns the log's folder for reading.
func (l *Log) FS() fs.FS { return l.root.FS() }

// Close waits for appends under way and gives the folder free. The log takes no more.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	for l.leading {
		l.idle.Wait()
	}
	return errors.Join(l.root.Close(), l.dir.Close())
}
