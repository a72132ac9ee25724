// Package bootstrap draws the resamples of a duel: same seed, same rows, on every machine and in every language.
//
// Invariants:
//   - The stream is the one that numpy's default generator gives for the same seed, so a published bound can be recomputed elsewhere.
//   - Products are rounded before they are added, so no compiler may fuse the two and change a bit.
//   - Nothing here allocates after a Source is made.
//
// Format: docs/spec/duel.md, "The stream".
package bootstrap

import (
	"assay/core/canon"
	"assay/core/digest"
)

// Seed starts a Source. The zero Seed is no seed: nobody resamples by accident from a number that everyone knows.
type Seed struct {
	value uint64
	set   bool
}

// Exactly is the seed with that very value.
func Exactly(value uint64) Seed { return Seed{value: value, set: true} }

// OfDuel is the seed of every duel in the window with that nonce. An empty nonce gives no seed.
func OfDuel(nonce string) Seed { return ofNonce(nonce, "|v3-duel-bootstrap") }

// OfPowerGate is the seed of the power gate in the window with that nonce. An empty nonce gives no seed.
func OfPowerGate(nonce string) Seed {
	if nonce == "" {
		return Seed{}
	}
	return ofNonce(nonce+"|v3-power-gate", "|v3-duel-bootstrap")
}

// Value returns the seed's number and whether there is one.
func (s Seed) Value() (uint64, bool) { return s.value, s.set }

// ofNonce reads the first eight hexadecimal digits of the digest of nonce and label as a number.
func ofNonce(nonce, label string) Seed {
	if nonce == "" {
		return Seed{}
	}
	return Exactly(uint64(digest.First32(canon.AppendStringASCII(nil, nonce+label))))
}
