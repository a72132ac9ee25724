//go:build race

package sqlite_test

// turns of each goroutine: the race detector makes the translated C some ten times slower.
const turns = 1_000
