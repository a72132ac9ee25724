package rpc

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assay/chain"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/text"
)

const (
	maxBody  = 8 << 20 // bytes of an answer
	attempts = 3       // tries of a read
)

var (
	errShape  = errors.New("the answer has another shape than the method's")
	errNull   = errors.New("the node does not know this block yet")
	errPruned = errors.New("the node has thrown this block's state away; ask an archive node")
	errLong   = errors.New("the answer is too long")
	errID     = errors.New("the answer is to another question")
)

// odd is an answer that cannot be used.
func odd(method string, why error) error {
	return chain.Unavailable.Because(why).With(fault.Str("method", method))
}

// request and reply are the two shapes of JSON-RPC 2.0.
type request struct {
	Version string `json:"jsonrpc"`
	ID      int64  `json:"id"`
	Method  string `json:"method"`
	Params  []any  `json:"params"`
}

type reply struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Result  jsontext.Value `json:"result"`
	Error   *rpcError      `json:"error"`
}

// rpcError is what a node refuses a call with.
type rpcError struct {
	Code    int64          `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data"`
}

// Error describes the refusal in one line, the node's words quoted and clipped.
func (e *rpcError) Error() string {
	return fmt.Sprintf("the node says %d: %s", e.Code, text.Quote(e.Message, 200))
}

// fault returns the refusal of a read.
func (e *rpcError) fault(method string) error {
	fields := []fault.Field{fault.Str("method", method), fault.Int("rpc_code", e.Code), fault.Str("says", e.Message)}
	if strings.Contains(e.Message+string(e.Data), "discarded") {
		return chain.Unavailable.Because(errPruned).With(fields...)
	}
	return chain.Unavailable.With(fields...)
}

// read asks for something and stores the result where into points. It tries again where the exchange itself failed.
func (c *Client) read(ctx context.Context, method string, into any, params ...any) error {
	var result jsontext.Value
	pause := c.conf.Pause
	for try := 1; ; try++ {
		var err error
		result, err = c.exchange(ctx, method, params)
		if err == nil {
			break
		}
		var said *rpcError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &said):
			return said.fault(method)
		case try == attempts:
			return odd(method, err)
		}
		if err := wait(ctx, pause); err != nil {
			return err
		}
		pause *= 2
	}
	if err := canon.Lenient(result, into); err != nil {
		return odd(method, err)
	}
	return nil
}

// wait waits for a time or for ctx's end.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// exchange makes one call, once. Its error is an *rpcError where the node answered and refused.
func (c *Client) exchange(ctx context.Context, method string, params []any) (jsontext.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, c.conf.Timeout)
	defer cancel()
	if params == nil {
		params = []any{}
	}
	id := c.lastID.Add(1)
	body, err := json.Marshal(request{"2.0", id, method, params})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.conf.URL, bytes.NewReader(body))
	if err != nil {
		return nil, anonymous(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, anonymous(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", answer.StatusCode)
	}
	said, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	if err != nil {
		return nil, anonymous(err)
	}
	if len(said) > maxBody {
		return nil, errLong
	}
	return parseReply(said, id)
}

func parseReply(body []byte, id int64) (jsontext.Value, error) {
	var r reply
	if err := canon.Lenient(body, &r); err != nil {
		return nil, err
	}
	switch {
	case r.Version != "2.0" || (r.Error == nil) == (r.Result == nil):
		return nil, errShape
	case string(r.ID) != strconv.FormatInt(id, 10):
		return nil, errID
	case r.Error != nil:
		return nil, r.Error
	}
	return r.Result, nil
}

// anonymous takes the address out of an error: it may hold a key.
func anonymous(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// unsent reports whether an exchange failed before a byte of it left.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// quantity reads a number as nodes write it: "0x" and hexadecimal digits without zeros before them.
func quantity(s string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimPrefix(s, "0x"), 16, 64)
	if err != nil || "0x"+strconv.FormatInt(n, 16) != s || n < 0 {
		return 0, errShape
	}
	return n, nil
}

// unhex reads bytes as nodes write them: "0x" and pairs of lower-case digits.
func unhex(s string) ([]byte, error) {
	b, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	if err != nil || inHex(b) != s {
		return nil, errShape
	}
	return b, nil
}

func inHex(b []byte) string { return "0x" + hex.EncodeToString(b) }

func hash32(s string) (h [32]byte, err error) {
	b, err := unhex(s)
	if err != nil || len(b) != len(h) {
		return h, errShape
	}
	return [32]byte(b), nil
}
