package openai_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/core/fault"
	"assay/core/secret"
	"assay/llm"
	"assay/llm/openai"
)

// carrier answers requests in memory, so that a synctest bubble's clock governs everything.
type carrier func(*http.Request) (*http.Response, error)

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

func respond(status int, body io.Reader) *http.Response {
	return &http.Response{StatusCode: status, Body: io.NopCloser(body), ContentLength: -1, Header: http.Header{}}
}

func newClient(t testing.TB, o openai.Options) *openai.Client {
	t.Helper()
	if o.Base == "" {
		o.Base = "https://endpoint.invalid/v1"
	}
	c, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func send(c *openai.Client) (llm.Reply, *llm.Failure) {
	r, err := c.Send(context.Background(), llm.Request{Path: llm.ChatPath, Body: []byte(`{}`)})
	var f *llm.Failure
	if err != nil && !errors.As(err, &f) {
		panic(err)
	}
	return r, f
}

func TestSendPassesBytesAndKey(t *testing.T) {
	body := []byte(`{"model":"a/b","x":"\u00e9"}`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		if r.Method != "POST" || r.URL.Path != "/api/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer sk-123456" ||
			r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Accept-Encoding") != "" || !bytes.Equal(got, body) {
			t.Errorf("%s %s %v %s", r.Method, r.URL, r.Header, got)
		}
		_, _ = io.WriteString(w, ` {"ok":true}`)
	}))
	defer server.Close()
	c := newClient(t, openai.Worker(server.URL+"/api/v1/", secret.New("sk-123456")))
	r, err := c.Send(t.Context(), llm.Request{Path: llm.ChatPath, Body: body})
	if err != nil || string(r.Body) != ` {"ok":true}` || r.Attempts != 1 {
		t.Errorf("reply %s after %d attempts, error %v", r.Body, r.Attempts, err)
	}
}

// A named exchange carries its name at every try; others carry none.
func TestAnExchangeIsNamedByItsKey(t *testing.T) {
	var got [][]string
	c := newClient(t, openai.Options{Carrier: carrier(func(r *http.Request) (*http.Response, error) {
		got = append(got, r.Header["Idempotency-Key"])
		return respond(503, strings.NewReader("busy")), nil
	}), Attempts: 2, Sleep: func(context.Context, time.Duration) error { return nil }})
	for _, key := range []string{"w3-king-1/0/0/0", ""} {
		if _, err := c.Send(t.Context(), llm.Request{Path: llm.ChatPath, Body: []byte(`{}`), Key: key}); err == nil {
			t.Error("an answer")
		}
	}
	if fmt.Sprint(got) != "[[w3-king-1/0/0/0] [w3-king-1/0/0/0] [] []]" {
		t.Errorf("%v", got)
	}
}

func TestBehaviourW10_RetryableStatusesShareOneBudget(t *testing.T) {
	for _, status := range []int{408, 429, 500, 502, 503, 529} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				c := newClient(t, openai.Options{Carrier: carrier(func(*http.Request) (*http.Response, error) {
					if calls++; calls < 3 {
						return respond(status, strings.NewReader(`{"error":{"message":"busy"}}`)), nil
					}
					return respond(200, strings.NewReader(`{}`)), nil
				})})
				start := time.Now()
				r, f := send(c)
				if f != nil || r.Attempts != 3 || time.Since(start) != 3*time.Second {
					t.Errorf("attempts %d in %v, failure %v; want 3 with two pauses of 1.5 s", r.Attempts, time.Since(start), f)
				}
			})
		})
	}
	t.Run("three busy answers end it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, openai.Options{Carrier: carrier(func(*http.Request) (*http.Response, error) {
				return respond(503, strings.NewReader(`{"error":"later"}`)), nil
			})})
			_, f := send(c)
			if f == nil || f.Class != llm.Busy || f.Status != 503 || f.Attempts != 3 || f.Message != "later" {
				t.Errorf("failure %+v", f)
			}
		})
	})
	t.Run("slow attempts use up the budget of all", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, openai.Options{Carrier: carrier(func(r *http.Request) (*http.Response, error) {
				select {
				case <-time.After(200 * time.Second):
					return respond(503, strings.NewReader(``)), nil
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
			})})
			start := time.Now()
			_, f := send(c)
			if f == nil || f.Class != llm.Deadline || f.Attempts != 2 || time.Since(start) != 300*time.Second {
				t.Errorf("failure %+v after %v, want the deadline at 300 s in attempt 2", f, time.Since(start))
			}
		})
	})
	t.Run("a pause does not outlive the budget", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, openai.Options{Budget: time.Second, Carrier: carrier(func(*http.Request) (*http.Response, error) {
				return respond(429, strings.NewReader(``)), nil
			})})
			start := time.Now()
			_, f := send(c)
			if f == nil || f.Class != llm.Deadline || f.Status != 429 || time.Since(start) != time.Second {
				t.Errorf("failure %+v after %v", f, time.Since(start))
			}
		})
	})
}

