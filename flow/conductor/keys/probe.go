package keys

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"assay/conductor/funding"
	"assay/core/fault"
	"assay/core/secret"
)

// KeyRefused says that the provider does not know a key that was opened.
var KeyRefused = fault.NewCode("keys.key_refused", fault.Forbidden, "the provider does not accept the key")

// NoProbe says that nothing could be learned of a key.
var NoProbe = fault.NewCode("keys.no_probe", fault.Unready, "the provider could not be asked about the key")

// maxProbe is the longest answer that is read, in bytes.
const maxProbe = 1 << 20

// errRedirected is why a probe that is sent elsewhere fails: the key stays with whom it was meant for.
var errRedirected = errors.New("the provider sends elsewhere")

// Probe asks a provider what a key may still spend: GET base/auth/key and base/credits. A key that is refused there is
// KeyRefused; a provider that cannot be asked is NoProbe. What only the second would say is left unknown when it fails.
func Probe(ctx context.Context, client *http.Client, base string, key secret.Value) (funding.Bounds, error) {
	c := *client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return errRedirected }
	body, status, err := get(ctx, &c, strings.TrimSuffix(base, "/")+"/auth/key", key)
	switch {
	case ctx.Err() != nil:
		return funding.Bounds{}, context.Cause(ctx)
	case err != nil:
		return funding.Bounds{}, NoProbe.Because(err)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return funding.Bounds{}, KeyRefused.With(fault.Int("status", int64(status)))
	case status != http.StatusOK:
		return funding.Bounds{}, NoProbe.With(fault.Int("status", int64(status)))
	}
	b := funding.Bounds{Limit: funding.ReadLimit(body)}
	if body, status, err = get(ctx, &c, strings.TrimSuffix(base, "/")+"/credits", key); err == nil && status == http.StatusOK {
		b.Credits = funding.ReadCredits(body)
	}
	return b, nil
}

func get(ctx context.Context, c *http.Client, url string, key secret.Value) ([]byte, int, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, 0, err
	}
	q.Header.Set("Authorization", "Bearer "+key.Reveal())
	r, err := c.Do(q)
	if err != nil {
		return nil, 0, err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxProbe))
	return body, r.StatusCode, err
}
