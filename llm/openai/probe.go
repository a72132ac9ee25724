package openai

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"

	"assay/core/fault"
	"assay/llm"
)

// Models returns the names that GET /models lists, in the order of the list. Rows without a name are passed over, and an
// endpoint that lists none is no error.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	r, err := c.exchange(ctx, http.MethodGet, llm.Request{Path: "models"})
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(r.Body, &list); err != nil {
		return nil, BadListing.Because(err)
	}
	if list.Data == nil {
		return nil, BadListing.Because(errors.New("data is not a list"))
	}
	names := make([]string, 0, len(list.Data))
	for _, raw := range list.Data {
		var row struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(raw, &row) == nil && row.ID != "" {
			names = append(names, row.ID)
		}
	}
	return names, nil
}

// Limits is what a key may still spend, in dollars. nil means unknown or unbounded, never zero.
type Limits struct {
	LimitRemaining   *float64 // what the key's own limit leaves
	CreditsRemaining *float64 // what its account holds: total credits minus total usage
}

// Limits asks what the key may still spend. The key's own report must come (else its *llm.Failure, with the status);
// an account that is not told counts as unknown.
func (c *Client) Limits(ctx context.Context) (Limits, error) {
	r, err := c.exchange(ctx, http.MethodGet, llm.Request{Path: "auth/key"})
	if err != nil {
		return Limits{}, err
	}
	var key struct {
		Data *struct {
			Remaining *float64 `json:"limit_remaining"`
		} `json:"data"`
	}
	if err := json.Unmarshal(r.Body, &key); err != nil || key.Data == nil {
		return Limits{}, BadListing.With(fault.Str("path", "auth/key")).Because(err)
	}
	l := Limits{LimitRemaining: key.Data.Remaining}
	r, err = c.exchange(ctx, http.MethodGet, llm.Request{Path: "credits"})
	if err != nil {
		return l, ctx.Err()
	}
	var credits struct {
		Data struct {
			Total *float64 `json:"total_credits"`
			Usage *float64 `json:"total_usage"`
		} `json:"data"`
	}
	if json.Unmarshal(r.Body, &credits) == nil && credits.Data.Total != nil && credits.Data.Usage != nil {
		if left := *credits.Data.Total - *credits.Data.Usage; !math.IsInf(left, 0) {
			l.CreditsRemaining = &left
		}
	}
	return l, nil
}
