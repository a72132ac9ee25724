package play

import (
	"bufio"
	"errors"
	"io"
	"sync"

	"assay/conductor/episode"
	"assay/conductor/trace"
)

// TraceWriter writes episodes in the slice's order as they end. Its Finished may be called from any goroutine.
type TraceWriter struct {
	mu      sync.Mutex
	w       *bufio.Writer
	next    int            // first place that is not written yet
	waiting map[int][]byte // lines of later places
	err     error
	pool    sync.Pool
}

// NewTraceWriter starts a trace on w with the header's line.
func NewTraceWriter(w io.Writer, h trace.Header) (*TraceWriter, error) {
	line, err := h.Line()
	if err != nil {
		return nil, err
	}
	t := &TraceWriter{w: bufio.NewWriterSize(w, 1<<18), waiting: make(map[int][]byte)}
	t.pool.New = func() any { return new([]byte) }
	_, err = t.w.Write(line)
	return t, err
}

// Finished takes one episode.
func (t *TraceWriter) Finished(i int, r *episode.Result) {
	buf := t.pool.Get().(*[]byte)
	line := trace.Append((*buf)[:0], r) // outside the lock: this is the work
	t.mu.Lock()
	defer t.mu.Unlock()
	if i != t.next {
		t.waiting[i] = line
		return
	}
	t.write(line)
	*buf = line
	t.pool.Put(buf)
	for {
		line, ok := t.waiting[t.next]
		if !ok {
			return
		}
		delete(t.waiting, t.next)
		t.write(line)
	}
}

func (t *TraceWriter) write(line []byte) {
	t.next++
	if t.err == nil {
		_, t.err = t.w.Write(line)
	}
}

// Close writes what is buffered. It does not close the underlying writer. A place that never came is an error.
func (t *TraceWriter) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil && len(t.waiting) > 0 {
		t.err = errors.New("the trace lacks an episode")
	}
	return errors.Join(t.err, t.w.Flush())
}
