package tlog

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"

	"assay/core/fault"
	"assay/core/sign"
)

// maxName is the longest origin in bytes.
const maxName = 256

// VerifierKey is a log's pinned key: the log's origin and an ed25519 public key. Its text is
//
//	example.com/log+f5e8381a+AaL6L0o1W6LpB6UwCenjfK3fesfmagi6B2MfVTBys/JM
//
// The hexadecimal part is the key id: the first four bytes of SHA-256 of name, line end, 0x01 and key. The base64 part is 0x01 and the
// key. The zero VerifierKey verifies nothing.
type VerifierKey struct {
	name string
	id   uint32
	key  sign.Key
	text string
}

// NewVerifierKey returns the verifier key of an origin and a public key. An origin is 1 to 256 bytes of UTF-8 without blanks, control
// characters and pluses.
func NewVerifierKey(origin string, key sign.Key) (VerifierKey, error) {
	if err := checkName(origin); err != nil {
		return VerifierKey{}, BadKey.Because(err)
	}
	if _, err := sign.ParseKey(key.String()); err != nil {
		return VerifierKey{}, BadKey.Because(err)
	}
	text, err := note.NewEd25519VerifierKey(origin, key[:])
	if err != nil {
		return VerifierKey{}, BadKey.Because(err)
	}
	id, err := strconv.ParseUint(text[len(origin)+1:len(origin)+9], 16, 32)
	if err != nil {
		return VerifierKey{}, BadKey.Because(err)
	}
	return VerifierKey{name: origin, id: uint32(id), key: key, text: text}, nil
}

// ParseVerifierKey reads what String writes, and nothing else.
func ParseVerifierKey(text string) (VerifierKey, error) {
	name, rest, _ := strings.Cut(text, "+")
	_, encoded, found := strings.Cut(rest, "+")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if !found || err != nil || len(raw) != 1+ed25519.PublicKeySize || raw[0] != 1 {
		return VerifierKey{}, BadKey.With(fault.Str("key", text))
	}
	v, err := NewVerifierKey(name, sign.Key(raw[1:]))
	if err != nil {
		return VerifierKey{}, err
	}
	if v.text != text {
		return VerifierKey{}, BadKey.With(fault.Str("key", text), fault.Str("expected", v.text))
	}
	return v, nil
}

func checkName(name string) error {
	switch {
	case name == "" || len(name) > maxName:
		return errors.New("an origin has 1 to 256 bytes")
	case !utf8.ValidString(name) || strings.Contains(name, "+"):
		return errors.New("an origin is UTF-8 without pluses")
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return errors.New("an origin holds no blanks and no control characters")
	}
	return nil
}

// String returns the key's text.
func (v VerifierKey) String() string { return v.text }

// Origin returns the name of the log that the key stands for.
func (v VerifierKey) Origin() string { return v.name }

// ID returns the key id that stands in front of a signature.
func (v VerifierKey) ID() uint32 { return v.id }

// Key returns the public key.
func (v VerifierKey) Key() sign.Key { return v.key }

// verifier is a VerifierKey as x/mod wants it.
type verifier struct{ v VerifierKey }

func (k verifier) Name() string                { return k.v.name }
func (k verifier) KeyHash() uint32             { return k.v.id }
func (k verifier) Verify(msg, sig []byte) bool { return sign.Verify(k.v.key, msg, sig) }

// signer is a sign.Signer as x/mod wants it.
type signer struct {
	v VerifierKey
	s sign.Signer
}

func (k signer) Name() string                    { return k.v.name }
func (k signer) KeyHash() uint32                 { return k.v.id }
func (k signer) Sign(msg []byte) ([]byte, error) { return k.s.Sign(msg) }
