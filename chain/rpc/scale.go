package rpc

import (
	"encoding/binary"
	"errors"
)

// The errors of reading SCALE, Substrate's encoding: little-endian numbers, lists behind a compact count, nothing named.
var (
	errShort   = errors.New("the value ends too early")
	errBehind  = errors.New("bytes stand behind the value")
	errCompact = errors.New("a compact number is not in its shortest form, or too large")
	errCount   = errors.New("a list is longer than it can be")
)

// scale reads a value from the front to the back. After an error it reads zeros.
type scale struct {
	rest []byte
	err  error
}

func (s *scale) bytes(n int) []byte {
	if s.err == nil && n > len(s.rest) {
		s.err = errShort
	}
	if s.err != nil {
		return nil
	}
	b := s.rest[:n]
	s.rest = s.rest[n:]
	return b
}

func (s *scale) u8() byte {
	if b := s.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (s *scale) u16() uint16 {
	if b := s.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (s *scale) u32() uint32 {
	if b := s.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (s *scale) u64() uint64 {
	if b := s.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// count reads a compact number of at most limit: the low two bits of the first byte say how many bytes it takes.
func (s *scale) count(limit uint32) int {
	if s.err != nil {
		return 0
	}
	if len(s.rest) == 0 {
		s.err = errShort
		return 0
	}
	var n, least uint32
	switch s.rest[0] & 3 {
	case 0:
		n = uint32(s.u8() >> 2)
	case 1:
		n, least = uint32(s.u16()>>2), 1<<6
	case 2:
		n, least = s.u32()>>2, 1<<14
	default:
		s.err = errCompact // 2^30 and more: no list here is as long
	}
	switch {
	case s.err != nil:
		return 0
	case n < least:
		s.err = errCompact
	case n > limit:
		s.err = errCount
	}
	if s.err != nil {
		return 0
	}
	return int(n)
}

// end returns the error of the whole: also bytes that nobody read.
func (s *scale) end() error {
	if s.err == nil && len(s.rest) > 0 {
		s.err = errBehind
	}
	return s.err
}

// decode reads a whole value.
func decode[T any](b []byte, read func(*scale) T) (T, error) {
	s := &scale{rest: b}
	v := read(s)
	if err := s.end(); err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// appendCompact appends a number below 2^30; larger ones take the long form of up to 8 bytes.
func appendCompact(dst []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(dst, byte(n<<2))
	case n < 1<<14:
		return binary.LittleEndian.AppendUint16(dst, uint16(n<<2|1))
	case n < 1<<30:
		return binary.LittleEndian.AppendUint32(dst, uint32(n<<2|2))
	}
	b := binary.LittleEndian.AppendUint64(nil, n)
	for len(b) > 4 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return append(append(dst, byte(len(b)-4)<<2|3), b...)
}

// appendU16s appends a list of numbers.
func appendU16s(dst []byte, list []uint16) []byte {
	dst = appendCompact(dst, uint64(len(list)))
	for _, n := range list {
		dst = binary.LittleEndian.AppendUint16(dst, n)
	}
	return dst
}
