// Package decimal reads numbers that others wrote as text: prices of a listing, costs and counts of a reply.
//
// Invariants:
//   - profile.Strict reads plain decimal numbers that fit a float64: digits with a sign, a point and an exponent.
//   - profile.Compat reads whatever the reference's number reader takes. What both profiles read they read alike.
//   - Hexadecimal is never read.
package decimal

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"assay/conductor/profile"
	"assay/core/text"
)

// Read returns the number that s says. Under profile.Compat it may be infinite or not a number.
func Read(s string, p profile.Profile) (float64, bool) {
	if f, ok := plain(s); ok || p.Strict() {
		return f, ok
	}
	return loose(s)
}

func plain(s string) (float64, bool) {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false // also the words for infinity and for not-a-number
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, false
	}
	return f, true
}

// loose reads blanks around, single underscores between digits, any Unicode decimal digits, numbers that overflow, and
// the words inf, infinity and nan with a sign in any case.
func loose(s string) (float64, bool) {
	s, ok := ascii(text.Trim(s))
	if !ok {
		return 0, false
	}
	unsigned := strings.TrimPrefix(s, "+")
	if unsigned == s {
		unsigned = strings.TrimPrefix(s, "-")
	}
	switch strings.ToLower(unsigned) {
	case "nan":
		return math.NaN(), true
	case "inf", "infinity":
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil
	}
	if strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0)
}

// ascii writes every digit in ASCII and drops the underscores, each of which must stand between two digits.
func ascii(s string) (string, bool) {
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		switch {
		case r == '_':
			if i == 0 || i+1 == len(runes) || !unicode.IsDigit(runes[i-1]) || !unicode.IsDigit(runes[i+1]) {
				return "", false
			}
		case unicode.IsDigit(r):
			b.WriteByte('0' + digit(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String(), true
}

// digit returns the value of a Unicode decimal digit: digits come in runs of ten that start at a zero.
func digit(r rune) byte {
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return byte((r - rune(t.Lo)) % 10)
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return byte((r - rune(t.Lo)) % 10)
		}
	}
	return 0
}
