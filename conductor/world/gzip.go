package world

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"strings"
)

var (
	errEmpty   = errors.New("an empty file is no gzip")
	errNotGzip = errors.New("the first bytes are not those of gzip")
	errBehind  = errors.New("something that is not gzip stands behind the compressed data")
)

// unpacker reads the members of a gzip file one by one, since the package's own loop does not tell rubbish behind a whole
// member from a cut one.
type unpacker struct {
	src *bufio.Reader
	z   *gzip.Reader
}

func unpack(r io.Reader) (*unpacker, error) {
	u := &unpacker{src: bufio.NewReader(r)}
	if !u.atMember() {
		if _, err := u.src.Peek(1); err == io.EOF {
			return nil, errEmpty
		}
		return nil, errNotGzip
	}
	z, err := gzip.NewReader(u.src)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	u.z = z
	return u, nil
}

// atMember reports whether the first two bytes of a member come next.
func (u *unpacker) atMember() bool {
	head, _ := u.src.Peek(2)
	return string(head) == "\x1f\x8b"
}

func (u *unpacker) Read(p []byte) (int, error) {
	for {
		n, err := u.z.Read(p)
		switch {
		case err != io.EOF:
			return n, err
		case n > 0:
			return n, nil // the end of this member is told again
		}
		if !u.atMember() {
			if _, err := u.src.Peek(1); err == io.EOF {
				return 0, io.EOF
			}
			return 0, errBehind
		}
		if err := u.z.Reset(u.src); err == io.EOF { // a header that ends with the file is not the end of a whole file
			return 0, io.ErrUnexpectedEOF
		} else if err != nil {
			return 0, err
		}
		u.z.Multistream(false)
	}
}

// reason says in fixed words why a stream broke.
func reason(err error) string {
	switch {
	case errors.Is(err, errEmpty), errors.Is(err, errNotGzip), errors.Is(err, errBehind):
		return err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the compressed data ends in the middle"
	case errors.Is(err, gzip.ErrHeader):
		return "the compressed data is damaged: header"
	case errors.Is(err, gzip.ErrChecksum):
		return "the compressed data is damaged: checksum"
	case strings.HasPrefix(err.Error(), "flate:"):
		return "the compressed data is damaged"
	}
	return "cannot be read"
}
