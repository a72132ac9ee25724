package play

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"assay/conductor/episode"
	"assay/conductor/trace"
	"assay/run"
)

// TraceWriter writes episodes in the slice's order as they end. Its Finished may be called from any goroutine.
//
// Nobody waits for anybody: who finishes an episode leaves its line in the episode's slot, and whoever holds the lock
// takes along what stands in order. A goroutine of its own hands full buffers to the underlying writer, so that the
// disk works while episodes are played.
type TraceWriter struct {
	slots []atomic.Pointer[[]byte]
	next  atomic.Int64 // first slot that is not in buf yet; written under mu
	mu    sync.Mutex
	buf   []byte
	lines sync.Pool   // of *[]byte
	full  chan []byte // buffers to write
	free  chan []byte // buffers written
	done  chan error  // the writing goroutine's end
}

const (
	traceBuffer  = 1 << 18 // bytes handed over at once
	traceBuffers = 4
	lineBuffer   = 4 << 10 // first size of one episode's line
)

// NewTraceWriter starts a trace of n episodes on w with the header's line. Close it, also after an error elsewhere.
func NewTraceWriter(w io.Writer, h trace.Header, n int) (*TraceWriter, error) {
	line, err := h.Line()
	if err != nil {
		return nil, err
	}
	t := &TraceWriter{
		slots: make([]atomic.Pointer[[]byte], n), full: make(chan []byte, traceBuffers), free: make(chan []byte, traceBuffers), done: make(chan error, 1),
	}
	t.lines.New = func() any { b := make([]byte, 0, lineBuffer); return &b }
	for range traceBuffers {
		t.free <- make([]byte, 0, traceBuffer+lineBuffer)
	}
	t.buf = append(<-t.free, line...)
	go t.writeAll(w)
	return t, nil
}

// writeAll writes buffers in order until the writer is closed. After an error it only takes them.
func (t *TraceWriter) writeAll(w io.Writer) {
	var err error
	var at int64
	file, onDisk := w.(*os.File)
	for b := range t.full {
		if err == nil {
			_, err = w.Write(b)
		}
		if err == nil && onDisk {
			run.StartWriteback(file, at, int64(len(b)))
		}
		at += int64(len(b))
		t.free <- b[:0]
	}
	t.done <- err
}

// Finished takes one episode; i is its place in the slice. What fails while writing is told by Close.
func (t *TraceWriter) Finished(i int, r *episode.Result) error {
	line := t.lines.Get().(*[]byte)
	*line = trace.Append((*line)[:0], r)
	t.slots[i].Store(line)
	for t.ready() && t.mu.TryLock() { // else the holder sees this line, or finds it when it looks again
		t.collect()
		t.mu.Unlock()
	}
	return nil
}

// ready reports whether the next line in order is there.
func (t *TraceWriter) ready() bool {
	next := int(t.next.Load())
	return next < len(t.slots) && t.slots[next].Load() != nil
}

// collect moves the lines that stand in order to the buffer. The caller holds mu.
func (t *TraceWriter) collect() {
	for t.ready() {
		line := t.slots[t.next.Load()].Swap(nil)
		t.next.Add(1)
		t.buf = append(t.buf, *line...)
		t.lines.Put(line)
		if len(t.buf) >= traceBuffer {
			t.full <- t.buf
			t.buf = <-t.free
		}
	}
}

// Close writes what is buffered and reports the first error of writing. It does not close the underlying writer.
// A place that never came is an error; what ended behind it is written all the same.
func (t *TraceWriter) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.collect()
	var err error
	if next := int(t.next.Load()); next < len(t.slots) {
		err = errors.New("the trace lacks an episode")
		for i := range t.slots[next:] {
			if line := t.slots[next+i].Load(); line != nil {
				t.buf = append(t.buf, *line...)
			}
		}
	}
	t.full <- t.buf
	close(t.full)
	return errors.Join(<-t.done, err)
}
