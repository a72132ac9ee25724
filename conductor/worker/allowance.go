package worker

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
