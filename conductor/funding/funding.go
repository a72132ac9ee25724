// Package funding reads and writes a miner's funding record: a provider key that only the owner can open, and what the
// miner's arm may spend with it.
//
//	{"cap_usd":5.0,"ciphertext":"YWdl…","hotkey":"5F…","registration_id":"9f86…","sig":"…","v":1}
//
// Invariants:
//   - Nothing is unsealed before the hotkey's signature has been checked: only Check makes a Verified that Plain accepts.
//   - The sealed text names the hotkey and the registration, so that a ciphertext cannot be moved to another record.
//   - No refusal quotes a sealed text.
//
// Specification: docs/spec/funding.md.
package funding

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor"
	"assay/core/canon"
	"assay/core/digest"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/sign"
	"assay/core/ss58"
)

// Version is the version of the record and of the text that is sealed in it.
const Version = 1

// Bounds in bytes.
const (
	MaxRecord     = 32 << 10 // a record with its line end
	MaxCiphertext = 16 << 10
	MinKey        = 8 // a shorter key could not be hidden in foreign text
	MaxKey        = 4 << 10
)

// Record is a funding record.
type Record struct {
	Hotkey       string     // address of the ed25519 key that signs
	Registration string     // registration id, 64 lower-case hexadecimal digits
	Cap          money.Pico // what the arm may spend in a window
	Ciphertext   []byte     // an age file for the owner's recipient
	Sig          string     // 128 hexadecimal digits; empty until signed
}

func (r Record) object() canon.Object {
	return canon.Object{
		"v": Version, "hotkey": r.Hotkey, "registration_id": r.Registration, "cap_usd": canon.Raw(r.Cap.AppendDollars(nil)),
		"ciphertext": base64.StdEncoding.EncodeToString(r.Ciphertext),
	}
}

// payload returns the bytes that are signed: the ASCII canonical form without sig.
func (r Record) payload() ([]byte, error) {
	_, err := ss58.Decode(r.Hotkey)
	switch {
	case err != nil:
		return nil, bad("hotkey")
	case !isDigest(r.Registration):
		return nil, bad("registration_id")
	case len(r.Ciphertext) == 0 || len(r.Ciphertext) > MaxCiphertext:
		return nil, bad("ciphertext")
	}
	return canon.ASCII(r.object())
}

// Sign returns the record with the signature of its hotkey. Another signer's key, or a cap that is not above zero, is refused.
func (r Record) Sign(s sign.Signer) (Record, error) {
	body, err := r.payload()
	if err != nil {
		return Record{}, err
	}
	public := s.Public()
	if ss58.Encode(public) != r.Hotkey {
		return Record{}, conductor.FundingForeign.With(fault.Str("member", "hotkey"))
	}
	if r.Cap <= 0 {
		return Record{}, conductor.FundingCap.With()
	}
	sig, err := s.Sign(body)
	if err != nil {
		return Record{}, sign.SignerFailed.Because(err)
	}
	if !sign.Verify(public, body, sig) {
		return Record{}, sign.SignerFailed.Because(errors.New("its signature does not verify under its own key"))
	}
	r.Sig = hex.EncodeToString(sig)
	return r, nil
}

// Line returns the signed record as one line with its end.
func (r Record) Line() ([]byte, error) {
	if _, err := r.payload(); err != nil {
		return nil, err
	}
	if len(r.Sig) != 128 || !isDigest(r.Sig[:64]) || !isDigest(r.Sig[64:]) {
		return nil, bad("sig")
	}
	o := r.object()
	o["sig"] = r.Sig
	line, err := canon.ASCII(o)
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}

// Expected is whose record it must be, as it is read from the chain.
type Expected struct {
	Hotkey       string
	Registration string
}

// Verified is a record whose signature and owner were checked. The zero Verified is refused by every consumer.
type Verified struct{ record *Record }

// IsZero reports whether nothing was checked.
func (v Verified) IsZero() bool { return v.record == nil }

// Record returns a copy of the record; it is empty for the zero Verified.
func (v Verified) Record() Record {
	if v.record == nil {
		return Record{}
	}
	r := *v.record
	r.Ciphertext = bytes.Clone(r.Ciphertext)
	return r
}

// Check reads a record and checks, in this order: its shape and spelling (conductor.BadFunding), its hotkey's signature
// (FundingForged), that hotkey and registration are the expected ones (FundingForeign), and that the cap is above zero
// (FundingCap). What it returns may be unsealed.
func Check(text []byte, want Expected) (Verified, error) {
	r, err := Parse(text)
	if err != nil {
		return Verified{}, err
	}
	body, err := r.payload()
	if err != nil {
		return Verified{}, err
	}
	key, err := ss58.Decode(r.Hotkey)
	if err != nil {
		return Verified{}, err
	}
	sig, err := hex.DecodeString(r.Sig)
	switch {
	case err != nil || !sign.Verify(sign.Key(key), body, sig):
		return Verified{}, conductor.FundingForged.With(fault.Str("hotkey", r.Hotkey))
	case r.Hotkey != want.Hotkey:
		return Verified{}, conductor.FundingForeign.With(fault.Str("member", "hotkey"))
	case r.Registration != want.Registration:
		return Verified{}, conductor.FundingForeign.With(fault.Str("member", "registration_id"))
	case r.Cap <= 0:
		return Verified{}, conductor.FundingCap.With()
	}
	return Verified{&r}, nil
}

var errSpelling = errors.New("the record is not spelled as it would be written")

// Parse reads a record, with or without its line end, and checks nothing but its shape: whoever wants to use it calls Check.
// A record that Line would not write byte for byte is conductor.BadFunding.
func Parse(text []byte) (Record, error) {
	if len(text) > MaxRecord {
		return Record{}, conductor.BadFunding.With(fault.Int("bytes", int64(len(text))), fault.Int("limit", MaxRecord))
	}
	text = bytes.TrimSuffix(text, []byte{'\n'})
	var l struct {
		V            int            `json:"v"`
		Hotkey       string         `json:"hotkey"`
		Registration string         `json:"registration_id"`
		CapUSD       jsontext.Value `json:"cap_usd"`
		Ciphertext   string         `json:"ciphertext"`
		Sig          string         `json:"sig"`
	}
	if err := canon.Strict(text, &l); err != nil {
		return Record{}, conductor.BadFunding.Because(err)
	}
	limit, err := money.Parse(string(l.CapUSD))
	if err != nil {
		return Record{}, bad("cap_usd")
	}
	sealed, err := base64.StdEncoding.Strict().DecodeString(l.Ciphertext)
	if err != nil {
		return Record{}, bad("ciphertext")
	}
	r := Record{Hotkey: l.Hotkey, Registration: l.Registration, Cap: limit, Ciphertext: sealed, Sig: l.Sig}
	again, err := r.Line()
	if err != nil {
		return Record{}, err
	}
	if !bytes.Equal(bytes.TrimSuffix(again, []byte{'\n'}), text) {
		return Record{}, conductor.BadFunding.Because(errSpelling)
	}
	return r, nil
}

func bad(member string) error { return conductor.BadFunding.With(fault.Str("member", member)) }

func isDigest(s string) bool {
	_, err := digest.Parse[Record](s)
	return err == nil
}
