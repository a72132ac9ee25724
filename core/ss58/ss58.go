// Package ss58 writes and reads the addresses of 32-byte keys that the chain uses: one network, one spelling.
//
// Invariants:
//   - Decode takes only what Encode writes: prefix 42, 32 bytes, the right checksum, no blanks.
//   - There is one decoder. Nothing else in the house reads an address by its length.
//
// Specification: docs/spec/ss58.md.
package ss58

import (
	"github.com/mr-tron/base58"
	"golang.org/x/crypto/blake2b"

	"assay/core/fault"
)

// BadAddress refuses a text that is not an address of the chain.
var BadAddress = fault.NewCode("ss58.bad_address", fault.Invalid, "not an ss58 address of a 32-byte key with prefix 42")

const (
	prefix   = 42                     // the generic Substrate network; one byte, as below 64
	checksum = 2                      // bytes of the digest that stand behind the key
	length   = 1 + keySize + checksum // bytes
	keySize  = 32                     // bytes
	maxText  = 2 * length             // characters; base58 takes 48 at most, and decoding longer text is slow
	hashHead = "SS58PRE"              // what the digest begins with
)

// Encode returns the address of a key: base58 of the byte 42, the key and two bytes of checksum, 47 or 48 characters.
func Encode(key [keySize]byte) string {
	b := append([]byte{prefix}, key[:]...)
	digest := blake2b.Sum512(append([]byte(hashHead), b...))
	return base58.Encode(append(b, digest[:checksum]...))
}

// Decode reads an address. It refuses whatever Encode would have spelled otherwise.
func Decode(address string) ([keySize]byte, error) {
	if len(address) > maxText {
		return [keySize]byte{}, BadAddress.With(fault.Str("address", address))
	}
	b, err := base58.Decode(address)
	if err != nil || len(b) != length {
		return [keySize]byte{}, BadAddress.With(fault.Str("address", address)).Because(err)
	}
	key := [keySize]byte(b[1 : 1+keySize])
	if Encode(key) != address {
		return [keySize]byte{}, BadAddress.With(fault.Str("address", address))
	}
	return key, nil
}
