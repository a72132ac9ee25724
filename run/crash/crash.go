//go:build !crash

// Package crash names the moments at which a process is killed by tests that prove it survives that.
//
// Invariants:
//   - A binary built without the tag crash holds none of it: Point is empty and inlined away.
//   - With the tag, the process ends at its point as by a power cut of itself: no deferred call, no flush, no exit handler.
//
// The points of a binary with the tag: docs/spec/lines.md.
package crash

// Point is a moment at which a process built with the tag crash may end. name says which, in words of its room.
func Point(name string) {}
