package rpc_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/chain"
	"assay/chain/chaintest"
	"assay/chain/rpc"
	"assay/core/fault"
)

func TestContract(t *testing.T) {
	chaintest.Run(t, func(t *testing.T) (chain.Client, chaintest.Control) {
		n, c := newNode(t)
		return c, n
	})
}

// some is a subnet in which the hotkey holds uid 1.
func some(n *node) chaintest.World {
	return chaintest.World{
		Head: 500, Neurons: []chain.Neuron{{UID: 0, Hotkey: chaintest.Hotkey(1), Registered: 3}, {UID: 1, Hotkey: n.Hotkey(), Registered: 4}},
		Commitments: []chain.Commitment{{Hotkey: chaintest.Hotkey(1), Block: 9, Signal: "x"}},
		Parameters:  chain.Parameters{WeightsRateLimit: 10, ImmunityPeriod: 20},
	}
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	good := rpc.Config{URL: "https://node.example/key", Netuid: 1, Genesis: nodeHash(0), Signer: hotkey, SpecVersion: 1, TransactionVersion: 1, SetCommitmentCall: commitCall}
	if _, err := rpc.New(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*rpc.Config){
		"a WebSocket": func(c *rpc.Config) { c.URL = "wss://node.example:443/secret" }, "a bare host": func(c *rpc.Config) { c.URL = "node.example:9944" },
		"no address": func(c *rpc.Config) { c.URL = "" }, "no host": func(c *rpc.Config) { c.URL = "http://" }, "another scheme": func(c *rpc.Config) { c.URL = "file:///etc/passwd" },
		"no netuid": func(c *rpc.Config) { c.Netuid = -1 }, "a netuid beyond": func(c *rpc.Config) { c.Netuid = 65536 }, "no genesis": func(c *rpc.Config) { c.Genesis = "" },
		"no version": func(c *rpc.Config) { c.SpecVersion = 0 }, "no transaction version": func(c *rpc.Config) { c.TransactionVersion = 0 },
		"one call for both": func(c *rpc.Config) { c.SetWeightsCall = c.SetCommitmentCall }, "a negative time": func(c *rpc.Config) { c.Poll = -1 },
	} {
		c := good
		change(&c)
		_, err := rpc.New(c)
		if fault.Of(err) != rpc.BadConfig {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the address is shown: %v", name, err)
		}
	}
	good.Signer, good.SpecVersion = nil, 0
	if _, err := rpc.New(good); err != nil {
		t.Errorf("a reader needs no versions: %v", err)
	}
}

func TestReaderWritesNothing(t *testing.T) {
	n, _ := newNode(t)
	n.Put(t, some(n))
	server := httptest.NewServer(n)
	defer server.Close()
	c := client(t, server.URL, func(c *rpc.Config) { c.Signer = nil })
	if err := c.Commit(t.Context(), "x"); fault.Of(err) != chain.NotRegistered {
		t.Errorf("%v", err)
	}
	if err := c.SetWeights(t.Context(), []chain.Weight{{Share: 1}}); fault.Of(err) != chain.NotRegistered {
		t.Errorf("%v", err)
	}
	if n.count("author_submitExtrinsic") != 0 {
		t.Error("something was sent")
	}
}

// TestOneBlock lets the chain go on, and lose everybody, after each answer.
func TestOneBlock(t *testing.T) {
	n, c := newNode(t)
	w := some(n)
	for i := range 700 { // three pages
		w.Neurons = append(w.Neurons, chain.Neuron{UID: 2 + i, Hotkey: many(i), Registered: int64(i%400) + 1})
		w.Commitments = append(w.Commitments, chain.Commitment{Hotkey: many(i), Block: int64(i % 400), Signal: fmt.Sprint(i)})
	}
	n.Put(t, w)
	if _, err := c.Head(t.Context()); err != nil { // it asks for the genesis at first
		t.Fatal(err)
	}
	n.moves = true
	m, err := c.Metagraph(t.Context())
	if err != nil || len(m.Neurons) != 702 || m.Neurons[701] != (chain.Neuron{UID: 701, Hotkey: many(699), Registered: 300}) || m.Block.Number != 500 {
		t.Errorf("%d neurons at block %d, %v", len(m.Neurons), m.Block.Number, err)
	}
	if blocks := named(n); len(blocks) != 1 || blocks[0] != m.Block.Hash {
		t.Errorf("read at the blocks %q", blocks)
	}
	n.Put(t, w)
	n.asked = nil
	list, err := c.Commitments(t.Context())
	if err != nil || len(list) != 701 {
		t.Errorf("%d commitments, %v", len(list), err)
	}
	if blocks := named(n); len(blocks) != 1 {
		t.Errorf("read at the blocks %q", blocks)
	}
}

