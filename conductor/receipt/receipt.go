// Package receipt is what the meter says of one worker call: who asked which model for what, what came back, and what it cost.
//
//	{"call_id":"w7-king-1/0/2/0","cost_usd":0.0188,"duel":"w7-king-1","failed":false,"gw_sig":"…","hotkey":"5F…","model":"a/b",
//	 "prompt_hash":"…","provider":"P","replayed":false,"response_hash":"…","served_model":"b-2026","tokens_in":100,"tokens_out":7,"v":1}
//
// Invariants:
//   - A receipt has one spelling; what Parse reads, Append writes byte for byte.
//   - The gateway's signature covers every member but itself.
//   - Money is added in whole pico-dollars: metered and recorded spend are equal or they are not.
//
// Specification: docs/spec/receipt.md.
package receipt

import (
	"bytes"
	"encoding/hex"
	"errors"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor"
	"assay/core/canon"
	"assay/core/digest"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/name"
	"assay/core/sign"
)

// Version is the version of the format.
const Version = 1

// MaxLine is the longest line that is written and read, in bytes with its line end.
const MaxLine = 64 << 10

// Receipt is one line. Texts are UTF-8.
type Receipt struct {
	CallID       string     // "<duel>/<episode>/<step>/<call>", see Place
	Duel         string     // "w<window>-<arm>-<attempt>", see Duel
	Hotkey       string     // whose arm it is; empty for a policy that the owner runs
	Model        string     // as it was asked for: prices belong to it, never to the served name
	PromptHash   string     // hexadecimal SHA-256 of the request's body
	ResponseHash string     // TextHash of the answer, of a failed call's failure
	TokensIn     int64      // as the provider reported them
	TokensOut    int64      // as the account counts them
	Cost         money.Pico // of a replay: of all calls of the delegate that filled the row
	ServedModel  string     // as the provider named it; may be empty
	Provider     string     // may be empty
	Failed       bool       // the worker gave no answer: an outcome
	Replayed     bool       // served from the outcome table: charged, and nothing was paid to a provider
	Row          string     // hexadecimal digest of the outcome row; only when Replayed
	Sig          string     // 128 hexadecimal digits; empty until signed
}

// TextHash returns the hexadecimal SHA-256 of a text in canonical JSON, so with its quotes.
func TextHash(text string) string { return digest.HexOfString(text) }

// BodyHash returns the hexadecimal SHA-256 of a request's body.
func BodyHash(body []byte) string { return digest.HexOfBytes(body) }

// object returns the members that are signed.
func (r Receipt) object() canon.Object {
	o := canon.Object{
		"v": Version, "call_id": r.CallID, "duel": r.Duel, "hotkey": r.Hotkey, "model": r.Model, "prompt_hash": r.PromptHash,
		"response_hash": r.ResponseHash, "tokens_in": r.TokensIn, "tokens_out": r.TokensOut, "cost_usd": canon.Raw(r.Cost.AppendDollars(nil)),
		"served_model": r.ServedModel, "provider": r.Provider, "failed": r.Failed, "replayed": r.Replayed,
	}
	if r.Replayed {
		o["row"] = r.Row
	}
	return o
}

// Payload returns the bytes that are signed: the ASCII canonical form without gw_sig.
func (r Receipt) Payload() ([]byte, error) {
	if member := r.flaw(); member != "" {
		return nil, conductor.BadReceipt.With(fault.Str("member", member))
	}
	return canon.ASCII(r.object())
}

// Sign returns the receipt with the gateway's signature.
func (r Receipt) Sign(s sign.Signer) (Receipt, error) {
	payload, err := r.Payload()
	if err != nil {
		return Receipt{}, err
	}
	sig, err := s.Sign(payload)
	if err != nil {
		return Receipt{}, sign.SignerFailed.Because(err)
	}
	if !sign.Verify(s.Public(), payload, sig) {
		return Receipt{}, sign.SignerFailed.Because(errors.New("its signature does not verify under its own key"))
	}
	r.Sig = hex.EncodeToString(sig)
	return r, nil
}

// Signed reports whether the receipt carries the signature of the gateway's key.
func (r Receipt) Signed(k sign.Key) bool {
	payload, err := r.Payload()
	if err != nil {
		return false
	}
	sig, err := hex.DecodeString(r.Sig)
	return err == nil && hex.EncodeToString(sig) == r.Sig && sign.Verify(k, payload, sig)
}