func TestBehaviourW11_OtherRefusalsEndAtOnceWithTheirStatus(t *testing.T) {
	for status, class := range map[int]llm.Class{
		400: llm.Rejected, 401: llm.Unfunded, 402: llm.Unfunded, 403: llm.Rejected, 404: llm.Rejected, 422: llm.Rejected,
		204: llm.Rejected, 307: llm.Rejected,
	} {
		calls := 0
		c := newClient(t, openai.Options{Carrier: carrier(func(*http.Request) (*http.Response, error) {
			calls++
			r := respond(status, strings.NewReader(`{"error":{"message":"no"}}`))
			r.Header.Set("Location", "http://elsewhere.invalid/")
			return r, nil
		})})
		if _, f := send(c); f == nil || f.Class != class || f.Status != status || f.Message != "no" || calls != 1 || f.Attempts != 1 {
			t.Errorf("status %d: failure %+v after %d calls, want %v after one", status, f, calls, class)
		}
	}
}

func TestBehaviourW12_A200ThatIsNotJSONIsTriedAgain(t *testing.T) {
	bodies := []string{`<html>busy</html>`, `{"choices":[{"mess`, `{"ok":1}`}
	for _, tc := range []struct {
		bodies []string
		class  llm.Class
	}{{bodies, 99}, {[]string{``, ` `, `{} {}`}, llm.Malformed}} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			c := newClient(t, openai.Options{Carrier: carrier(func(*http.Request) (*http.Response, error) {
				calls++
				return respond(200, strings.NewReader(tc.bodies[calls-1])), nil
			})})
			r, f := send(c)
			if calls != 3 || (f == nil) != (tc.class == 99) || f != nil && f.Class != tc.class || f == nil && string(r.Body) != `{"ok":1}` {
				t.Errorf("%q: reply %s, failure %+v after %d calls", tc.bodies, r.Body, f, calls)
			}
		})
	}
	t.Run("a connection cut inside the body", func(t *testing.T) {
		var calls atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if calls.Add(1) < 3 {
				w.Header().Set("Content-Length", "100")
				_, _ = io.WriteString(w, `{"cut":`)
				return // the server closes a connection whose body is short
			}
			_, _ = io.WriteString(w, `{}`)
		}))
		defer server.Close()
		c := newClient(t, openai.Options{Base: server.URL, Sleep: func(context.Context, time.Duration) error { return nil }})
		if r, f := send(c); f != nil || r.Attempts != 3 {
			t.Errorf("attempts %d, failure %v", r.Attempts, f)
		}
	})
}

// trickle gives one blank every 7 seconds for ever: every read succeeds.
type trickle struct{}

func (trickle) Read(p []byte) (int, error) {
	time.Sleep(7 * time.Second)
	p[0] = ' '
	return 1, nil
}

func TestBehaviourW13_ATricklingBodyEndsAtTheDeadline(t *testing.T) {
	for _, status := range []int{200, 500} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			c := newClient(t, openai.Options{Carrier: carrier(func(*http.Request) (*http.Response, error) {
				calls++
				return respond(status, trickle{}), nil
			})})
			start := time.Now()
			_, f := send(c)
			if f == nil || f.Class != llm.Deadline || calls != 1 || time.Since(start) != 301*time.Second {
				t.Errorf("status %d: failure %+v after %v and %d calls, want the deadline at the first chunk after 300 s", status, f, time.Since(start), calls)
			}
		})
	}
	t.Run("over a real connection", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				<-tick.C
			}
		}))
		defer server.Close()
		c := newClient(t, openai.Options{Base: server.URL, Budget: 30 * time.Millisecond})
		if _, f := send(c); f == nil || f.Class != llm.Deadline {
			t.Errorf("failure %+v, want the deadline", f)
		}
	})
}

func TestTheCallersContextIsNotAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, openai.Options{Carrier: carrier(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := c.Send(ctx, llm.Request{Path: llm.ChatPath})
		if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*llm.Failure)) {
			t.Errorf("error %v, want the caller's own", err)
		}
	})
}

func TestABodyBeyondItsLimitIsRefusedOnce(t *testing.T) {
	for name, announced := range map[string]int64{"announced": 2000, "found": -1} {
		calls := 0
		c := newClient(t, openai.Options{MaxBody: 1000, Carrier: carrier(func(*http.Request) (*http.Response, error) {
			calls++
			r := respond(200, strings.NewReader(`"`+strings.Repeat("x", 1998)+`"`))
			r.ContentLength = announced
			return r, nil
		})})
		if _, f := send(c); f == nil || f.Class != llm.TooLarge || calls != 1 {
			t.Errorf("%s: failure %+v after %d calls", name, f, calls)
		}
	}
}

func TestMessagesAreRedactedThenClipped(t *testing.T) {
	key := "sk-or-0123456789abcdef0123456789"
	for body, want := range map[string]string{
		`{"error":{"message":"bad key ` + key + ` for you"}}`:  "bad key [secret] for you",
		`{"message":"` + strings.Repeat("x", 150) + key + `"}`: strings.Repeat("x", 150) + "[secret]",
		`{"detail":"other s3cret-pass"}`:                       "other [secret]",
		"<html>\n\x1b[31m" + strings.Repeat("é", 300):          "<html>··[31m" + strings.Repeat("é", 73) + "…",
		`{"error":"` + strings.Repeat("y", 155) + key + `"}`:   strings.Repeat("y", 155) + "[secr…",
		"\xff\xfe":                     "··",
		`{"error":null,"message":"m"}`: "m",
		`[1,2]`:                        "[1,2]",
	} {
		c := newClient(t, openai.Options{Key: secret.New(key), Redactor: secret.NewRedactor(secret.New("s3cret-pass")),
			Carrier: carrier(func(*http.Request) (*http.Response, error) { return respond(400, strings.NewReader(body)), nil })})
		_, f := send(c)
		if f == nil || f.Message != want {
			t.Errorf("body %.60q: message %q, want %q", body, f.Message, want)
		}
		if strings.Contains(fmt.Sprintf("%v %+v", f, c), key) {
			t.Errorf("the key is printed: %v", f)
		}
	}
}

func TestATransportErrorDoesNotPrintTheAddressOrKey(t *testing.T) {
	key := "sk-or-0123456789abcdef"
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, openai.Options{Key: secret.New(key), Carrier: carrier(func(r *http.Request) (*http.Response, error) {
			return nil, errors.New("cannot send " + r.Header.Get("Authorization"))
		})})
		_, f := send(c)
		if f == nil || f.Class != llm.Transport || f.Attempts != 3 || f.Error() != "transport: cannot send Bearer [secret]" {
			t.Errorf("failure %v", f)
		}
	})
}

func TestNewRefusesBadBases(t *testing.T) {
	for _, base := range []string{"", "127.0.0.1:80", "ftp://x/", "http://", "http://u:p@x/v1", "http://x/?a=b", "http://x/#f", "http://[", "/v1"} {
		_, err := openai.New(openai.Options{Base: base})
		if fault.Of(err) != openai.BadBase || strings.Contains(err.Error(), "u:p") {
			t.Errorf("base %q: %v", base, err)
		}
	}
}

// endpoint serves fixed replies by path; an absent path is 404.
func endpoint(replies map[string]string) carrier {
	return func(r *http.Request) (*http.Response, error) {
		body, ok := replies[r.Method+" "+strings.TrimPrefix(r.URL.Path, "/v1")]
		if !ok {
			return respond(404, strings.NewReader(`{}`)), nil
		}
		return respond(200, strings.NewReader(body)), nil
	}
}

