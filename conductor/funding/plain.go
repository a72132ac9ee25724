package funding

import (
	"bytes"

	"assay/conductor"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/ss58"
)

// AppendPlain appends the text that is sealed in a record: the key, and whose it is. It is secret.
//
//	{"hotkey":"5F…","key":"sk-…","registration_id":"9f86…","v":1}
func AppendPlain(dst []byte, whose Expected, key string) ([]byte, error) {
	if _, err := ss58.Decode(whose.Hotkey); err != nil {
		return nil, bad("hotkey")
	}
	if !isDigest(whose.Registration) {
		return nil, bad("registration_id")
	}
	if !isKey(key) {
		return nil, conductor.FundingKey.With(fault.Int("bytes", int64(len(key))))
	}
	text, err := canon.ASCII(canon.Object{"v": Version, "hotkey": whose.Hotkey, "registration_id": whose.Registration, "key": key})
	return append(dst, text...), err
}

// Plain reads the unsealed text of a checked record and returns the provider's key. Its refusals quote nothing of the text:
// conductor.BadFunding for another shape, FundingForeign for a text that was sealed for another record, FundingKey for a
// key with surrounding blanks or characters that no key has.
func Plain(v Verified, text []byte) (key string, err error) {
	if v.IsZero() {
		return "", bad("sig")
	}
	var l struct {
		V            int    `json:"v"`
		Hotkey       string `json:"hotkey"`
		Registration string `json:"registration_id"`
		Key          string `json:"key"`
	}
	if err := canon.Strict(text, &l); err != nil {
		return "", bad("ciphertext") // the cause may quote the text
	}
	switch {
	case l.Hotkey != v.record.Hotkey:
		return "", conductor.FundingForeign.With(fault.Str("member", "sealed hotkey"))
	case l.Registration != v.record.Registration:
		return "", conductor.FundingForeign.With(fault.Str("member", "sealed registration_id"))
	}
	again, err := AppendPlain(nil, Expected{l.Hotkey, l.Registration}, l.Key)
	if err != nil {
		return "", err
	}
	if !bytes.Equal(again, text) {
		return "", bad("ciphertext")
	}
	return l.Key, nil
}

// isKey reports whether s can be a provider's key: printable ASCII without blanks around it.
func isKey(s string) bool {
	if len(s) < MinKey || len(s) > MaxKey || s[0] == ' ' || s[len(s)-1] == ' ' {
		return false
	}
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
