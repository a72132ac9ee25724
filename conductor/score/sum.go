package score

import "math"

// Sum is the exactly rounded sum: what infinite precision would give, rounded once. It does not depend on order.
// The method is Shewchuk's: partial sums that do not overlap.
func Sum(v []float64) float64 {
	var room [16]float64
	partials := room[:0]
	for _, x := range v {
		kept := 0
		for _, y := range partials {
			if math.Abs(x) < math.Abs(y) {
				x, y = y, x
			}
			high := x + y
			low := y - (high - x)
			if low != 0 {
				partials[kept] = low
				kept++
			}
			x = high
		}
		partials = append(partials[:kept], x)
	}
	return round(partials)
}

// round adds partial sums from the largest down and rounds half to even over all of them.
func round(partials []float64) float64 {
	n := len(partials) - 1
	if n < 0 {
		return 0
	}
	high, low := partials[n], 0.0
	for n > 0 && low == 0 {
		n--
		x, y := high, partials[n]
		high = x + y
		low = y - (high - x)
	}
	// A tie was rounded by the last addition alone; what lies below it decides.
	if n > 0 && (low < 0) == (partials[n-1] < 0) && low != 0 && partials[n-1] != 0 {
		twice := low * 2
		if next := high + twice; next-high == twice {
			high = next
		}
	}
	return high
}

// mean is the exactly rounded sum over the number of items, which is never zero here.
func mean(v []float64) float64 { return Sum(v) / float64(len(v)) }

// meanOf is the mean of a number read from each item.
func meanOf[T any](items []T, read func(T) float64) float64 {
	v := make([]float64, len(items))
	for i, item := range items {
		v[i] = read(item)
	}
	return mean(v)
}

// dollars reports whether x is an amount that somebody could have spent.
func dollars(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }
