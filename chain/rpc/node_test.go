package rpc_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/blake2b"

	"assay/chain"
	"assay/chain/chaintest"
	"assay/chain/rpc"
	"assay/core/sign"
	"assay/core/ss58"
)

const (
	netuid      = 7
	spec, trans = 301, 1
	versionKey  = 99
)

var (
	weightsCall = rpc.Call{Pallet: 7, Index: 0}
	commitCall  = rpc.Call{Pallet: 18, Index: 0}
	hotkey      = sign.NewEd25519([32]byte{5})
)

// node is a Substrate node of one subnet, as far as the client sees it. It keeps every block's state.
type node struct {
	t  testing.TB
	mu sync.Mutex

	head   int64
	blocks []snapshot // by ascending block
	nonce  uint64
	weight []chain.Weight
	down   bool

	// answer replaces an answer: a whole body, where ok.
	answer func(method string, id int64) (body string, ok bool)
	// moves makes each answered call add a block in which nobody is registered any more.
	moves bool
	// loses makes the pool forget what it was given.
	loses bool
	asked []string // "method at", for calls that name a block
	calls map[string]int
}

type snapshot struct {
	from    int64
	storage map[string][]byte
}

func nodeHash(n int64) string {
	sum := sha256.Sum256(fmt.Append(nil, "node", n))
	return "0x" + hex.EncodeToString(sum[:])
}

// newNode starts a node and returns a client of it.
func newNode(t testing.TB) (*node, *rpc.Client) {
	n := &node{t: t, calls: map[string]int{}, blocks: []snapshot{{0, map[string][]byte{}}}}
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	return n, client(t, server.URL, nil)
}

func client(t testing.TB, url string, change func(*rpc.Config)) *rpc.Client {
	c := rpc.Config{
		URL: url, Netuid: netuid, Genesis: nodeHash(0), Signer: hotkey, SpecVersion: spec, TransactionVersion: trans,
		SetWeightsCall: weightsCall, SetCommitmentCall: commitCall, VersionKey: versionKey,
		Pause: time.Millisecond, Poll: time.Millisecond, Timeout: 5 * time.Second, Confirm: 5 * time.Second,
	}
	if change != nil {
		change(&c)
	}
	made, err := rpc.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (n *node) Hotkey() string { return ss58.Encode(hotkey.Public()) }

func (n *node) Advance(_ testing.TB, blocks int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.head += blocks
}

func (n *node) Down(_ testing.TB, down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
}

func (n *node) Weights(testing.TB) []chain.Weight {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.weight
}

func (n *node) count(method string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls[method]
}

func key(t testing.TB, address string) []byte {
	k, err := ss58.Decode(address)
	if err != nil {
		t.Error(err)
	}
	return k[:]
}

func u64(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }

// registration is a value of CommitmentOf with one field.
func registration(block int64, field []byte) []byte {
	return slices.Concat(u64(1234), binary.LittleEndian.AppendUint32(nil, uint32(block)), []byte{1 << 2}, field)
}

func text(signal string) []byte { return append([]byte{byte(len(signal) + 1)}, signal...) }

func (n *node) Put(t testing.TB, w chaintest.World) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, net := map[string][]byte{}, rpc.U16(netuid)
	last := make([]byte, 0)
	uids := 0
	for _, o := range w.Neurons {
		uid, who := rpc.U16(o.UID), key(t, o.Hotkey)
		s[string(rpc.StorageKey("SubtensorModule", "Keys", net, uid))] = who
		s[string(rpc.StorageKey("SubtensorModule", "Uids", net, rpc.Blake2Concat(who)))] = uid
		if o.Registered > 0 {
			s[string(rpc.StorageKey("SubtensorModule", "BlockAtRegistration", net, uid))] = u64(o.Registered)
		}
		uids = max(uids, o.UID+1)
	}
	for range uids {
		last = append(last, u64(0)...)
	}
	s[string(rpc.StorageKey("SubtensorModule", "LastUpdate", net))] = append(rpc.AppendCompact(nil, uint64(uids)), last...)
	s[string(rpc.StorageKey("SubtensorModule", "WeightsSetRateLimit", net))] = u64(w.Parameters.WeightsRateLimit)
	s[string(rpc.StorageKey("SubtensorModule", "ImmunityPeriod", net))] = rpc.U16(int(w.Parameters.ImmunityPeriod))
	for _, o := range w.Commitments {
		field := text(o.Signal)
		if o.Signal == "" {
			field = append([]byte{130}, make([]byte, 32)...)
		}
		s[string(commitmentKey(key(t, o.Hotkey)))] = registration(o.Block, field)
	}
	// Other subnets lie beside it.
	s[string(rpc.StorageKey("SubtensorModule", "Keys", rpc.U16(netuid+1), rpc.U16(0)))] = key(t, chaintest.Hotkey(200))
	s[string(rpc.StorageKey("Commitments", "CommitmentOf", rpc.U16(netuid-1), rpc.Twox64Concat(make([]byte, 32))))] = registration(1, text("x"))
	n.head, n.weight, n.blocks = w.Head, nil, []snapshot{{0, s}}
}

func commitmentKey(who []byte) []byte {
	return rpc.StorageKey("Commitments", "CommitmentOf", rpc.U16(netuid), rpc.Twox64Concat(who))
}

// at returns the state of a block; ok is false for a block that is not there.
func (n *node) at(hash string) (map[string][]byte, bool) {
	for b := n.head; b >= 0; b-- {
		if nodeHash(b) == hash {
			for _, s := range slices.Backward(n.blocks) {
				if s.from <= b {
					return s.storage, true
				}
			}
		}
	}
	return nil, false
}

// set adds a block in which some values are others. A nil value is none.
func (n *node) set(change map[string][]byte) {
	next := maps.Clone(n.blocks[len(n.blocks)-1].storage)
	for k, v := range change {
		if v == nil {
			delete(next, k)
			continue
		}
		next[k] = v
	}
	n.head++
	n.blocks = append(n.blocks, snapshot{n.head, next})
}

// call is what a client sends.
type call struct {
	Version string            `json:"jsonrpc"`
	ID      int64             `json:"id"`
	Method  string            `json:"method"`
	Params  []json.RawMessage `json:"params"`
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var c call
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &c); err != nil || r.Method != http.MethodPost || c.Version != "2.0" || r.Header.Get("Content-Type") != "application/json" || c.Params == nil {
		n.t.Errorf("a request that no node takes: %s %s, %v", r.Method, body, err)
	}
	n.calls[c.Method]++
	if n.down {
		http.Error(w, "the node is being restarted", http.StatusServiceUnavailable)
		return
	}
	if n.answer != nil {
		if body, ok := n.answer(c.Method, c.ID); ok {
			_, _ = io.WriteString(w, body)
			return
		}
	}
	result, refusal := n.do(c)
	answer := map[string]any{"jsonrpc": "2.0", "id": c.ID, "result": result}
	if refusal != nil {
		answer = map[string]any{"jsonrpc": "2.0", "id": c.ID, "error": refusal}
	}
	_ = json.NewEncoder(w).Encode(answer)
	if n.moves {
		gone := map[string][]byte{}
		for k := range n.blocks[len(n.blocks)-1].storage {
			gone[k] = nil
		}
		n.set(gone)
	}
}

type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// param reads one parameter.
func param[T any](n *node, c call, i int) (v T) {
	if i >= len(c.Params) {
		n.t.Errorf("%s wants more than %d parameters", c.Method, len(c.Params))
	} else if err := json.Unmarshal(c.Params[i], &v); err != nil {
		n.t.Errorf("%s: parameter %d: %v", c.Method, i, err)
	}
	return v
}

// state reads the block that a call names, as its i-th parameter.
func (n *node) state(c call, i int) (map[string][]byte, *refusal) {
	hash := param[string](n, c, i)
	n.asked = append(n.asked, c.Method+" "+hash)
	s, ok := n.at(hash)
	if !ok {
		return nil, &refusal{-32603, "Client error: UnknownBlock: State already discarded for " + hash, nil}
	}
	return s, nil
}

func (n *node) do(c call) (any, *refusal) {
	switch c.Method {
	case "chain_getFinalizedHead":
		return nodeHash(n.head), nil
	case "chain_getHeader":
		hash := param[string](n, c, 0)
		for b := n.head; b >= 0; b-- {
			if nodeHash(b) == hash {
				return map[string]any{"number": fmt.Sprintf("0x%x", b), "parentHash": nodeHash(b - 1), "digest": map[string]any{"logs": []string{}}}, nil
			}
		}
		return nil, nil
	case "chain_getBlockHash":
		b := param[int64](n, c, 0)
		if b > n.head {
			return nil, nil
		}
		return nodeHash(b), nil
	case "state_getRuntimeVersion":
		_, refused := n.state(c, 0)
		return map[string]any{"specName": "node-subtensor", "specVersion": spec, "transactionVersion": trans, "apis": [][]any{}}, refused
	case "state_getStorage":
		s, refused := n.state(c, 1)
		return hexOf(s[string(n.bytes(param[string](n, c, 0)))]), refused
	case "state_getKeysPaged":
		return n.page(c)
	case "state_queryStorageAt":
		return n.query(c)
	case "system_accountNextIndex":
		if who := param[string](n, c, 0); who != n.Hotkey() {
			n.t.Errorf("the nonce of %s was asked for", who)
		}
		return n.nonce, nil
	case "author_submitExtrinsic":
		return n.submit(n.bytes(param[string](n, c, 0)))
	}
	return nil, &refusal{-32601, "Method not found", nil}
}

func (n *node) bytes(s string) []byte {
	b, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	if err != nil || !strings.HasPrefix(s, "0x") {
		n.t.Errorf("%q is no hexadecimal, %v", s, err)
	}
	return b
}

