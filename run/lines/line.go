package lines

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"unicode/utf8"

	"assay/core/fault"
	"assay/run"
)

// A line is the checksum of the text so far, a blank and a payload; the first payload is the header:
//
//	82cea062 assay/lines/1 assay/example/1
//	9d85636a {"n":1}
//
// The checksum is the CRC-32C of all payloads up to and with this one, each with its line end.

// head begins the header's payload; the format's name follows.
const head = "assay/lines/1 "

// sumLength is the length of a checksum and the blank behind it.
const sumLength = 9

// Lead and Trail are the bytes that stand before and behind a payload in the file.
const (
	Lead  = sumLength
	Trail = 1
)

// Start returns the offset in a file of the format behind its header: there the first payload's line begins.
func Start(format string) int64 { return int64(Lead + len(head) + len(format) + Trail) }

// maxFormat is the longest name of a format in bytes.
const maxFormat = 512

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var lineEnd = []byte{'\n'}

func validFormat(format string) bool {
	return format != "" && len(format) <= maxFormat && utf8.ValidString(format) && check([]byte(format)) == nil
}

func check(payload []byte) error {
	if len(payload) > MaxPayload {
		return TooLarge.With(fault.Int("bytes", int64(len(payload))), fault.Int("max_bytes", MaxPayload))
	}
	if at := bytes.IndexByte(payload, '\n'); at >= 0 {
		return BadPayload.With(fault.Int("at_byte", int64(at)))
	}
	return nil
}

// appendLine appends a line with its line end and returns its checksum. before is that of the line in front of it.
func appendLine(dst []byte, before uint32, payload []byte) ([]byte, uint32) {
	start := len(dst)
	dst = append(append(append(dst, "00000000 "...), payload...), '\n')
	sum := crc32.Update(before, castagnoli, dst[start+sumLength:])
	putSum(dst[start:], sum)
	return dst, sum
}

func putSum(dst []byte, sum uint32) {
	hex.Encode(dst, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

var (
	errShape = errors.New("the line does not begin with a checksum and a blank")
	errSum   = errors.New("the line's checksum does not continue the line before")
)

// unsum checks a line without its line end and returns its payload and checksum.
func unsum(line []byte, before uint32) (payload []byte, sum uint32, err error) {
	if len(line) < sumLength || line[sumLength-1] != ' ' {
		return nil, 0, errShape
	}
	payload = line[sumLength:]
	sum = crc32.Update(crc32.Update(before, castagnoli, payload), castagnoli, lineEnd)
	var want [sumLength - 1]byte
	putSum(want[:], sum)
	if !bytes.Equal(want[:], line[:sumLength-1]) {
		return nil, 0, errSum
	}
	return payload, sum, nil
}

// reading is what a pass over a file found.
type reading struct {
	sum     uint32
	line    int64 // number of the last whole line
	size    int64 // bytes of whole lines
	header  bool
	torn    bool // a cut-off line stands behind them
	unended bool // the last line lacks its line end, which size does not count
}

// read reads a file from its start and gives every payload to each.
func read(src io.Reader, format string, each func(int64, []byte) error) (got reading, err error) {
	in := run.NewLineReader(src, sumLength+MaxPayload+1)
	for {
		line, ended, err := in.Next()
		if errors.Is(err, run.ErrLongLine) {
			err = TooLarge.With(fault.Int("line", got.line+1), fault.Int("max_bytes", MaxPayload))
		}
		if err != nil {
			return got, err
		}
		if !ended && got.isTorn(line, format) {
			got.torn = len(line) > 0
			return got, nil
		}
		if err := got.take(line, format, each); err != nil {
			return got, err
		}
		if !ended {
			got.unended = true
			got.size--
			return got, nil
		}
	}
}

// take checks one whole line.
func (g *reading) take(line []byte, format string, each func(int64, []byte) error) error {
	payload, sum, err := unsum(line, g.sum)
	number := g.line + 1
	switch {
	case !g.header && err != nil:
		return OtherFormat.Because(err).With(fault.Str("want", format))
	case err != nil:
		return Damaged.Because(err).With(fault.Int("line", number))
	case !g.header && string(payload) != head+format:
		have, _ := bytes.CutPrefix(payload, []byte(head))
		return OtherFormat.With(fault.Str("have", string(have)), fault.Str("want", format))
	case g.header && each != nil:
		if err := each(number, payload); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	g.header, g.sum, g.line = true, sum, number
	g.size += int64(len(line)) + 1
	return nil
}

// isTorn reports whether a text without a line end can be what a cut-off write leaves: the beginning of a line, then perhaps
// zeros where the file had grown before its bytes arrived. A whole line that lacks its line end, or has another byte in its
// place, is not. In front of the header only a piece of the header can be: anything else is somebody's file.
func (g *reading) isTorn(text []byte, format string) bool {
	cut := bytes.TrimRight(text, "\x00")
	if !g.header {
		whole, _ := appendLine(nil, 0, []byte(head+format))
		return len(cut) < len(whole)-1 && bytes.HasPrefix(whole, cut)
	}
	if _, _, err := unsum(text, g.sum); err == nil {
		return false
	}
	if len(text) > 0 {
		if _, _, err := unsum(text[:len(text)-1], g.sum); err == nil {
			return false
		}
	}
	for _, c := range cut[:min(len(cut), sumLength-1)] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(cut) < sumLength || cut[sumLength-1] == ' '
}
