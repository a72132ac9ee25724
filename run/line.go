package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"assay/core/canon"
)

// A line is a JSON object whose last member chains it to the line before:
//
//	{"journal":"assay/1","chain":"dace02b5…"}
//	{"seq":1,"run":"w7/king/t1","kind":"begin","key":"9f86d081","chain":"fedcbdda…"}
//	{"seq":2,"run":"w7/king/t1","kind":"intent","key":"1/delegate","chain":"aa73c6a5…"}
//	{"seq":3,"run":"w7/king/t1","kind":"result","key":"1/delegate","event":{"cost":31},"chain":"46ba1e46…"}
//
// The chain is the SHA-256 of the last line's chain (32 bytes, zeros in front of the header) and this line's bytes
// up to the comma before "chain".

// head is the header without its chain.
const head = `{"journal":"assay/1"`

// maxLine is the longest line in bytes, its line end included.
const maxLine = 16 << 20

// chain is the checksum that binds a line to all lines before it.
type chain [sha256.Size]byte

const (
	chainMember = `,"chain":"`
	chainLength = len(chainMember) + 2*sha256.Size + len(`"}`)
)

// appendChained appends the body's chain member and the line end, and returns the chain. dst ends with the body, which
// starts at start.
func appendChained(dst []byte, start int, before chain) ([]byte, chain) {
	sum := chainOf(before, dst[start:])
	dst = append(dst, chainMember...)
	dst = hex.AppendEncode(dst, sum[:])
	return append(dst, '"', '}', '\n'), sum
}

func chainOf(before chain, body []byte) (sum chain) {
	h := sha256.New()
	h.Write(before[:])
	h.Write(body)
	h.Sum(sum[:0])
	return sum
}

// appendBody appends a record without its chain member.
func appendBody(dst []byte, seq int64, r Record) []byte {
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendInt(dst, seq, 10)
	dst = append(dst, `,"run":`...)
	dst = canon.AppendStringASCII(dst, r.Run)
	dst = append(dst, `,"kind":"`...)
	dst = append(dst, r.Kind...)
	dst = append(dst, `","key":`...)
	dst = canon.AppendStringASCII(dst, r.Key)
	if r.Event != nil {
		dst = append(dst, `,"event":`...)
		dst = append(dst, r.Event...)
	}
	return dst
}

var (
	errShape = errors.New("the line is not a record")
	errChain = errors.New("the line's checksum does not continue the line before")
	errSeq   = errors.New("the line's number is out of order")
	errSpell = errors.New("the line is not spelled as the journal spells it")
)

// unchain checks a line without its line end against the chain before it, and returns its body and its chain.
func unchain(line []byte, before chain) (body []byte, sum chain, err error) {
	cut := len(line) - chainLength
	if cut < 0 || !bytes.HasPrefix(line[cut:], []byte(chainMember)) || !bytes.HasSuffix(line, []byte(`"}`)) {
		return nil, chain{}, errShape
	}
	body = line[:cut]
	sum = chainOf(before, body)
	var want [2 * sha256.Size]byte
	hex.Encode(want[:], sum[:])
	if !bytes.Equal(want[:], line[cut+len(chainMember):len(line)-2]) {
		return nil, chain{}, errChain
	}
	return body, sum, nil
}

// parseBody reads a body strictly: what it accepts has exactly one spelling.
func parseBody(body []byte, seq int64) (Record, error) {
	var m struct {
		Seq   int64          `json:"seq"`
		Run   string         `json:"run"`
		Kind  Kind           `json:"kind"`
		Key   string         `json:"key"`
		Event jsontext.Value `json:"event"`
	}
	if err := canon.Strict(append(bytes.Clone(body), '}'), &m); err != nil {
		return Record{}, err
	}
	if m.Seq != seq {
		return Record{}, errSeq
	}
	r := Record{Run: m.Run, Kind: m.Kind, Key: m.Key, Event: m.Event}
	if err := r.check(); err != nil {
		return Record{}, err
	}
	if !bytes.Equal(appendBody(nil, seq, r), body) {
		return Record{}, errSpell
	}
	return r, nil
}

// isTorn reports whether a text without a line end can be what a cut-off write leaves: the beginning of a line, then
// perhaps zeros where the file had grown before its bytes arrived. In front of the header only a piece of the header
// can: anything else is somebody's file.
func isTorn(text []byte, header bool) bool {
	text = bytes.TrimRight(text, "\x00")
	if !header {
		whole, _ := appendChained([]byte(head), 0, chain{})
		return len(text) < len(whole)-1 && bytes.HasPrefix(whole, text)
	}
	if len(text) == 0 {
		return true
	}
	if text[0] != '{' {
		return false
	}
	_, err := jsontext.NewDecoder(bytes.NewReader(text)).ReadValue()
	return errors.Is(err, io.ErrUnexpectedEOF)
}
