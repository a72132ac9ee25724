package run

import (
	"bufio"
	"errors"
	"io"
)

// lineReader cuts a stream into lines of at most maxLine bytes.
type lineReader struct {
	src  *bufio.Reader
	line []byte
}

func newLineReader(src io.Reader) *lineReader {
	return &lineReader{src: bufio.NewReaderSize(src, 256<<10)}
}

// next returns the next line without its line end, and whether it had one. At the end it returns an unended empty line.
// The line is valid until the next call. A line over the limit is refused.
func (l *lineReader) next() (line []byte, ended bool, err error) {
	l.line = l.line[:0]
	for {
		part, err := l.src.ReadSlice('\n')
		if len(l.line) == 0 && err == nil {
			return part[:len(part)-1], true, nil
		}
		l.line = append(l.line, part...)
		switch {
		case err == nil:
			return l.line[:len(l.line)-1], true, nil
		case err == io.EOF:
			return l.line, false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		case len(l.line) > maxLine:
			return nil, false, TooLarge.With()
		}
	}
}