// Append appends the line of a signed receipt, with its line end.
func (r Receipt) Append(dst []byte) ([]byte, error) {
	member := r.flaw()
	if member == "" && !isSig(r.Sig) {
		member = "gw_sig"
	}
	if member != "" {
		return nil, conductor.BadReceipt.With(fault.Str("member", member))
	}
	o := r.object()
	o["gw_sig"] = r.Sig
	line, err := canon.ASCII(o)
	if err != nil {
		return nil, err
	}
	if len(line) >= MaxLine {
		return nil, conductor.BadReceipt.With(fault.Int("bytes", int64(len(line)+1)), fault.Int("limit", MaxLine))
	}
	return append(append(dst, line...), '\n'), nil
}

// line is a receipt as it is read. Numbers stay raw until they are read exactly.
type line struct {
	V            int            `json:"v"`
	CallID       string         `json:"call_id"`
	Duel         string         `json:"duel"`
	Hotkey       string         `json:"hotkey"`
	Model        string         `json:"model"`
	PromptHash   string         `json:"prompt_hash"`
	ResponseHash string         `json:"response_hash"`
	TokensIn     int64          `json:"tokens_in"`
	TokensOut    int64          `json:"tokens_out"`
	CostUSD      jsontext.Value `json:"cost_usd"`
	ServedModel  string         `json:"served_model"`
	Provider     string         `json:"provider"`
	Failed       bool           `json:"failed"`
	Replayed     bool           `json:"replayed"`
	Row          string         `json:"row"`
	Sig          string         `json:"gw_sig"`
}

var errSpelling = errors.New("the line is not spelled as it would be written")

// Parse reads one line, with or without its line end. A line that Append would not write byte for byte is
// conductor.BadReceipt. Whether the signature holds is Audit's question.
func Parse(text []byte) (Receipt, error) {
	text = bytes.TrimSuffix(text, []byte{'\n'})
	if len(text) >= MaxLine {
		return Receipt{}, conductor.BadReceipt.With(fault.Int("bytes", int64(len(text))), fault.Int("limit", MaxLine))
	}
	var l line
	if err := canon.Strict(text, &l); err != nil {
		return Receipt{}, conductor.BadReceipt.Because(err)
	}
	cost, err := money.Parse(string(l.CostUSD))
	if err != nil {
		return Receipt{}, conductor.BadReceipt.Because(err).With(fault.Str("member", "cost_usd"))
	}
	r := Receipt{
		CallID: l.CallID, Duel: l.Duel, Hotkey: l.Hotkey, Model: l.Model, PromptHash: l.PromptHash, ResponseHash: l.ResponseHash,
		TokensIn: l.TokensIn, TokensOut: l.TokensOut, Cost: cost, ServedModel: l.ServedModel, Provider: l.Provider,
		Failed: l.Failed, Replayed: l.Replayed, Row: l.Row, Sig: l.Sig,
	}
	again, err := r.Append(make([]byte, 0, len(text)+1))
	if err != nil {
		return Receipt{}, err
	}
	if !bytes.Equal(bytes.TrimSuffix(again, []byte{'\n'}), text) {
		return Receipt{}, conductor.BadReceipt.Because(errSpelling)
	}
	return r, nil
}

// flaw returns the first member that no receipt can have, or "".
func (r Receipt) flaw() string {
	_, errID := ParsePlace(r.CallID)
	_, errDuel := ParseDuel(r.Duel)
	switch {
	case errID != nil:
		return "call_id"
	case errDuel != nil:
		return "duel"
	case r.Hotkey != "" && name.CheckID(r.Hotkey) != name.Sound:
		return "hotkey"
	case r.Model == "" || !utf8.ValidString(r.Model):
		return "model"
	case !isDigest(r.PromptHash):
		return "prompt_hash"
	case !isDigest(r.ResponseHash):
		return "response_hash"
	case r.TokensIn < 0:
		return "tokens_in"
	case r.TokensOut < 0:
		return "tokens_out"
	case r.Cost < 0:
		return "cost_usd"
	case !utf8.ValidString(r.ServedModel):
		return "served_model"
	case !utf8.ValidString(r.Provider):
		return "provider"
	case r.Replayed != isDigest(r.Row) || !r.Replayed && r.Row != "":
		return "row"
	}
	return ""
}

func isDigest(s string) bool {
	_, err := digest.Parse[Receipt](s)
	return err == nil
}

func isSig(s string) bool {
	return len(s) == 128 && isDigest(s[:64]) && isDigest(s[64:])
}
