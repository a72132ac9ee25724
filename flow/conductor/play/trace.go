package play

import (
	"errors"
	"io"
	"sync"

	"assay/conductor/episode"
	"assay/conductor/trace"
)

// TraceWriter writes episodes in the slice's order as they end. Its Finished may be called from any goroutine.
//
// A goroutine of its own hands full buffers to the underlying writer, so that the disk works while episodes are played.
type TraceWriter struct {
	mu      sync.Mutex
	buf     []byte
	next    int             // first place that is not in buf yet
	waiting map[int]*[]byte // lines of later places
	lines   sync.Pool       // of *[]byte
	full    chan []byte     // buffers to write
	free    chan []byte     // buffers written
	done    chan error      // the writing goroutine's end
}

const (
	traceBuffer  = 1 << 18 // bytes handed over at once
	traceBuffers = 4
	lineBuffer   = 4 << 10 // first size of one episode's line
)

// NewTraceWriter starts a trace on w with the header's line. Close it, also after an error elsewhere.
func NewTraceWriter(w io.Writer, h trace.Header) (*TraceWriter, error) {
	line, err := h.Line()
	if err != nil {
		return nil, err
	}
	t := &TraceWriter{
		waiting: make(map[int]*[]byte), full: make(chan []byte, traceBuffers), free: make(chan []byte, traceBuffers), done: make(chan error, 1),
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
	for b := range t.full {
		if err == nil {
			_, err = w.Write(b)
		}
		t.free <- b[:0]
	}
	t.done <- err
}

// Finished takes one episode.
func (t *TraceWriter) Finished(i int, r *episode.Result) {
	line := t.lines.Get().(*[]byte)
	*line = trace.Append((*line)[:0], r) // outside the lock: this is the work
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting[i] = line
	for {
		line, ok := t.waiting[t.next]
		if !ok {
			return
		}
		delete(t.waiting, t.next)
		t.next++
		t.buf = append(t.buf, *line...)
		t.lines.Put(line)
		if len(t.buf) >= traceBuffer {
			t.full <- t.buf
			t.buf = <-t.free
		}
	}
}

// Close writes what is buffered and reports the first error of writing. It does not close the underlying writer.
// A place that never came is an error.
func (t *TraceWriter) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	if len(t.waiting) > 0 {
		err = errors.New("the trace lacks an episode")
	}
	t.full <- t.buf
	close(t.full)
	return errors.Join(<-t.done, err)
}