func many(i int) string {
	return hotkeyOf([32]byte{1, byte(i), byte(i >> 8)})
}

// named returns the blocks that calls named.
func named(n *node) (blocks []string) {
	for _, a := range n.asked {
		_, hash, _ := strings.Cut(a, " ")
		blocks = append(blocks, hash)
	}
	slices.Sort(blocks)
	return slices.Compact(blocks)
}

// readings are the calls that read, by name.
func readings(ctx context.Context, c chain.Client) map[string]func() error {
	return map[string]func() error{
		"head":        func() error { _, err := c.Head(ctx); return err },
		"block":       func() error { _, err := c.BlockHash(ctx, 3); return err },
		"metagraph":   func() error { _, err := c.Metagraph(ctx); return err },
		"commitments": func() error { _, err := c.Commitments(ctx); return err },
		"parameters":  func() error { _, err := c.Parameters(ctx); return err },
	}
}

// result is a well-formed answer.
func result(id int64, value string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, value)
}

func TestAnswersOfAnotherShapeAreUnavailable(t *testing.T) {
	at, zero := nodeHash(500), `"0x`+strings.Repeat("0", 64)+`"`
	keys := func(parts ...[]byte) string {
		return `"0x` + hex.EncodeToString(rpc.StorageKey("SubtensorModule", "Keys", parts...)) + `"`
	}
	net := rpc.U16(netuid)
	k0, k1 := keys(net, rpc.U16(0)), keys(net, rpc.U16(1))
	who := `"0x` + strings.Repeat("11", 32) + `"`
	since := func(uid int) string {
		return `"0x` + hex.EncodeToString(rpc.StorageKey("SubtensorModule", "BlockAtRegistration", net, rpc.U16(uid))) + `"`
	}
	b0, b1 := since(0), since(1)
	for _, row := range []struct{ reading, method, value string }{
		{"head", "chain_getFinalizedHead", `null`}, {"head", "chain_getFinalizedHead", `5`}, {"head", "chain_getFinalizedHead", `"0xab"`}, {"head", "chain_getFinalizedHead", `{}`},
		{"head", "chain_getHeader", `null`}, {"head", "chain_getHeader", `{}`}, {"head", "chain_getHeader", `{"number":5}`}, {"head", "chain_getHeader", `{"number":"5"}`},
		{"head", "chain_getHeader", `{"number":"0x"}`}, {"head", "chain_getHeader", `{"number":"0x05"}`}, {"head", "chain_getHeader", `{"number":"0xA"}`},
		{"head", "chain_getHeader", `{"number":"-0x1"}`}, {"head", "chain_getHeader", `{"number":"0x-1"}`}, {"head", "chain_getHeader", `{"number":"0xffffffffffffffff"}`},
		{"block", "chain_getBlockHash", `null`}, {"block", "chain_getBlockHash", `[]`}, {"block", "chain_getBlockHash", `"0x` + strings.Repeat("A", 64) + `"`}, {"block", "chain_getBlockHash", `[` + zero + `]`},
		{"metagraph", "state_getKeysPaged", `{}`}, {"metagraph", "state_getKeysPaged", `[1]`}, {"metagraph", "state_getKeysPaged", `["0x"]`}, {"metagraph", "state_getKeysPaged", `["xyz"]`},
		{"metagraph", "state_getKeysPaged", `[` + k1 + `,` + k0 + `]`}, {"metagraph", "state_getKeysPaged", `[` + k0 + `,` + k0 + `]`}, {"metagraph", "state_getKeysPaged", `[` + keys(net) + `]`},
		{"metagraph", "state_getKeysPaged", `[` + keys(rpc.U16(netuid+1), rpc.U16(0)) + `]`}, {"metagraph", "state_getKeysPaged", `[` + strings.ToUpper(k0) + `]`},
		{"metagraph", "state_getKeysPaged", `[` + strings.Repeat(k0+`,`, 256) + k0 + `]`},
		{"metagraph", "state_queryStorageAt", `null`}, {"metagraph", "state_queryStorageAt", `[]`}, {"metagraph", "state_queryStorageAt", `[{}]`},
		{"metagraph", "state_queryStorageAt", `[{"block":"` + at + `","changes":[]}]`}, {"metagraph", "state_queryStorageAt", `[{"block":"` + at + `","changes":[[` + k0 + `,` + who + `]]}]`},
		{"metagraph", "state_queryStorageAt", `[{"block":"` + at + `","changes":[[` + k0 + `,` + who + `],[` + k0 + `,` + who + `]]}]`},
		{"metagraph", "state_queryStorageAt", `[{"block":"` + at + `","changes":[[` + k0 + `,` + who + `],[` + k1 + `,` + who + `]]}]`}, // one hotkey twice
		{"metagraph", "state_queryStorageAt", `[{"block":"` + at + `","changes":[[` + k0 + `,null],[` + k1 + `,` + who + `]]}]`},
		{"metagraph", "state_queryStorageAt", `[{"block":"` + at + `","changes":[[null,null],[` + k1 + `,` + who + `]]}]`},
		{"metagraph", "state_queryStorageAt", `[{"block":"` + at + `","changes":[[` + k0 + `,"0x1"],[` + k1 + `,` + who + `]]}]`},
		{"metagraph", "state_queryStorageAt", `[{"block":"` + at + `","changes":[[` + k0 + `],[` + k1 + `,` + who + `]]}]`},
		{"metagraph", "state_queryStorageAt", `[{"block":"` + nodeHash(499) + `","changes":[[` + k0 + `,"0x` + strings.Repeat("22", 32) + `"],[` + k1 + `,` + who + `]]}]`},
		// The second query of a metagraph is for the blocks of registration: none is 0, so nothing else shows a flaw.
		{"metagraph", "state_queryStorageAt again", `[{"block":"` + at + `","changes":[[` + b0 + `,null],[` + b0 + `,null]]}]`},
		{"metagraph", "state_queryStorageAt again", `[{"block":"` + at + `","changes":[[` + b0 + `,null],[` + k1 + `,null]]}]`},
		{"metagraph", "state_queryStorageAt again", `[{"block":"` + at + `","changes":[[` + b0 + `,null],[` + b1 + `,"0xf501000000000000"]]}]`}, // behind the head
		{"metagraph", "state_queryStorageAt again", `[{"block":"` + at + `","changes":[[` + b0 + `,null],[` + b1 + `,"0x01000000000000"]]}]`},
		{"metagraph", "state_queryStorageAt again", `[{"block":"` + nodeHash(499) + `","changes":[[` + b0 + `,null],[` + b1 + `,null]]}]`},
		{"commitments", "state_getKeysPaged", `["0x` + hex.EncodeToString(rpc.StorageKey("Commitments", "CommitmentOf", net, make([]byte, 40))) + `"]`}, // not the hash of the account
		{"commitments", "state_queryStorageAt", `[{"block":"` + at + `","changes":[["0x` + hex.EncodeToString(commitmentKey(key(t, chaintest.Hotkey(1)))) + `",null]]}]`},
		{"commitments", "state_queryStorageAt", `[{"block":"` + at + `","changes":[["0x` + hex.EncodeToString(commitmentKey(key(t, chaintest.Hotkey(1)))) + `","0x00"]]}]`},
		{"commitments", "state_queryStorageAt", `[{"block":"` + at + `","changes":[["0x` + hex.EncodeToString(commitmentKey(key(t, chaintest.Hotkey(1)))) + `","0x` + hex.EncodeToString(registration(501, text("x"))) + `"]]}]`},
		{"parameters", "state_getStorage", `5`}, {"parameters", "state_getStorage", `"0x"`}, {"parameters", "state_getStorage", `"0x00"`}, {"parameters", "state_getStorage", `"0xffffffffffffffff"`},
		{"parameters", "state_getStorage", `"0x000000000000000000"`}, {"parameters", "state_getStorage", `"6400000000000000"`},
	} {
		n, c := newNode(t)
		n.Put(t, some(n))
		if _, err := c.Head(t.Context()); err != nil {
			t.Fatal(err)
		}
		method, again := strings.CutSuffix(row.method, " again")
		nth, seen := 1, 0
		if again {
			nth = 2
		}
		n.answer = func(asked string, id int64) (string, bool) { // only the one answer is another
			if asked == method {
				seen++
			}
			return result(id, row.value), asked == method && seen == nth
		}
		err := readings(t.Context(), c)[row.reading]()
		if fault.Of(err) != chain.Unavailable || seen < nth {
			t.Errorf("%s: %s answered with %.120s: %v", row.reading, row.method, row.value, err)
		}
	}
}

