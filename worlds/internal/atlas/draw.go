package atlas

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
)

// draw is a stream of numbers that depends on its seed alone, also across releases of the language.
type draw struct {
	seed string
	n    int
}

// below returns a number in [0, n).
func (d *draw) below(n int) int {
	sum := sha256.Sum256([]byte(d.seed + "|" + strconv.Itoa(d.n)))
	d.n++
	return int(binary.BigEndian.Uint64(sum[:8]) % uint64(n))
}

// between returns a number in [low, high].
func (d *draw) between(low, high int) int { return low + d.below(high-low+1) }

// shuffle returns a shuffled copy of list.
func shuffle[T any](d *draw, list []T) []T {
	out := append([]T(nil), list...)
	for i := len(out) - 1; i > 0; i-- {
		j := d.below(i + 1)
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// pick returns one of list.
func pick[T any](d *draw, list []T) T { return list[d.below(len(list))] }
