// Package conductor holds the refusals of the Conductor's wing, one code each.
//
// Invariants:
//   - A code's word is the error kind of the conformance vectors where they have one.
//   - The rooms below hold rules only: no context, no clock, no disk.
package conductor
