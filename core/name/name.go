// Package name checks the syntax of identifiers that come from strangers.
//
// Invariants:
//   - A check looks at syntax only and says nothing about existence.
package name

import (
	"unicode"
	"unicode/utf8"

	"assay/core/text"
)

// MaxID is the longest identifier of a model or task in bytes that the strict rules accept.
const MaxID = 256

// Flaw says what is wrong with an identifier. The zero Flaw is none.
type Flaw string

// The flaws, in the order in which they are looked for.
const (
	Sound   Flaw = ""
	Empty   Flaw = "empty"
	TooLong Flaw = "too_long"
	NotUTF8 Flaw = "not_utf8"
	LineEnd Flaw = "line_end"
	Blank   Flaw = "blank"
	Control Flaw = "control"
	Unseen  Flaw = "invisible"
)

// CheckID returns the first flaw of an identifier that stands in a prompt or on a line:
// empty, over 256 bytes, not UTF-8, or holding a line end, white space, a control character or an invisible format character.
func CheckID(s string) Flaw {
	switch {
	case s == "":
		return Empty
	case len(s) > MaxID:
		return TooLong
	case !utf8.ValidString(s):
		return NotUTF8
	}
	for _, r := range s {
		switch {
		case text.IsLineEnd(r):
			return LineEnd
		case text.IsSpace(r):
			return Blank
		case unicode.IsControl(r):
			return Control
		case unicode.Is(unicode.Cf, r):
			return Unseen
		}
	}
	return Sound
}