func TestExchangesThatFailAreTriedAgain(t *testing.T) {
	for name, body := range map[string]string{
		"no JSON": `<html>`, "nothing": ``, "another id": `{"jsonrpc":"2.0","id":1234567,"result":null}`, "an id as text": `{"jsonrpc":"2.0","id":"1","result":null}`, "no id": `{"jsonrpc":"2.0","result":null}`,
		"no version": `{"id":{id},"result":null}`, "version 1": `{"jsonrpc":"1.0","id":{id},"result":null}`, "neither result nor error": `{"jsonrpc":"2.0","id":{id}}`,
		"both": `{"jsonrpc":"2.0","id":{id},"result":null,"error":{"code":1,"message":"x"}}`, "a member twice": `{"jsonrpc":"2.0","id":{id},"result":null,"result":"x"}`, "a list": `[]`,
		"two texts": `{"jsonrpc":"2.0","id":{id},"result":null}{}`, "too much": `{"jsonrpc":"2.0","id":{id},"result":"` + nodeHash(500) + `"}` + strings.Repeat(" ", 8<<20),
	} {
		n, c := newNode(t)
		n.Put(t, some(n))
		n.answer = func(method string, id int64) (string, bool) {
			return strings.Replace(body, "{id}", fmt.Sprint(id), 1), method == "chain_getFinalizedHead"
		}
		if _, err := c.Head(t.Context()); fault.Of(err) != chain.Unavailable || n.count("chain_getFinalizedHead") != 3 {
			t.Errorf("%s: %d tries, %v", name, n.count("chain_getFinalizedHead"), err)
		}
		first := true
		n.answer = func(method string, id int64) (string, bool) {
			bad := first
			first = false
			return strings.Replace(body, "{id}", fmt.Sprint(id), 1), bad
		}
		if top, err := c.Head(t.Context()); err != nil || top.Number != 500 {
			t.Errorf("%s, once: %v", name, err)
		}
	}
}

