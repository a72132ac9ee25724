// Package openai speaks to any endpoint of the OpenAI-compatible HTTP form.
//
// Invariants:
//   - The time budget covers a whole Send: every attempt, every pause and every byte of a body, however slowly it comes.
//   - 408, 429, 5xx, transport errors and a 200 that is not JSON are tried again; any other refusal ends at once.
//   - No proxy, no redirect, no compression; a body ends at its limit.
//   - The key leaves in one header only, never in clear for another machine; a provider's words are redacted before they are clipped.
package openai

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"assay/core/fault"
	"assay/core/secret"
	"assay/llm"
)

// BadBase refuses a base address that is not an absolute http or https URL without user, query and fragment.
var BadBase = fault.NewCode("openai.bad_base", fault.Invalid, "an endpoint's base is an http or https address such as http://127.0.0.1:8089/v1")

// KeyInClear refuses a key that would cross a network unencrypted.
var KeyInClear = fault.NewCode("openai.key_in_clear", fault.Invalid, "a key is sent over https only, or over http to this machine")

// BadListing refuses a reply to GET /models or /auth/key that lacks what it must say.
var BadListing = fault.NewCode("openai.bad_listing", fault.Unready, "the endpoint's list of models or key report cannot be read")

// Options configure a Client. The zero value of a field takes its default.
type Options struct {
	Base     string                                     // such as https://openrouter.ai/api/v1; the paths are appended
	Key      secret.Value                               // sent as a bearer token; none: no header
	Attempts int                                        // tries of one Send; default 3
	Budget   time.Duration                              // time for all tries together; default 300 s
	Pause    time.Duration                              // between two tries; default 1.5 s
	MaxBody  int64                                      // longest body that is read, in bytes; default 16 MiB
	Redactor *secret.Redactor                           // further secrets to hide in messages; the key always is
	Carrier  http.RoundTripper                          // what carries requests; default: a connection pool of its own
	Sleep    func(context.Context, time.Duration) error // how a pause passes; default: a timer
}

// Worker returns the options of worker calls: three attempts share 300 s, with pauses of 1.5 s.
func Worker(base string, key secret.Value) Options {
	return Options{Base: base, Key: key, Attempts: 3, Budget: 300 * time.Second, Pause: 1500 * time.Millisecond}
}

// Conductor returns the options of a Conductor's endpoint: one attempt within 180 s.
func Conductor(base string, key secret.Value) Options {
	return Options{Base: base, Key: key, Attempts: 1, Budget: 180 * time.Second}
}

// Client is one endpoint. It is safe for concurrent use.
type Client struct {
	o    Options
	base *url.URL
	key  *secret.Redactor
	http *http.Client
}

var _ llm.Client = (*Client)(nil)

// New makes a client. It does not connect.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.Base)
	if err != nil {
		return nil, BadBase.With() // not even the cause: a base may hold a password
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, BadBase.With()
	}
	if u.Scheme == "http" && !o.Key.IsZero() && !loopback(u.Hostname()) {
		return nil, KeyInClear.With(fault.Str("host", u.Host))
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/"
	u.RawPath = ""
	c := &Client{o: o.withDefaults(), base: u, key: secret.NewRedactor(o.Key)}
	c.http = &http.Client{
		Transport:     c.o.Carrier,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// loopback reports whether a host is this machine by its very name: names that would have to be looked up are not.
func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

func (o Options) withDefaults() Options {
	if o.Attempts <= 0 {
		o.Attempts = 3
	}
	if o.Budget <= 0 {
		o.Budget = 300 * time.Second
	}
	if o.Pause <= 0 {
		o.Pause = 1500 * time.Millisecond
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 16 << 20
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Carrier == nil {
		o.Carrier = newTransport()
	}
	return o
}

// newTransport keeps connections alive for as many calls as an arm has in flight.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // a proxy would see keys, and a wrong one would look like a broken endpoint
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // a small body cannot become a huge one, and a loopback call stays cheap
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Close lets go of idle connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Send posts the body and returns the reply. See llm.Client.
func (c *Client) Send(ctx context.Context, r llm.Request) (llm.Reply, error) {
	return c.exchange(ctx, http.MethodPost, r)
}
