// Package digest holds SHA-256 digests that know what they are a digest of.
//
// Invariants:
//   - Of[A] and Of[B] are different types: a topic's digest cannot stand where a policy's is wanted.
//   - The zero digest means "none" and equals no digest that Sum or Parse makes in practice.
package digest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"assay/core/canon"
	"assay/core/fault"
)

// Malformed refuses a text that is not 64 lower-case hexadecimal digits.
var Malformed = fault.NewCode("digest.malformed", fault.Invalid, "a digest is 64 lower-case hexadecimal digits")

// Of is the SHA-256 of bytes that stand for a T.
type Of[T any] [sha256.Size]byte

// Sum returns the digest of b.
func Sum[T any](b []byte) Of[T] { return Of[T](sha256.Sum256(b)) }

// Parse reads 64 lower-case hexadecimal digits.
func Parse[T any](s string) (Of[T], error) {
	var d Of[T]
	if len(s) != 2*len(d) {
		return Of[T]{}, Malformed.With()
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return Of[T]{}, Malformed.With()
		}
	}
	if _, err := hex.Decode(d[:], []byte(s)); err != nil {
		return Of[T]{}, Malformed.Because(err)
	}
	return d, nil
}

// String returns 64 lower-case hexadecimal digits.
func (d Of[T]) String() string { return hex.EncodeToString(d[:]) }

// AppendHex appends the digest's hexadecimal digits.
func (d Of[T]) AppendHex(dst []byte) []byte { return hex.AppendEncode(dst, d[:]) }

// IsZero reports whether d is no digest.
func (d Of[T]) IsZero() bool { return d == Of[T]{} }

// HexOfBytes returns the hexadecimal SHA-256 of b.
func HexOfBytes(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// First32 returns the first eight hexadecimal digits of the SHA-256 of b as a number.
func First32(b []byte) uint32 {
	s := sha256.Sum256(b)
	return binary.BigEndian.Uint32(s[:])
}

// HexOfString returns the hexadecimal SHA-256 of s in ASCII canonical JSON, so with its quotes.
func HexOfString(s string) string { return HexOfBytes(canon.AppendStringASCII(nil, s)) }

// HexOf returns the hexadecimal SHA-256 of v in ASCII canonical JSON.
func HexOf(v any) (string, error) {
	b, err := canon.ASCII(v)
	if err != nil {
		return "", err
	}
	return HexOfBytes(b), nil
}
