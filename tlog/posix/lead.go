package posix

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"

	"assay/tlog"
)

const (
	maxBatch = 4096     // leaves that share a checkpoint, where they are appended one by one
	maxBytes = 16 << 20 // bytes of such leaves
	patience = 16       // rounds of giving way without a newcomer before a batch is closed
)

// lead commits batches until nobody waits.
func (l *Log) lead() {
	for {
		batch := l.take()
		if batch == nil {
			return
		}
		first := l.tree.Size()
		err := l.commit(batch)
		for _, r := range batch {
			r.err = err
			if err == nil {
				r.first, first = first, first+int64(len(r.leaves))
			}
			close(r.done)
		}
	}
}

// take returns the next batch, or ends the leadership. Those whom the last batch has just released are given a moment to come back:
// a batch of one would keep all others waiting for a disk.
func (l *Log) take() []*request {
	for rounds, had := 0, 0; rounds < patience; rounds++ {
		l.mu.Lock()
		have := len(l.queue)
		l.mu.Unlock()
		if have >= l.last {
			break
		}
		if have > had {
			rounds, had = 0, have
		}
		runtime.Gosched()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := fit(l.queue)
	if n == 0 {
		l.leading = false
		l.idle.Broadcast()
		return nil
	}
	batch := l.queue[:n:n]
	l.queue, l.last = l.queue[n:], n
	return batch
}

// fit returns how many requests at the head of a queue go under one checkpoint.
func fit(queue []*request) int {
	leaves, bytes := 0, 0
	for i, r := range queue {
		if r.alone {
			return max(i, 1)
		}
		leaves, bytes = leaves+1, bytes+len(r.leaves[0])
		if leaves > maxBatch || bytes > maxBytes {
			return max(i, 1)
		}
	}
	return len(queue)
}

// commit writes a batch and its checkpoint. An error leaves the log as it was, or broken.
func (l *Log) commit(batch []*request) error {
	if l.broken != nil { // only a leader breaks a log
		return l.broken
	}
	next := l.tree.Clone()
	w := l.newWriting()
	signed, err := l.write(w, next, batch)
	if err != nil {
		return l.undo(w, err)
	}
	if err := w.publish(); err != nil {
		return l.breaks(err)
	}
	before := l.tree.Size()
	l.tree = next
	l.mu.Lock()
	l.signed = signed
	l.mu.Unlock()
	l.prune(before)
	return nil
}

// write brings a batch's files and the next checkpoint's bytes to disk.
func (l *Log) write(w *writing, next *tlog.Builder, batch []*request) (tlog.Signed, error) {
	from := next.Size()
	for _, r := range batch {
		for _, leaf := range r.leaves {
			if err := next.Add(leaf, w.tile); err != nil {
				return tlog.Signed{}, errors.Join(err, w.wait())
			}
		}
	}
	next.Partial(from, w.tile)
	signed, err := l.sign(next)
	if err == nil {
		w.checkpoint(signed.Note())
	}
	if err := errors.Join(err, w.wait()); err != nil {
		return tlog.Signed{}, err
	}
	return signed, w.syncFolders()
}

func (l *Log) sign(tree *tlog.Builder) (tlog.Signed, error) {
	note, err := tlog.Checkpoint{Origin: l.origin, Size: tree.Size(), Root: tree.Root()}.Sign(l.signer)
	if err != nil {
		return tlog.Signed{}, err
	}
	return l.open(note)
}

// open verifies a checkpoint under the log's own key.
func (l *Log) open(note []byte) (tlog.Signed, error) {
	v, err := tlog.NewVerifierKey(l.origin, l.signer.Public())
	if err != nil {
		return tlog.Signed{}, err
	}
	return tlog.Open(note, v, tlog.Limits{})
}

// undo removes what a failed batch has written. Where that fails too, the log must be opened again.
func (l *Log) undo(w *writing, cause error) error {
	if isFull(cause) {
		cause = NoSpace.Because(cause)
	}
	if err := w.remove(); err != nil {
		return l.breaks(errors.Join(cause, err))
	}
	return cause
}

func (l *Log) breaks(cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = Broken.Because(cause)
	return l.broken
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// step tells the hook, and in a test lets the step fail.
func (l *Log) step(name string) error {
	if l.hook != nil {
		l.hook(name)
	}
	if l.fail != nil {
		if err := l.fail(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
