// Package profile names the two readings of the Conductor's rules.
//
// Invariants:
//   - Compat is bit-equal to the public reference, accidents included; the conformance vectors prove it.
//   - Strict refuses what Compat accepts by accident. It never reads an input that Compat refuses.
//   - A window pins one profile in its schedule entry before anybody commits.
package profile

import (
	"assay/conductor"
	"assay/core/fault"
)

// Profile chooses a reading. The zero Profile is Strict, the default.
type Profile uint8

// The profiles.
const (
	Strict Profile = iota
	Compat
)

// Strict reports whether accidents are refused: anything but Compat does so, a Profile that is none included.
func (p Profile) Strict() bool { return p != Compat }

// String returns "strict" or "compat".
func (p Profile) String() string {
	if p.Strict() {
		return "strict"
	}
	return "compat"
}

// Parse reads "strict" or "compat".
func Parse(s string) (Profile, error) {
	switch s {
	case "strict":
		return Strict, nil
	case "compat":
		return Compat, nil
	}
	return 0, conductor.UnknownProfile.With(fault.Str("profile", s))
}