func TestModels(t *testing.T) {
	c := newClient(t, openai.Options{Carrier: endpoint(map[string]string{"GET /models": `{"data":[{"id":"b"},{"id":"a","x":1},{"id":3},7,{}]}`})})
	names, err := c.Models(t.Context())
	if diff := cmp.Diff([]string{"b", "a"}, names); err != nil || diff != "" {
		t.Errorf("error %v, names %v", err, names)
	}
	for _, body := range []string{`{"data":[]}`, `{"data":[{"id":""},null]}`} { // an endpoint may serve nothing: that is an answer
		c := newClient(t, openai.Options{Carrier: endpoint(map[string]string{"GET /models": body})})
		if names, err := c.Models(t.Context()); err != nil || len(names) != 0 {
			t.Errorf("%s: %v, %v", body, names, err)
		}
	}
	for _, body := range []string{`{}`, `[]`, `{"data":{}}`, `{"data":null}`, `null`} {
		c := newClient(t, openai.Options{Carrier: endpoint(map[string]string{"GET /models": body})})
		if names, err := c.Models(t.Context()); fault.Of(err) != openai.BadListing || names != nil {
			t.Errorf("%s: %v, %v", body, names, err)
		}
	}
	c = newClient(t, openai.Options{Carrier: endpoint(nil)})
	var f *llm.Failure
	if _, err := c.Models(t.Context()); !errors.As(err, &f) || f.Status != 404 {
		t.Errorf("no list: %v", err)
	}
}

func TestBehaviourW15_UnknownCreditsAreNotZero(t *testing.T) {
	num := func(f float64) *float64 { return &f }
	for name, tc := range map[string]struct {
		key, credits string
		want         openai.Limits
	}{
		"both":                   {`{"data":{"limit_remaining":5}}`, `{"data":{"total_credits":10,"total_usage":7}}`, openai.Limits{LimitRemaining: num(5), CreditsRemaining: num(3)}},
		"no limit":               {`{"data":{"limit_remaining":null}}`, `{"data":{"total_credits":10,"total_usage":10}}`, openai.Limits{CreditsRemaining: num(0)}},
		"credits refused":        {`{"data":{"limit_remaining":5}}`, ``, openai.Limits{LimitRemaining: num(5)}},
		"credits half told":      {`{"data":{"limit_remaining":5}}`, `{"data":{"total_credits":10}}`, openai.Limits{LimitRemaining: num(5)}},
		"credits of no use":      {`{"data":{"limit_remaining":0}}`, `[]`, openai.Limits{LimitRemaining: num(0)}},
		"limit is not reported":  {`{"data":{}}`, `{"data":{"total_credits":1,"total_usage":2}}`, openai.Limits{CreditsRemaining: num(-1)}},
		"credits told as a text": {`{"data":{}}`, `{"data":{"total_credits":"1","total_usage":"0"}}`, openai.Limits{}},
	} {
		replies := map[string]string{"GET /auth/key": tc.key}
		if tc.credits != "" {
			replies["GET /credits"] = tc.credits
		}
		got, err := newClient(t, openai.Options{Carrier: endpoint(replies)}).Limits(t.Context())
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v, limits differ:\n%s", name, err, diff)
		}
	}
	var f *llm.Failure
	if _, err := newClient(t, openai.Options{Carrier: endpoint(nil)}).Limits(t.Context()); !errors.As(err, &f) || f.Status != 404 {
		t.Errorf("key refused: %v, want a failure with status 404", err)
	}
	if _, err := newClient(t, openai.Options{Carrier: endpoint(map[string]string{"GET /auth/key": `[]`})}).Limits(t.Context()); fault.Of(err) != openai.BadListing {
		t.Errorf("key unreadable: %v", err)
	}
}

func TestAKeyIsNotSentInClear(t *testing.T) {
	key := secret.New("sk-123456")
	for base, want := range map[string]fault.Code{
		"http://127.0.0.1:8089/v1": {}, "http://127.9.9.9": {}, "http://[::1]:1/v1": {}, "http://localhost:8089": {}, "https://example.org/v1": {},
		"http://example.org/v1": openai.KeyInClear, "http://10.0.0.1": openai.KeyInClear, "http://0.0.0.0:80": openai.KeyInClear,
		"http://localhost.example.org": openai.KeyInClear, "http://127.0.0.1.example.org": openai.KeyInClear, "http://[::]": openai.KeyInClear,
	} {
		if _, err := openai.New(openai.Worker(base, key)); fault.Of(err) != want || err != nil && strings.Contains(err.Error(), "sk-") {
			t.Errorf("%s: %v", base, err)
		}
		if _, err := openai.New(openai.Options{Base: base}); err != nil {
			t.Errorf("%s without a key: %v", base, err)
		}
	}
}
