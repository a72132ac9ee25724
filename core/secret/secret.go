// Package secret holds values that refuse to be printed, and the set that hides them in foreign text.
//
// Invariants:
//   - The bytes live in a closure, so that even %#v of a struct with an unexported Value shows an address only.
//   - Every textual way out (fmt, JSON, slog, text) gives "[secret]".
package secret

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
)

const hidden = "[secret]"

// Value is a secret. The zero Value is empty.
type Value struct{ reveal func() string }

// New makes a secret of s.
func New(s string) Value { return Value{func() string { return s }} }

// Reveal returns the secret's text. Call it only where the secret is used.
func (v Value) Reveal() string {
	if v.reveal == nil {
		return ""
	}
	return v.reveal()
}

// IsZero reports whether there is no secret.
func (v Value) IsZero() bool { return v.Reveal() == "" }

// Format writes "[secret]" for every verb.
func (Value) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// LogValue gives slog "[secret]".
func (Value) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText gives every encoder "[secret]".
func (Value) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Redactor replaces known secrets in text, in the forms that text usually carries them in:
// raw, base64 (standard and URL alphabet), hexadecimal, URL-escaped and JSON-escaped.
type Redactor struct{ replace *strings.Replacer }

// minSecret is the length in bytes below which a secret is not redacted: hiding "a" would destroy the text and hide nothing.
const minSecret = 4

// NewRedactor makes a redactor of the given secrets. Secrets shorter than 4 bytes are left alone.
func NewRedactor(values ...Value) *Redactor {
	var forms []string
	for _, v := range values {
		s := v.Reveal()
		if len(s) < minSecret {
			continue
		}
		b := []byte(s)
		forms = append(forms, s,
			base64.StdEncoding.EncodeToString(b), base64.RawStdEncoding.EncodeToString(b),
			base64.URLEncoding.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b),
			hex.EncodeToString(b), strings.ToUpper(hex.EncodeToString(b)),
			url.QueryEscape(s), url.PathEscape(s), jsonEscape(s))
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) }) // longest first: a form may hold another
	pairs := make([]string, 0, 2*len(forms))
	for _, f := range forms {
		pairs = append(pairs, f, hidden)
	}
	return &Redactor{strings.NewReplacer(pairs...)}
}

func jsonEscape(s string) string {
	return strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "/", `\/`).Replace(s)
}

// Redact returns s with every known secret replaced by "[secret]".
func (r *Redactor) Redact(s string) string { return r.replace.Replace(s) }
