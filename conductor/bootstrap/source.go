package bootstrap

import "math/bits"

// Source is a stream of whole numbers: PCG64 (128-bit state, XSL-RR output) seeded by numpy's SeedSequence.
// It is not safe for concurrent use. The zero Source is not seeded; From makes one.
type Source struct {
	hi, lo       uint64 // the generator's state
	incHi, incLo uint64
	kept         uint32 // the high half of the last output, which the next 32-bit draw uses up
	keeps        bool
}

// The multiplier of the generator's step, high and low half.
const mulHi, mulLo = 0x2360ED051FC65DA4, 0x4385DF649FCCF645

// From returns the stream of a seed's number.
func From(value uint64) Source {
	w := spread(value)
	s := Source{incHi: w[2]<<1 | w[3]>>63, incLo: w[3]<<1 | 1}
	s.step()
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, w[1], 0)
	s.hi, _ = bits.Add64(s.hi, w[0], carry)
	s.step()
	return s
}

// Below returns a number in [0, n) by Lemire's method. For n of 0 or 1 it returns 0 and draws nothing.
func (s *Source) Below(n uint32) uint32 {
	if n <= 1 {
		return 0
	}
	m := uint64(s.next32()) * uint64(n)
	if uint32(m) < n {
		m = s.redraw(m, n)
	}
	return uint32(m >> 32)
}

// redraw rejects the few draws that would favour small numbers.
func (s *Source) redraw(m uint64, n uint32) uint64 {
	for floor := -n % n; uint32(m) < floor; {
		m = uint64(s.next32()) * uint64(n)
	}
	return m
}

// Resample draws len(values) of the values with replacement and returns their sum, added in the order drawn.
func (s *Source) Resample(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	n := uint32(len(values))
	src, sum := *s, 0.0 // the copy stays in registers
	for range values {
		sum += values[src.Below(n)]
	}
	*s = src
	return sum
}

// ResampleGroups draws len(sums) whole groups with replacement, where group i has sizes[i] members that add up to
// sums[i], and returns the sum over all drawn members and their number.
func (s *Source) ResampleGroups(sums []float64, sizes []int) (sum float64, members int) {
	n := uint32(len(sums))
	for range sums {
		i := s.Below(n)
		sum += sums[i]
		members += sizes[i]
	}
	return sum, members
}

// next32 returns the low half of an output, then its high half.
func (s *Source) next32() uint32 {
	if s.keeps {
		s.keeps = false
		return s.kept
	}
	s.step()
	v := bits.RotateLeft64(s.hi^s.lo, -int(s.hi>>58))
	s.kept, s.keeps = uint32(v>>32), true
	return uint32(v)
}

// step moves the state on: state times the multiplier plus the increment, modulo 2^128.
func (s *Source) step() {
	hi, lo := bits.Mul64(s.lo, mulLo)
	hi += s.hi*mulLo + s.lo*mulHi
	var carry uint64
	s.lo, carry = bits.Add64(lo, s.incLo, 0)
	s.hi, _ = bits.Add64(hi, s.incHi, carry)
}

// spread hashes a seed into the four 64-bit words that start the generator.
func spread(seed uint64) (words [4]uint64) {
	entropy := [4]uint32{uint32(seed), uint32(seed >> 32)}
	running := uint32(0x43b0d7e5)
	hash := func(v uint32) uint32 {
		v ^= running
		running *= 0x931e8875
		v *= running
		return v ^ v>>16
	}
	var pool [4]uint32
	for i := range pool {
		pool[i] = hash(entropy[i])
	}
	for from := range pool {
		for to := range pool {
			if from != to {
				mixed := 0xca01f9dd*pool[to] - 0x4973f715*hash(pool[from])
				pool[to] = mixed ^ mixed>>16
			}
		}
	}
	running = 0x8b51f9dd
	for i := range 8 {
		v := pool[i%4] ^ running
		running *= 0x58f38ded
		v *= running
		words[i/2] |= uint64(v^v>>16) << (32 * (i % 2))
	}
	return words
}
