// Package sign makes and opens signed envelopes: what a key signed is exactly what a reader gets.
//
// Invariants:
//   - A private key is held by a Signer and by nothing else; it has no way out of it.
//   - An envelope has one spelling: bytes that are not the canonical form of what they say are refused, whatever the signature.
//   - Only Check makes a Verified that holds a record; the zero Verified gives none.
//   - A key of small order, under which anybody can sign, verifies nothing.
//
// Specification: docs/spec/envelope.md.
package sign

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"

	"assay/core/canon"
	"assay/core/fault"
)

// The refusals of this room.
var (
	BadKey       = fault.NewCode("sign.bad_key", fault.Invalid, "a public key is 64 lower-case hexadecimal digits of an ed25519 key")
	NotEnvelope  = fault.NewCode("sign.not_envelope", fault.Invalid, "not a signed envelope in canonical form")
	BadSignature = fault.NewCode("sign.bad_signature", fault.Unauthenticated, "the signature does not hold for the record and the key")
	Unverified   = fault.NewCode("sign.unverified", fault.Internal, "a record was read before its signature was checked")
	SignerFailed = fault.NewCode("sign.signer_failed", fault.Unready, "the signer gave no signature that holds")
)

// Key is an ed25519 public key. The zero Key verifies nothing.
type Key [ed25519.PublicKeySize]byte

// String returns the key as 64 lower-case hexadecimal digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// ParseKey reads what String writes, and nothing else. Keys of small order are refused: anybody can sign under them.
func ParseKey(s string) (Key, error) {
	var k Key
	if len(s) != hex.EncodedLen(len(k)) {
		return Key{}, BadKey.With(fault.Int("length", int64(len(s))))
	}
	if _, err := hex.Decode(k[:], []byte(s)); err != nil {
		return Key{}, BadKey.Because(err)
	}
	if k.String() != s {
		return Key{}, BadKey.Because(errors.New("upper-case digits"))
	}
	if k.small() {
		return Key{}, BadKey.Because(errors.New("a key of small order"))
	}
	return k, nil
}

// smallOrder lists the y coordinates of the points of small order, as encoded without the sign bit; three of them are spelled
// beyond the field's prime, which the verifier reduces.
var smallOrder = [...]string{
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
}

func (k Key) small() bool {
	k[len(k)-1] &= 0x7f
	s := k.String()
	for _, small := range smallOrder {
		if s == small {
			return true
		}
	}
	return false
}

// Signer holds one private key.
type Signer interface {
	// Public returns the key that verifies what Sign makes.
	Public() Key
	// Sign returns the ed25519 signature, 64 bytes, of the message as it stands.
	Sign(message []byte) ([]byte, error)
}

// seeded keeps its key in a closure, so that no verb of fmt shows more than an address.
type seeded struct {
	public Key
	sign   func(message []byte) []byte
}

// NewEd25519 returns the signer of a 32-byte seed.
func NewEd25519(seed [ed25519.SeedSize]byte) Signer {
	private := ed25519.NewKeyFromSeed(seed[:])
	return seeded{
		public: Key(private.Public().(ed25519.PublicKey)),
		sign:   func(message []byte) []byte { return ed25519.Sign(private, message) },
	}
}

func (s seeded) Public() Key                         { return s.public }
func (s seeded) Sign(message []byte) ([]byte, error) { return s.sign(message), nil }

// Verify reports whether sig is the key's signature of msg.
func Verify(k Key, msg, sig []byte) bool {
	return len(sig) == ed25519.SignatureSize && !k.small() && ed25519.Verify(k[:], msg, sig)
}

// Seal returns the envelope of a record, in one line without its end: {"record":R,"sig":"…","v":1}. The signature is over the
// record's ASCII form, and is checked before it leaves: a signer may be a program of somebody else.
func Seal(record canon.Object, s Signer) ([]byte, error) {
	body, err := canon.ASCII(record)
	if err != nil {
		return nil, err
	}
	sig, err := s.Sign(body)
	if err != nil {
		return nil, SignerFailed.Because(err)
	}
	if !Verify(s.Public(), body, sig) {
		return nil, SignerFailed.Because(errors.New("its signature does not verify under its own key"))
	}
	return envelope(body, sig)
}

func envelope(body, sig []byte) ([]byte, error) {
	return canon.ASCII(canon.Object{"record": canon.Raw(body), "sig": hex.EncodeToString(sig), "v": 1})
}

// Verified is a record whose signature was checked. The zero Verified holds none.
type Verified struct {
	key  Key
	body string // the record's ASCII form; "" in the zero Verified
}

// Check opens an envelope that must have been made by Seal with k's signer. The bytes must be exactly what Seal writes.
func Check(line []byte, k Key) (Verified, error) {
	o, err := canon.DecodeObject(line)
	if err != nil {
		return Verified{}, NotEnvelope.Because(err)
	}
	record, isObject := o["record"].(canon.Object)
	text, isText := o["sig"].(string)
	sig, err := hex.DecodeString(text)
	if !isObject || !isText || err != nil || len(sig) != ed25519.SignatureSize {
		return Verified{}, NotEnvelope.Because(errors.New("the members are an object record, 128 digits sig and v 1"))
	}
	body, err := canon.ASCII(record)
	if err != nil {
		return Verified{}, NotEnvelope.Because(err)
	}
	// Whatever else the line holds or spells otherwise makes it differ from its only spelling.
	again, err := envelope(body, sig)
	if err != nil || !bytes.Equal(again, line) {
		return Verified{}, NotEnvelope.Because(errors.New("the bytes are not what sealing this record writes"))
	}
	if !Verify(k, body, sig) {
		return Verified{}, BadSignature.With(fault.Str("key", k.String()))
	}
	return Verified{k, string(body)}, nil
}

// Record returns a copy of the record.
func (v Verified) Record() (canon.Object, error) {
	if v.body == "" {
		return nil, Unverified.With()
	}
	return canon.DecodeObject([]byte(v.body))
}

// Bytes returns the record's ASCII form: the signed bytes. It is "" for the zero Verified.
func (v Verified) Bytes() string { return v.body }

// Key returns the key that signed.
func (v Verified) Key() Key { return v.key }

// Open is Check for a reader who wants the record at once.
func Open(line []byte, k Key) (canon.Object, error) {
	v, err := Check(line, k)
	if err != nil {
		return nil, err
	}
	return v.Record()
}
