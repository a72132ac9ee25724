//go:build !race

package sqlite_test

// turns of each goroutine.
const turns = 10_000
