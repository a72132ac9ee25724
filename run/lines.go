package run

import (
	"bufio"
	"errors"
	"io"
)

// ErrLongLine refuses a line over the limit.
var ErrLongLine = errors.New("a line is too long")

// LineReader cuts a stream into lines of bounded length.
type LineReader struct {
	src  *bufio.Reader
	max  int
	line []byte
}

// NewLineReader reads lines of at most max bytes, the line end included.
func NewLineReader(src io.Reader, max int) *LineReader {
	return &LineReader{src: bufio.NewReaderSize(src, 256<<10), max: max}
}

// Next returns the next line without its line end, and whether it had one. At the end it returns an unended empty line.
// The line is valid until the next call. A line over the limit is ErrLongLine.
func (l *LineReader) Next() (line []byte, ended bool, err error) {
	l.line = l.line[:0]
	for {
		part, err := l.src.ReadSlice('\n')
		if len(l.line) == 0 && err == nil {
			return part[:len(part)-1], true, nil
		}
		l.line = append(l.line, part...)
		switch {
		case len(l.line) > l.max:
			return nil, false, ErrLongLine
		case err == nil:
			return l.line[:len(l.line)-1], true, nil
		case err == io.EOF:
			return l.line, false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		}
	}
}
