// Package money counts dollars exactly: whole pico-dollars (10^-12 dollar) in an int64.
//
// Invariants:
//   - An amount that was read is what was written, rounded once to the nearest pico-dollar, halves away from zero.
//   - Arithmetic that leaves the range is an error or, where a function says so, saturates; it never wraps.
package money

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"assay/core/fault"
)

// Pico is an amount in pico-dollars. Its range is about ±9.22 million dollars.
type Pico int64

// Dollar is one dollar.
const Dollar Pico = 1_000_000_000_000

// Max is the largest amount.
const Max Pico = math.MaxInt64

// BadAmount refuses a text or number that is no amount of dollars.
var BadAmount = fault.NewCode("money.bad_amount", fault.Invalid, "not an amount of dollars")

// OutOfRange refuses an amount beyond ±9.22 million dollars.
var OutOfRange = fault.NewCode("money.out_of_range", fault.Invalid, "amount of dollars out of range")

var picoPerDollar = new(big.Rat).SetInt64(int64(Dollar))

// Parse reads a decimal number of dollars such as "0.0188" or "1e-06".
func Parse(s string) (Pico, error) {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, BadAmount.With(fault.Str("text", s))
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, BadAmount.With(fault.Str("text", s))
	}
	if math.Abs(f) < 1e-13 {
		return 0, nil // also keeps huge negative exponents away from the rational below
	}
	if math.Abs(f) > 1e7 {
		return 0, OutOfRange.With(fault.Str("text", s))
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, BadAmount.With(fault.Str("text", s))
	}
	return round(r.Mul(r, picoPerDollar), s)
}

func round(r *big.Rat, s string) (Pico, error) {
	n, d := new(big.Int).Set(r.Num()), r.Denom()
	neg := n.Sign() < 0
	n.Abs(n).Lsh(n, 1).Add(n, d).Quo(n, new(big.Int).Lsh(d, 1)) // floor(|r| + 1/2)
	if !n.IsInt64() {
		return 0, OutOfRange.With(fault.Str("text", s))
	}
	if neg {
		return Pico(-n.Int64()), nil
	}
	return Pico(n.Int64()), nil
}

// FromFloat reads a float64 of dollars through its shortest decimal text. NaN and infinities are refused.
func FromFloat(f float64) (Pico, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, BadAmount.With(fault.Float("value", f))
	}
	// Below 2^45 pico-dollars, about $35, f·10^12 is off by less than 0.01, so one rounding is exact
	// unless the fraction is that close to a half; those few take the decimal way.
	if x := f * float64(Dollar); math.Abs(x) < 1<<45 {
		if d := math.Abs(x - math.Trunc(x)); math.Abs(d-0.5) > 0.01 {
			return Pico(math.Round(x)), nil
		}
	}
	return Parse(strconv.FormatFloat(f, 'g', -1, 64))
}

// Dollars returns the nearest float64 number of dollars.
// For an amount that was read from a decimal of at most 12 places below 9,007 dollars it is that decimal's float64.
func (p Pico) Dollars() float64 { return float64(p) / float64(Dollar) }

// Add returns p + q.
func (p Pico) Add(q Pico) (Pico, error) {
	s := p + q
	if (s > p) == (q > 0) {
		return s, nil
	}
	return 0, OutOfRange.With()
}

// Plus returns p + q, held at the ends of the range.
func (p Pico) Plus(q Pico) Pico {
	s, err := p.Add(q)
	switch {
	case err == nil:
		return s
	case q > 0:
		return Max
	default:
		return -Max
	}
}

// Tokens returns the price of n tokens at perMillion dollars for a million, rounded to the nearest pico-dollar, halves up.
// It saturates at Max. n and perMillion must not be negative.
func Tokens(n int64, perMillion Pico) Pico {
	if n < 0 || perMillion < 0 {
		panic("money: negative tokens or price")
	}
	hi, lo := bits.Mul64(uint64(n), uint64(perMillion))
	lo, carry := bits.Add64(lo, 500_000, 0)
	hi += carry
	if hi >= 1_000_000 {
		return Max
	}
	q, _ := bits.Div64(hi, lo, 1_000_000)
	if q > uint64(Max) {
		return Max
	}
	return Pico(q)
}

// String returns the amount with six decimals, for instance "$0.031000".
func (p Pico) String() string { return "$" + strconv.FormatFloat(p.Dollars(), 'f', 6, 64) }

// AppendDollars appends the exact decimal number of dollars, without a sign for it and without superfluous zeros.
func (p Pico) AppendDollars(dst []byte) []byte {
	u := uint64(p)
	if p < 0 {
		dst, u = append(dst, '-'), -u
	}
	dst = strconv.AppendUint(dst, u/uint64(Dollar), 10)
	frac := u % uint64(Dollar)
	dst = append(dst, '.')
	if frac == 0 {
		return append(dst, '0')
	}
	start := len(dst)
	dst = append(dst, "000000000000"...)
	for i := len(dst) - 1; i >= start; i-- {
		dst[i] = byte('0' + frac%10)
		frac /= 10
	}
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}
