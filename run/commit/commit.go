// Package commit brings the bytes that many appenders add to one file to disk, with one write and one fsync for all who wait.
//
// Invariants:
//   - Bytes stand in the file in the order in which they were appended; what Sync has returned for is on disk.
//   - After a failed write or fsync every call is refused, because what the kernel still holds is then unknown.
//
// Who keeps such a file: docs/spec/journal.md, docs/spec/lines.md.
package commit

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"assay/run/crash"
)

// ErrAhead refuses to wait for bytes that nobody appended.
var ErrAhead = errors.New("nothing was appended at this position")

// Broken is the error of every call behind a failed write or fsync; it wraps what failed. After Close it wraps os.ErrClosed.
type Broken struct{ Cause error }

// Error says what failed.
func (b *Broken) Error() string { return "an earlier write failed: " + b.Cause.Error() }

// Unwrap returns what failed.
func (b *Broken) Unwrap() error { return b.Cause }

// The sizes of the buffer between appenders and disk.
const (
	maxPending = 8 << 20 // more bytes than this are brought to disk although nobody waits
	maxSpare   = 1 << 20 // a larger buffer is not kept for the next batch
)

// Group is the open end of one file. It is safe for concurrent use. The first who waits becomes the leader and takes along
// whatever the others have appended.
type Group struct {
	// Fsync replaces the file's Sync, to hold it back or to make it fail. It is set before the first call.
	Fsync func(*os.File) error

	mu      sync.Mutex
	synced  *sync.Cond // a leader has finished
	name    string
	file    *os.File
	size    int64  // bytes written and pending
	pending []byte // bytes that no leader has taken yet
	spare   []byte // buffer of the last leader
	leading bool
	last    int64 // position of the newest bytes
	durable int64 // position up to which all is on disk
	syncs   int64
	broken  error
}

// New continues a file behind its first size bytes, all of which are on disk and end at a position. name is what its crash
// points are called after.
func New(name string, file *os.File, size, position int64) *Group {
	g := &Group{Fsync: (*os.File).Sync, name: name, file: file, size: size, last: position, durable: position}
	g.synced = sync.NewCond(&g.mu)
	return g
}

// Append adds what write appends to its argument and returns its position, one more than the last. write is told at which
// offset of the file its bytes begin; its error adds nothing. It must not call the group.
func (g *Group) Append(write func(dst []byte, at int64) ([]byte, error)) (position int64, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.pending) > maxPending && !g.leading && g.broken == nil {
		g.lead()
	}
	if g.broken != nil {
		return 0, g.broken
	}
	before := len(g.pending)
	text, err := write(g.pending, g.size)
	if err != nil {
		return 0, err
	}
	g.pending = text
	g.size += int64(len(text) - before)
	g.last++
	return g.last, nil
}

// Sync returns when the bytes of the position and all before them are on disk.
func (g *Group) Sync(position int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sync(position)
}

func (g *Group) sync(position int64) error {
	for g.durable < position {
		switch {
		case g.broken != nil:
			return g.broken
		case g.leading:
			g.synced.Wait()
		case position > g.last:
			return fmt.Errorf("%w: %d", ErrAhead, position)
		default:
			g.lead()
		}
	}
	return nil
}

// lead brings everything that is pending to disk. g.mu is held, except while the disk works.
func (g *Group) lead() {
	batch, last, at := g.pending, g.last, g.size-int64(len(g.pending))
	g.pending, g.spare, g.leading = g.spare[:0], nil, true
	g.mu.Unlock()
	err := g.bring(batch, at)
	g.mu.Lock()
	g.leading = false
	if cap(batch) <= maxSpare {
		g.spare = batch
	}
	g.syncs++
	if err != nil {
		g.broken = &Broken{err}
	} else {
		g.durable = last
	}
	g.synced.Broadcast()
}

func (g *Group) bring(batch []byte, at int64) error {
	crash.Point(g.name + ": before a write")
	if _, err := g.file.WriteAt(batch, at); err != nil {
		return err
	}
	crash.Point(g.name + ": between write and fsync")
	if err := g.Fsync(g.file); err != nil {
		return err
	}
	crash.Point(g.name + ": after an fsync")
	return nil
}

// Flush returns when all that was appended is on disk.
func (g *Group) Flush() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sync(g.last)
}

// Replace goes on in another file, whose first size bytes are on disk and stand for all that was appended here. Positions go
// on where they were. Nobody may append meanwhile, and all must have been flushed. The old file is left open.
func (g *Group) Replace(file *os.File, size int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leading || len(g.pending) > 0 {
		panic("commit: a file is replaced while bytes for it are pending")
	}
	g.file, g.size = file, size
}

// Break refuses every further call because of err.
func (g *Group) Break(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broken == nil {
		g.broken = &Broken{err}
	}
}

// Last returns the position of the newest bytes.
func (g *Group) Last() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last
}

// Syncs returns how often the file was waited for: far less often than it was asked to.
func (g *Group) Syncs() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.syncs
}

// Close brings what is pending to disk and lets the file go.
func (g *Group) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.sync(g.last)
	if g.broken == nil {
		g.broken = &Broken{os.ErrClosed}
	}
	return errors.Join(err, g.file.Close())
}
