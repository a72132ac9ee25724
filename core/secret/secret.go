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

	"assay/core/canon"
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
// raw, base64 (standard and URL alphabet, also inside a longer text), hexadecimal, URL-escaped and JSON-escaped.
type Redactor struct{ replace *strings.Replacer }

// minSecret is the length in bytes below which a secret is not redacted: hiding "a" would destroy the text and hide nothing.
const minSecret = 4

// NewRedactor makes a redactor of the given secrets. Secrets shorter than 4 bytes are left alone.
func NewRedactor(values ...Value) *Redactor {
	var forms []string
	for _, v := range values {
		if s := v.Reveal(); len(s) >= minSecret {
			forms = append(forms, formsOf(s)...)
		}
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) }) // longest first: a form may hold another
	pairs := make([]string, 0, 2*len(forms))
	for _, f := range forms {
		pairs = append(pairs, f, hidden)
	}
	return &Redactor{strings.NewReplacer(pairs...)}
}

// formsOf lists the spellings of a secret.
func formsOf(s string) []string {
	b := []byte(s)
	ascii := string(canon.AppendStringASCII(nil, s))
	forms := []string{s, hex.EncodeToString(b), strings.ToUpper(hex.EncodeToString(b)), url.QueryEscape(s), url.PathEscape(s)}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		forms = append(forms, e.EncodeToString(b), inner(e, 0, b), inner(e, 1, b), inner(e, 2, b))
	}
	for _, j := range []string{string(canon.AppendStringUTF8(nil, s)), ascii} {
		j = j[1 : len(j)-1]
		forms = append(forms, j, slashes.Replace(j), html.Replace(j))
	}
	return forms
}

// inner is what the base64 of a longer text surely holds of a secret that starts so many bytes behind a group of three,
// as a password behind its user name does.
func inner(e *base64.Encoding, behind int, secret []byte) string {
	text := append(make([]byte, behind, behind+len(secret)), secret...)
	return e.EncodeToString(text)[(behind*8+5)/6 : len(text)*8/6]
}

// Encoders of JSON differ in what they escape beyond the need.
var (
	slashes = strings.NewReplacer("/", `\/`)
	html    = strings.NewReplacer("&", `\u0026`, "<", `\u003c`, ">", `\u003e`)
)

// Redact returns s with every known secret replaced by "[secret]".
func (r *Redactor) Redact(s string) string { return r.replace.Replace(s) }
