package reading

import (
	"bufio"
	"bytes"
	"io"
	"io/fs"
	"unicode/utf8"
)

// keepLine is how much of a line is kept, in bytes: more than any output shows.
const keepLine = 4 * (MaxOutput + 1)

// line is one line of a file as text, without its end.
type line struct {
	text  []byte // its beginning, until the next call of next
	found bool   // whether the line, whole, holds what was looked for
}

// lineReader reads lines of any length in bounded memory. A line ends at \n, \r\n or a lone \r. Bytes that are not UTF-8 are one
// U+FFFD for each maximal part that could have begun a character.
type lineReader struct {
	f      fs.File
	r      *bufio.Reader
	skipLF bool // the last line ended in \r: a \n belongs to it

	text, pending, decoded, tail []byte
}

func newLineReader(f fs.File, t *tree) *lineReader {
	return &lineReader{f: f, r: bufio.NewReaderSize(metered{f, t}, 64<<10)}
}

func (l *lineReader) close() { l.f.Close() }

// next reads a line, keeps keep bytes of it at most, and looks for pattern unless that is nil. After the last it returns io.EOF.
func (l *lineReader) next(keep int, pattern []byte) (line, error) {
	l.text, l.pending, l.tail = l.text[:0], l.pending[:0], l.tail[:0]
	found, began := false, false
	for {
		_, err := l.r.Peek(1)
		if err == io.EOF && began {
			found = l.feed(nil, true, keep, pattern) || found
			return line{l.text, found}, nil
		}
		if err != nil {
			return line{}, err
		}
		buf, _ := l.r.Peek(l.r.Buffered())
		if l.skipLF {
			if l.skipLF = false; buf[0] == '\n' {
				l.discard(1)
				continue
			}
		}
		began = true
		end, ended := lineEnd(buf)
		if keep > 0 || pattern != nil {
			if found {
				l.feed(buf[:end], ended, keep, nil)
			} else {
				found = l.feed(buf[:end], ended, keep, pattern)
			}
		}
		if !ended {
			l.discard(end)
			continue
		}
		l.skipLF = buf[end] == '\r'
		l.discard(end + 1)
		return line{l.text, found}, nil
	}
}

func (l *lineReader) discard(n int) { _, _ = l.r.Discard(n) } // n bytes are buffered

// lineEnd returns where the line ends, or that it does not in b.
func lineEnd(b []byte) (end int, ended bool) {
	end = bytes.IndexByte(b, '\n')
	if ended = end >= 0; !ended {
		end = len(b)
	}
	if cr := bytes.IndexByte(b[:end], '\r'); cr >= 0 {
		return cr, true
	}
	return end, ended
}

// feed takes the next bytes of a line, of which final are the last, and reports whether the pattern was found in them.
func (l *lineReader) feed(b []byte, final bool, keep int, pattern []byte) (found bool) {
	if len(l.pending) > 0 {
		l.pending = append(l.pending, b...)
		b = l.pending
	}
	var left int
	l.decoded, left = decode(l.decoded[:0], b, final)
	l.pending = append(l.pending[:0], b[len(b)-left:]...)
	if room := keep - len(l.text); room > 0 {
		l.text = append(l.text, l.decoded[:min(room, len(l.decoded))]...)
	}
	if pattern == nil {
		return false
	}
	hay := l.decoded
	if len(l.tail) > 0 {
		l.tail = append(l.tail, l.decoded...)
		hay = l.tail
	}
	found = bytes.Contains(hay, pattern)
	l.tail = append(l.tail[:0], hay[max(0, len(hay)-len(pattern)+1):]...)
	return found
}

// decode appends b as text. Unless it is the last part, an unfinished character at its end is left: left bytes of it.
func decode(dst, b []byte, final bool) (out []byte, left int) {
	for len(b) > 0 {
		if utf8.Valid(b) {
			return append(dst, b...), 0
		}
		i := 0
		for i < len(b) {
			r, size := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			i += size
		}
		dst = append(dst, b[:i]...)
		b = b[i:]
		n, unfinished := subpart(b)
		if unfinished && !final {
			return dst, len(b)
		}
		dst = append(dst, "\ufffd"...)
		b = b[n:]
	}
	return dst, 0
}

// subpart returns the length of the longest beginning of b, which is no character, that could have begun one (at least 1), and
// whether b ends in it.
func subpart(b []byte) (n int, unfinished bool) {
	lead, low, high := b[0], byte(0x80), byte(0xbf)
	var need int
	switch {
	case lead >= 0xc2 && lead <= 0xdf:
		need = 2
	case lead >= 0xe0 && lead <= 0xef:
		need = 3
	case lead >= 0xf0 && lead <= 0xf4:
		need = 4
	default:
		return 1, false
	}
	switch lead {
	case 0xe0:
		low = 0xa0
	case 0xed:
		high = 0x9f
	case 0xf0:
		low = 0x90
	case 0xf4:
		high = 0x8f
	}
	for n = 1; n < need; n++ {
		if n == len(b) {
			return n, true
		}
		if b[n] < low || b[n] > high {
			return n, false
		}
		low, high = 0x80, 0xbf
	}
	return n, false
}
