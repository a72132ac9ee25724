package bootstrap

import "math"

// Sum adds pairwise, in numpy's order: eight lanes up to 128 items, halves above.
func Sum(v []float64) float64 {
	switch n := len(v); {
	case n < 8:
		sum := 0.0
		for _, x := range v {
			sum += x
		}
		return sum
	case n <= 128:
		return lanes(v)
	default:
		half := n / 2
		half -= half % 8
		return Sum(v[:half]) + Sum(v[half:])
	}
}

// lanes adds 8 to 128 items in eight interleaved lanes.
func lanes(v []float64) float64 {
	r := [8]float64(v)
	i := 8
	for ; i+8 <= len(v); i += 8 {
		for j := range r {
			r[j] += v[i+j]
		}
	}
	sum := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
	for ; i < len(v); i++ {
		sum += v[i]
	}
	return sum
}

// Mean is the pairwise sum over the number of items. The mean of nothing is NaN.
func Mean(v []float64) float64 { return Sum(v) / float64(len(v)) }

// Percentile returns the point below which the share p of the ascending items lies, p in [0, 1], interpolated
// linearly at (n-1)p: from the lower neighbour below the middle, from the upper one at and above it.
func Percentile(ascending []float64, p float64) float64 {
	if len(ascending) == 0 {
		return math.NaN()
	}
	at := float64(float64(len(ascending)-1) * p) // rounded before the subtraction below
	i := int(at)
	low, part := ascending[i], at-float64(i)
	if i+1 == len(ascending) {
		return low
	}
	high := ascending[i+1]
	if part >= 0.5 {
		return high - float64((high-low)*(1-part))
	}
	return low + float64((high-low)*part)
}

// Deviation is the standard deviation of a sample, with n-1 below the line. It uses v as its scratch paper: v is
// squared distances afterwards. Fewer than two items have no spread: 0.
func Deviation(v []float64) float64 {
	if len(v) < 2 {
		return 0
	}
	mean := Mean(v)
	for i, x := range v {
		d := x - mean
		v[i] = d * d
	}
	return math.Sqrt(Sum(v) / float64(len(v)-1))
}
