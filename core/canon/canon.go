// Package canon writes and reads the canonical JSON that digests and signatures are made over.
//
// Two forms share key order (by code point), separators without blanks and number text; they differ in one rule:
//
//	ASCII  (form R, and the Conductor's records)  {"k":"gr\u00f6\u00dfe"}   everything outside 0x20-0x7E escaped
//	UTF8   (form P, Proof's topics)               {"k":"größe"}             only ", \ and what is below 0x20 escaped
//
// Invariants:
//   - An integer and a float are different values: 1 and 1.0 have different bytes.
//   - Floats print as the shortest text that reads back, as Python's repr does: 1.0, 1e-06, 1e+16.
//   - NaN, infinities and lone surrogates have no canonical form.
//
// Specification: docs/spec/canonical-json.md.
package canon

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"assay/core/fault"
)

// The refusals of this room.
var (
	Syntax        = fault.NewCode("canon.syntax", fault.Invalid, "not a JSON text")
	DuplicateKey  = fault.NewCode("canon.duplicate_key", fault.Invalid, "a JSON object names a member twice")
	LoneSurrogate = fault.NewCode("canon.lone_surrogate", fault.Invalid, "a JSON string holds half of a surrogate pair or bytes that are not UTF-8")
	NotFinite     = fault.NewCode("canon.not_finite", fault.Invalid, "a JSON number is not finite")
	UnknownMember = fault.NewCode("canon.unknown_member", fault.Invalid, "a JSON object has a member that is not known here")
	WrongType     = fault.NewCode("canon.wrong_type", fault.Invalid, "a JSON value has the wrong type")
)

// Int is an integer of unlimited size in canonical decimal text ("0", "-12").
type Int string

// Raw is text that is written as it stands. It exists for the few signed records that hold words outside JSON.
type Raw string

// Object is a JSON object. The forms write its members by code point of their keys.
type Object = map[string]any

// ASCII returns v in the form that escapes everything outside 0x20-0x7E.
// Values are nil, bool, int, int64, uint64, Int, float64, string, Raw, []any, []string and Object.
func ASCII(v any) ([]byte, error) { return appendValue(nil, v, true) }

// UTF8 returns v in the form that keeps text beyond ASCII as it is. Values are those of ASCII.
func UTF8(v any) ([]byte, error) { return appendValue(nil, v, false) }

func appendValue(dst []byte, v any, ascii bool) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case uint64:
		return strconv.AppendUint(dst, v, 10), nil
	case Int:
		return append(dst, v...), nil
	case Raw:
		return append(dst, v...), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, NotFinite.With()
		}
		return AppendFloat(dst, v), nil
	case string:
		return appendString(dst, v, ascii)
	case []string:
		return appendList(dst, v, ascii)
	case []any:
		return appendList(dst, v, ascii)
	case Object:
		return appendObject(dst, v, ascii)
	}
	panic(fmt.Sprintf("canon: no canonical form for %T", v))
}

func appendList[T any](dst []byte, list []T, ascii bool) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendValue(dst, e, ascii); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, o Object, ascii bool) (_ []byte, err error) {
	keys := make([]string, 0, len(o))
	for k := range o {
		keys = append(keys, k)
	}
	slices.Sort(keys) // UTF-8 bytes sort as code points do
	dst = append(dst, '{')
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendString(dst, k, ascii); err != nil {
			return nil, err
		}
		dst = append(dst, ':')
		if dst, err = appendValue(dst, o[k], ascii); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendString(dst []byte, s string, ascii bool) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, LoneSurrogate.With()
	}
	if ascii {
		return AppendStringASCII(dst, s), nil
	}
	return AppendStringUTF8(dst, s), nil
}

// short holds the two-character escapes, indexed by the character.
var short = [128]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

const hexDigits = "0123456789abcdef"

func appendUnit(dst []byte, u uint16) []byte {
	return append(dst, '\\', 'u', hexDigits[u>>12], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}

// AppendStringASCII appends s quoted, with everything outside 0x20-0x7E escaped.
// Bytes that are not UTF-8 become the escape of U+FFFD.
func AppendStringASCII(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case c < 0x80 && short[c] != 0:
			dst = append(dst, '\\', short[c])
		case r < 0x10000:
			dst = appendUnit(dst, uint16(r))
		default:
			r -= 0x10000
			dst = appendUnit(appendUnit(dst, uint16(0xd800+r>>10)), uint16(0xdc00+r&0x3ff))
		}
		i += n
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// AppendStringUTF8 appends s quoted, with only ", \ and characters below 0x20 escaped. s must be UTF-8.
func AppendStringUTF8(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for {
		i := plain(s)
		dst = append(dst, s[:i]...)
		if i == len(s) {
			return append(dst, '"')
		}
		if c := s[i]; short[c] != 0 {
			dst = append(dst, '\\', short[c])
		} else {
			dst = appendUnit(dst, uint16(c))
		}
		s = s[i+1:]
	}
}

// plain returns how many bytes of s come before the first that form P escapes, eight at a time where it can.
func plain(s string) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(s)-i >= 8; i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		quote, slash := x^(ones*'"'), x^(ones*'\\')
		if ((x-ones*0x20)&^x|(quote-ones)&^quote|(slash-ones)&^slash)&highs != 0 {
			break // one of these eight, or a byte behind it that borrowed
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

// AppendFloat appends f as Python's repr writes it: shortest digits, an exponent below 1e-4 and from 1e16 on.
// NaN and infinities print as "nan", "inf" and "-inf".
func AppendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	if f == 0 && !math.Signbit(f) || f == 1 { // most scores
		return append(dst, '0'+byte(f), '.', '0')
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64) // two exponent digits at least, as in Python
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if !slices.Contains(dst[start:], '.') {
		dst = append(dst, '.', '0')
	}
	return dst
}

// errNotObject is the private cause of a document that is JSON but no object.
var errNotObject = errors.New("the document is not an object")
