package worker

import (
	"strings"

	"assay/core/text"
)

// plain takes off what the public reference's number reader ignores: blanks around, and underscores between digits.
func plain(s string) string {
	s = text.Trim(s)
	if !strings.Contains(s, "_") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		if s[i] != '_' {
			b = append(b, s[i])
			continue
		}
		if i == 0 || i == len(s)-1 || !digit(s[i-1]) || !digit(s[i+1]) {
			return s // not a number: the underscore stays and refuses it
		}
	}
	return string(b)
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// Retryable reports whether a call that ended with this HTTP status is tried again: 408, 429 and 500 on.
func Retryable(status int) bool { return status == 408 || status == 429 || status >= 500 }

// Allowance returns what an arm may spend in dollars: the smallest of the owner's cap, what the key's limit leaves and
// what its account holds. A bound that is not known, nil, does not bind.
func Allowance(limitRemaining, creditsRemaining *float64, limit float64) float64 {
	for _, known := range []*float64{limitRemaining, creditsRemaining} {
		if known != nil {
			limit = min(limit, *known)
		}
	}
	return limit
}
