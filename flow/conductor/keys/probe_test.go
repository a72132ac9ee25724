package keys_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assay/conductor/funding"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/secret"
	"assay/flow/conductor/keys"
)

// provider answers both questions about a key.
func provider(t *testing.T, status int, limit string, creditsStatus int, credits string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("asked with %q", r.Header.Get("Authorization"))
		}
		switch r.URL.Path {
		case "/api/v1/auth/key":
			if status == http.StatusFound {
				w.Header().Set("Location", "/elsewhere")
			}
			w.WriteHeader(status)
			fmt.Fprint(w, limit)
		case "/api/v1/credits":
			w.WriteHeader(creditsStatus)
			fmt.Fprint(w, credits)
		default:
			t.Errorf("asked for %s", r.URL.Path)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/api/v1"
}

func TestAnArmMaySpendTheSmallestKnownBound(t *testing.T) {
	id, _ := owner(t)
	v := checked(t, sealed(t, id)) // a cap of five dollars
	for name, c := range map[string]struct {
		limit   string
		status  int
		credits string
		want    money.Pico
	}{
		"the cap":              {`{"data":{"limit_remaining":7.5,"label":"x"}}`, 200, `{"data":{"total_credits":10,"total_usage":2}}`, 5 * money.Dollar},
		"the key's limit":      {`{"data":{"limit_remaining":0.25}}`, 200, `{"data":{"total_credits":10,"total_usage":2}}`, money.Dollar / 4},
		"the account":          {`{"data":{"limit_remaining":null}}`, 200, `{"data":{"total_credits":10,"total_usage":9.5}}`, money.Dollar / 2},
		"nothing is left":      {`{"data":{"limit_remaining":-1}}`, 200, `{}`, 0},
		"credits fail":         {`{"data":{"limit_remaining":2}}`, 500, `{"data":{"total_credits":1,"total_usage":0}}`, 2 * money.Dollar},
		"credits are no JSON":  {`{"data":{"limit_remaining":2}}`, 200, `<html>`, 2 * money.Dollar},
		"credits lack a part":  {`{"data":{"limit_remaining":2}}`, 200, `{"data":{"total_credits":1}}`, 2 * money.Dollar},
		"nothing is known":     {`<html>`, 404, ``, 5 * money.Dollar},
		"a limit out of range": {`{"data":{"limit_remaining":1e300}}`, 404, ``, 5 * money.Dollar},
		"a limit as text":      {`{"data":{"limit_remaining":"1"}}`, 404, ``, 5 * money.Dollar},
	} {
		b, err := keys.Probe(t.Context(), http.DefaultClient, provider(t, 200, c.limit, c.status, c.credits)+"/", secret.New(key))
		if got := v.Allowance(b); err != nil || got != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if got := (funding.Verified{}).Allowance(funding.Bounds{}); got != 0 {
		t.Errorf("the zero Verified may spend %s", got)
	}
}

func TestAKeyThatTheProviderRefuses(t *testing.T) {
	for status, want := range map[int]fault.Code{401: keys.KeyRefused, 403: keys.KeyRefused, 402: keys.NoProbe, 500: keys.NoProbe, 302: keys.NoProbe} {
		b, err := keys.Probe(t.Context(), http.DefaultClient, provider(t, status, key, 200, ""), secret.New(key))
		if fault.Of(err) != want || b != (funding.Bounds{}) || strings.Contains(err.Error(), key) {
			t.Errorf("status %d: %v", status, err)
		}
	}
	if _, err := keys.Probe(t.Context(), http.DefaultClient, "http://127.0.0.1:1", secret.New(key)); fault.Of(err) != keys.NoProbe {
		t.Errorf("nobody there: %v", err)
	}
	if _, err := keys.Probe(t.Context(), http.DefaultClient, "http://a b", secret.New(key)); fault.Of(err) != keys.NoProbe {
		t.Errorf("no address: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the window is stopped")
	cancel(stop)
	if _, err := keys.Probe(ctx, http.DefaultClient, provider(t, 200, "", 200, ""), secret.New(key)); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}