func hexOf(b []byte) any {
	if b == nil {
		return nil
	}
	return "0x" + hex.EncodeToString(b)
}

func (n *node) page(c call) (any, *refusal) {
	prefix, count, start := n.bytes(param[string](n, c, 0)), param[int](n, c, 1), param[*string](n, c, 2)
	s, refused := n.state(c, 3)
	page := []string{}
	if count > 1000 {
		return nil, &refusal{4002, "count exceeds maximum value", nil}
	}
	for _, k := range slices.Sorted(maps.Keys(s)) {
		after := start == nil || bytes.Compare([]byte(k), n.bytes(*start)) > 0
		if len(page) < count && after && strings.HasPrefix(k, string(prefix)) {
			page = append(page, "0x"+hex.EncodeToString([]byte(k)))
		}
	}
	return page, refused
}

func (n *node) query(c call) (any, *refusal) {
	s, refused := n.state(c, 1)
	list := [][2]any{}
	for _, k := range param[[]string](n, c, 0) {
		list = append(list, [2]any{k, hexOf(s[string(n.bytes(k))])})
	}
	return []any{map[string]any{"block": param[string](n, c, 1), "changes": list}}, refused
}

// submit takes a transaction in as the chain's runtime reads one, and carries it out in the next block.
func (n *node) submit(x []byte) (any, *refusal) {
	bad := func(why string) (any, *refusal) { return nil, &refusal{1010, "Invalid Transaction", why} }
	// The length is compact; none of these is as long as 2^14.
	body := x[2:]
	if x[0]&3 == 0 {
		body = x[1:]
	}
	if want := append(rpc.AppendCompact(nil, uint64(len(body))), body...); !bytes.Equal(want, x) {
		return bad("the length is wrong")
	}
	head, who, sig, rest := body[:2], body[2:34], body[35:99], body[99:]
	if !bytes.Equal(head, []byte{0x84, 0}) || body[34] != 0 || !bytes.Equal(who, key(n.t, n.Hotkey())) {
		return bad("not signed by an ed25519 account")
	}
	era := binary.LittleEndian.Uint16(rest)
	period := int64(2) << (era & 15)
	born := n.head - (n.head-int64(era>>4))%period // quantised by 1 for periods up to 4096
	extra, call := rest[:5], rest[5:]
	if rest[2] != byte(n.nonce<<2) || rest[3] != 0 || rest[4] != 0 || period != 64 {
		return bad("stale, or not of this era")
	}
	genesis, from := n.bytes(nodeHash(0)), n.bytes(nodeHash(born))
	signed := slices.Concat(call, extra, []byte{byte(spec & 255), spec >> 8, 0, 0, trans, 0, 0, 0}, genesis, from, []byte{0})
	if len(signed) > 256 {
		sum := blake2b.Sum256(signed)
		signed = sum[:]
	}
	if !ed25519.Verify(who, signed, sig) {
		return bad("Transaction has a bad signature")
	}
	n.nonce++
	if n.loses {
		return nodeHash(-1), nil
	}
	switch {
	case bytes.HasPrefix(call, []byte{commitCall.Pallet, commitCall.Index, netuid, 0, 1 << 2}):
		n.set(map[string][]byte{string(commitmentKey(who)): registration(n.head+1, call[5:])})
	case bytes.HasPrefix(call, []byte{weightsCall.Pallet, weightsCall.Index, netuid, 0}):
		n.weigh(call[4:], who)
	default:
		return bad("no such call")
	}
	return nodeHash(-1), nil
}

// weigh carries set_weights out. Its lists are shorter than 64 here.
func (n *node) weigh(args, who []byte) {
	count := int(args[0] >> 2)
	uids, parts, rest := args[1:1+2*count], args[2+2*count:2+4*count], args[2+4*count:]
	if args[0] != args[1+2*count] || !bytes.Equal(rest, u64(versionKey)) {
		n.t.Errorf("arguments of set_weights: %x", args)
	}
	n.weight = nil
	sum := 0.0
	for i := range count {
		w := chain.Weight{UID: int(binary.LittleEndian.Uint16(uids[2*i:])), Share: float64(binary.LittleEndian.Uint16(parts[2*i:]))}
		n.weight = append(n.weight, w)
		sum += w.Share
	}
	for i := range n.weight {
		n.weight[i].Share /= sum
	}
	now := n.blocks[len(n.blocks)-1].storage
	uid := binary.LittleEndian.Uint16(now[string(rpc.StorageKey("SubtensorModule", "Uids", rpc.U16(netuid), rpc.Blake2Concat(who)))])
	lastKey := string(rpc.StorageKey("SubtensorModule", "LastUpdate", rpc.U16(netuid)))
	last := bytes.Clone(now[lastKey])
	skip := len(last) % 8 // the count takes 1, 2 or 4 bytes
	binary.LittleEndian.PutUint64(last[skip+8*int(uid):], uint64(n.head+1))
	n.set(map[string][]byte{lastKey: last})
}
