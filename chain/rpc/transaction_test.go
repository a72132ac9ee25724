package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/chain"
	"assay/chain/rpc"
	"assay/core/fault"
	"assay/core/sign"
)

func TestTransactionsAreSentOnce(t *testing.T) {
	refusal := func(code int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":{id},"error":{"code":%d,"message":"no"}}`, code)
	}
	for name, row := range map[string]struct {
		body string
		want fault.Code
	}{
		"invalid":               {refusal(1010), chain.Refused},
		"of too low a priority": {refusal(1014), chain.Refused},
		"a method that is off":  {refusal(-32601), chain.Unavailable},
		"a fault of the node":   {refusal(-32603), chain.Unconfirmed},
		"no JSON":               {`<html>`, chain.Unconfirmed},
		"another id":            {`{"jsonrpc":"2.0","id":0,"result":"0x"}`, chain.Unconfirmed},
		"accepted, never seen":  {result(0, `"0x"`), chain.Unconfirmed},
		"known already":         {refusal(1013), chain.Unconfirmed},
	} {
		n, _ := newNode(t)
		n.Put(t, some(n))
		server := httptest.NewServer(n)
		c := client(t, server.URL, func(c *rpc.Config) { c.Confirm = 40 * time.Millisecond })
		body := strings.Replace(row.body, `"id":0,"result":"0x"`, `"id":{id},"result":"0x"`, 1)
		if name == "another id" {
			body = row.body
		}
		n.answer = func(method string, id int64) (string, bool) {
			return strings.Replace(body, "{id}", fmt.Sprint(id), 1), method == "author_submitExtrinsic"
		}
		err := c.Commit(t.Context(), "x")
		if fault.Of(err) != row.want || n.count("author_submitExtrinsic") != 1 {
			t.Errorf("%s: %v, sent %d times", name, err, n.count("author_submitExtrinsic"))
		}
		if strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: the node writes to the terminal: %q", name, err)
		}
		server.Close()
	}
}

func TestTransactionThatThePoolKnowsIsLookedFor(t *testing.T) {
	n, c := newNode(t)
	n.Put(t, some(n))
	n.answer = func(method string, id int64) (string, bool) {
		if method != "author_submitExtrinsic" {
			return "", false
		}
		n.set(map[string][]byte{string(commitmentKey(key(t, n.Hotkey()))): registration(n.head+1, text("x"))})
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":1013,"message":"Transaction is already imported"}}`, id), true
	}
	if err := c.Commit(t.Context(), "x"); err != nil {
		t.Error(err)
	}
}

func TestTransactionWhoseReplyIsLostIsUnconfirmed(t *testing.T) {
	n, _ := newNode(t)
	n.Put(t, some(n))
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		before := n.count("author_submitExtrinsic")
		n.ServeHTTP(rec, r)
		if n.count("author_submitExtrinsic") > before {
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(rec.Body.Bytes())
	}))
	defer cut.Close()
	if err := client(t, cut.URL, nil).Commit(t.Context(), "x"); fault.Of(err) != chain.Unconfirmed {
		t.Errorf("%v", err)
	}
	if n.count("author_submitExtrinsic") != 1 {
		t.Error("it was sent again")
	}
	list, err := client(t, cut.URL, nil).Commitments(t.Context())
	if err != nil || !slices.ContainsFunc(list, func(c chain.Commitment) bool { return c.Hotkey == n.Hotkey() }) {
		t.Errorf("looking shows what happened: %+v, %v", list, err)
	}
}

func TestWaitEndsWithTheContext(t *testing.T) {
	n, c := newNode(t)
	n.Put(t, some(n))
	n.loses = true
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := c.Commit(ctx, "x")
	if fault.Of(err) != chain.Unconfirmed || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// flip signs something else.
type flip struct{ sign.Signer }

func (f flip) Sign(message []byte) ([]byte, error) {
	return f.Signer.Sign(bytes.ToUpper(append(message, 'x')))
}

func TestSignersThatFailSendNothing(t *testing.T) {
	n, _ := newNode(t)
	n.Put(t, some(n))
	server := httptest.NewServer(n)
	defer server.Close()
	c := client(t, server.URL, func(c *rpc.Config) { c.Signer = flip{hotkey} })
	if err := c.Commit(t.Context(), "x"); fault.Of(err) != sign.SignerFailed || n.count("author_submitExtrinsic") != 0 {
		t.Errorf("%v", err)
	}
}

// TestLongTransactionsAreSignedByTheirDigest sets as many weights as make more than 256 bytes to sign.
func TestLongTransactionsAreSignedByTheirDigest(t *testing.T) {
	n, c := newNode(t)
	w := some(n)
	var weights []chain.Weight
	for i := range 50 {
		w.Neurons = append(w.Neurons, chain.Neuron{UID: 2 + i, Hotkey: many(i), Registered: 1})
		weights = append(weights, chain.Weight{UID: 2 + i, Share: 1. / 50})
	}
	n.Put(t, w)
	if err := c.SetWeights(t.Context(), weights); err != nil {
		t.Fatal(err)
	}
	if got := n.Weights(t); len(got) != 50 || got[49].UID != 51 || got[49].Share != 1./50 {
		t.Errorf("%+v", got)
	}
}

// TestWhatStoodBeforeIsNoConfirmation loses transactions whose effect would look like what is there already.
func TestWhatStoodBeforeIsNoConfirmation(t *testing.T) {
	n, _ := newNode(t)
	n.Put(t, some(n))
	server := httptest.NewServer(n)
	defer server.Close()
	c := client(t, server.URL, func(c *rpc.Config) { c.Confirm = 40 * time.Millisecond })
	weights := []chain.Weight{{UID: 0, Share: 1}}
	if err := errors.Join(c.Commit(t.Context(), "x"), c.SetWeights(t.Context(), weights)); err != nil {
		t.Fatal(err)
	}
	n.Advance(t, 11)
	n.mu.Lock()
	n.loses = true
	n.mu.Unlock()
	if err := c.Commit(t.Context(), "x"); fault.Of(err) != chain.Unconfirmed {
		t.Errorf("Commit: %v", err)
	}
	if err := c.SetWeights(t.Context(), weights); fault.Of(err) != chain.Unconfirmed {
		t.Errorf("SetWeights: %v", err)
	}
}

func TestUpdatesThatCannotBeAreUnavailable(t *testing.T) {
	for name, value := range map[string][]byte{
		"a list without us": append([]byte{1 << 2}, u64(0)...), "an update behind the head": append(append([]byte{2 << 2}, u64(0)...), u64(501)...),
		"a list cut off": append([]byte{2 << 2}, u64(0)...), "bytes behind the list": append(append([]byte{2 << 2}, u64(0)...), make([]byte, 9)...),
		"a list too long": {0xfe, 0xff, 0xff, 0xff}, "nothing in it": {},
	} {
		n, c := newNode(t)
		n.Put(t, some(n))
		n.blocks[0].storage[string(rpc.StorageKey("SubtensorModule", "LastUpdate", rpc.U16(netuid)))] = value
		err := c.SetWeights(t.Context(), []chain.Weight{{Share: 1}})
		if fault.Of(err) != chain.Unavailable || n.count("author_submitExtrinsic") != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