func TestRefusalsOfTheNode(t *testing.T) {
	n, c := newNode(t)
	n.Put(t, some(n))
	if _, err := c.Head(t.Context()); err != nil {
		t.Fatal(err)
	}
	for body, says := range map[string]string{
		`{"code":-32603,"message":"Internal error"}`: "Internal error", `{"code":-32000,"message":"Client error","data":"UnknownBlock: State already discarded for 0xab"}`: "archive node",
		`{"code":4003,"message":"Client error: State already discarded for 0xab"}`: "archive node", `{"code":-32601,"message":"evil\n\u001b[2J"}`: `evil\n\x1b[2J`,
	} {
		before := n.count("state_getStorage")
		n.answer = func(method string, id int64) (string, bool) {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":%s}`, id, body), method == "state_getStorage"
		}
		_, err := c.Parameters(t.Context())
		if fault.Of(err) != chain.Unavailable || !strings.Contains(err.Error(), says) || n.count("state_getStorage") != before+1 {
			t.Errorf("%s: %v, after %d tries", body, err, n.count("state_getStorage")-before)
		}
	}
}

func TestSettingsThatWereNeverChanged(t *testing.T) {
	n, _ := newNode(t)
	server := httptest.NewServer(n)
	defer server.Close()
	if _, err := client(t, server.URL, nil).Parameters(t.Context()); fault.Of(err) != rpc.BadConfig {
		t.Errorf("without defaults: %v", err)
	}
	want := chain.Parameters{WeightsRateLimit: 100, ImmunityPeriod: 4096}
	if got, err := client(t, server.URL, func(c *rpc.Config) { c.Defaults = want }).Parameters(t.Context()); got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAnotherChainIsRefused(t *testing.T) {
	n, _ := newNode(t)
	n.Put(t, some(n))
	server := httptest.NewServer(n)
	defer server.Close()
	c := client(t, server.URL, func(c *rpc.Config) { c.Genesis = nodeHash(1) })
	for name, read := range readings(t.Context(), c) {
		if err := read(); fault.Of(err) != chain.OtherChain {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(*rpc.Config){
		"an older runtime": func(c *rpc.Config) { c.SpecVersion = spec + 1 }, "another form of transactions": func(c *rpc.Config) { c.TransactionVersion = trans + 1 },
	} {
		c := client(t, server.URL, change)
		for _, err := range []error{c.Commit(t.Context(), "x"), c.SetWeights(t.Context(), []chain.Weight{{Share: 1}})} {
			if fault.Of(err) != chain.OtherChain {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := c.Metagraph(t.Context()); err != nil {
			t.Errorf("%s: reading needs no version: %v", name, err)
		}
	}
	if n.count("author_submitExtrinsic") != 0 {
		t.Error("something was sent")
	}
}

func TestSlowAndStuckEndpoints(t *testing.T) {
	stop := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for { // a byte now and then, for ever
			if _, err := w.Write([]byte(" ")); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case <-stop:
				return
			case <-r.Context().Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}))
	defer slow.Close()
	defer close(stop)
	c := client(t, slow.URL, func(c *rpc.Config) { c.Timeout = 20 * time.Millisecond })
	if _, err := c.Head(t.Context()); fault.Of(err) != chain.Unavailable {
		t.Errorf("a trickle: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := client(t, slow.URL, nil).Head(ctx); !errors.Is(err, context.DeadlineExceeded) || fault.Of(err) == chain.Unavailable {
		t.Errorf("the caller's own deadline: %v", err)
	}
}

func TestEndpointIsNotShownAndNotLeft(t *testing.T) {
	var followed bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	defer other.Close()
	moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/hunter2", http.StatusTemporaryRedirect)
	}))
	defer moved.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	_ = listener.Close()
	for _, url := range []string{moved.URL + "/v1/hunter2", "http://user:hunter2@" + closed + "/hunter2"} {
		c := client(t, url, nil)
		_, err := c.Head(t.Context())
		if fault.Of(err) != chain.Unavailable || strings.Contains(fmt.Sprintf("%v %+v", err, err), "hunter2") {
			t.Errorf("%v", err)
		}
	}
	if followed {
		t.Error("a redirection was followed")
	}
}

func TestOddCommitmentsHideNobodys(t *testing.T) {
	for name, row := range map[string]struct {
		value  []byte
		signal string
		bad    bool
	}{
		"a text":                  {registration(9, text("x")), "x", false},
		"128 bytes":               {registration(9, text(strings.Repeat("x", 128))), strings.Repeat("x", 128), false},
		"an empty text":           {registration(9, text("")), "", false},
		"bytes that are no text":  {registration(9, text("\xff\x00")), "", false},
		"a field of nothing":      {registration(9, []byte{0}), "", false},
		"a digest":                {registration(9, append([]byte{133}, make([]byte, 32)...)), "", false},
		"a lock":                  {registration(9, append([]byte{134, 2 << 2, 1, 2}, make([]byte, 8)...)), "", false},
		"a flag":                  {registration(9, []byte{135}), "", false},
		"a long text":             {registration(9, []byte{136, 1 << 2, 'x'}), "", false},
		"a kind of the future":    {registration(9, []byte{200, 1, 2, 3}), "", false},
		"two texts":               {append(append(registration(9, nil)[:12], 2<<2), append(text("a"), text("b")...)...), "", false},
		"no field":                {append(registration(9, nil)[:12], 0), "", false},
		"a text cut off":          {registration(9, text("xyz")[:3]), "", true},
		"bytes behind the text":   {registration(9, append(text("x"), 0)), "", true},
		"a digest cut off":        {registration(9, append([]byte{130}, make([]byte, 31)...)), "", true},
		"a lock too long":         {registration(9, []byte{134, 0xfe, 0xff, 0xff, 0xff}), "", true},
		"seventeen fields":        {append(registration(9, nil)[:12], append([]byte{17 << 2}, make([]byte, 17)...)...), "", true},
		"a count of another form": {append(registration(9, nil)[:12], 1<<2|1, 0, 0), "", true},
		"nothing":                 {nil, "", true},
		"cut before the block":    {make([]byte, 10), "", true},
	} {
		block, signal, err := rpc.ReadCommitment(row.value)
		if (err != nil) != row.bad || signal != row.signal || err == nil && block != 9 {
			t.Errorf("%s: block %d, %q, %v", name, block, signal, err)
		}
	}
}
