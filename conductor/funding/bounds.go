package funding

import (
	"github.com/go-json-experiment/json/jsontext"

	"assay/core/canon"
	"assay/core/money"
)

// Bounds is what a provider says of a key. A bound that is not known is nil and does not bind.
type Bounds struct {
	Limit   *money.Pico // what the key's own limit leaves
	Credits *money.Pico // what the account behind it holds
}

// ReadLimit reads the answer to GET auth/key. A key without a limit has none that is known.
//
//	{"data":{"limit_remaining":7.5}}
func ReadLimit(body []byte) *money.Pico {
	var d struct {
		Data struct {
			Remaining jsontext.Value `json:"limit_remaining"`
		} `json:"data"`
	}
	if canon.Lenient(body, &d) != nil {
		return nil
	}
	return amount(d.Data.Remaining)
}

// ReadCredits reads the answer to GET credits.
//
//	{"data":{"total_credits":10,"total_usage":2.5}}
func ReadCredits(body []byte) *money.Pico {
	var d struct {
		Data struct {
			Credits jsontext.Value `json:"total_credits"`
			Usage   jsontext.Value `json:"total_usage"`
		} `json:"data"`
	}
	if canon.Lenient(body, &d) != nil {
		return nil
	}
	have, used := amount(d.Data.Credits), amount(d.Data.Usage)
	if have == nil || used == nil {
		return nil
	}
	left := have.Plus(-*used)
	return &left
}

func amount(v jsontext.Value) *money.Pico {
	if v.Kind() != '0' {
		return nil
	}
	p, err := money.Parse(string(v))
	if err != nil {
		return nil
	}
	return &p
}

// Allowance returns what an arm may spend: the smallest of its record's cap and the bounds that are known, not below zero.
func (v Verified) Allowance(b Bounds) money.Pico {
	least := v.Record().Cap
	for _, known := range []*money.Pico{b.Limit, b.Credits} {
		if known != nil {
			least = min(least, *known)
		}
	}
	return max(0, least)
}
