// Package rpc is the chain behind a node's JSON-RPC over HTTP: reads of one subnet, and the two transactions that a hotkey sends.
//
// Invariants:
//   - Everything is read at a finalized block, and what belongs together at the same one.
//   - An answer that is not exactly of the documented shape is Unavailable: nothing is guessed, defaulted or left out.
//   - Bodies, pages and waits are bounded. Reads are tried again, a transaction is sent once.
//   - A node of another chain is refused before anything is read from it, and nothing is signed for a runtime that is not the
//     configured one.
//   - The endpoint's address, which may hold a key, is in no error.
//
// Addresses, storage hashes and whole signed transactions equal those of the polkadot.js libraries, byte for byte. The answers it
// was tried on are those of a node of our own in the tests, written from the published formats. Never tried against a live node:
// the numbers of pallets and calls, the runtime's list of signed extensions, the types of the storage read here, whether a public
// endpoint allows these methods and page sizes, and how fast it finalizes. Try a reader first, then one commitment on a test
// network. Subnets that hide weights (commit-reveal) refuse what SetWeights sends.
//
// Specification: docs/spec/chain.md.
package rpc

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"assay/chain"
	"assay/core/fault"
	"assay/core/sign"
	"assay/core/ss58"
)

// BadConfig refuses a configuration that cannot work.
var BadConfig = fault.NewCode("chain.bad_config", fault.Invalid, "the chain's configuration cannot work")

// Config says which chain, and as whom.
type Config struct {
	URL     string // http or https; a node serves both HTTP and WebSocket at one port
	Netuid  int    // the subnet
	Genesis string // hash of block 0, "0x" and 64 digits: which chain it must be

	// Defaults are the runtime's own defaults of the subnet's settings, from its metadata: a node answers nothing for a setting
	// that was never changed. Without one the launch is refused rather than guessed.
	Defaults chain.Parameters

	// Signer is the hotkey. A nil Signer reads only; what follows is then not needed.
	Signer             sign.Signer
	SpecVersion        uint32 // of the runtime that the calls below were looked up in
	TransactionVersion uint32
	SetWeightsCall     Call   // SubtensorModule.set_weights
	SetCommitmentCall  Call   // Commitments.set_commitment
	VersionKey         uint64 // of set_weights; the subnet's weights version

	Timeout   time.Duration     // of one exchange; 0 is 20 s
	Pause     time.Duration     // before a read is tried again, doubled each time; 0 is 500 ms
	Poll      time.Duration     // between looks for a sent transaction; 0 is 6 s
	Confirm   time.Duration     // how long to look for a sent transaction; 0 is 3 min
	Transport http.RoundTripper // nil is http.DefaultTransport
}

// Call names a call of the runtime by the two bytes that begin it.
type Call struct{ Pallet, Index byte }

// Client is the chain behind one endpoint. Use it from many goroutines at will; transactions of one hotkey are sent one at a time
// by whoever owns the hotkey.
type Client struct {
	conf    Config
	http    http.Client
	genesis [32]byte
	who     string // the signer's address; "" for a reader
	known   atomic.Bool
	lastID  atomic.Int64
}

var _ chain.Client = (*Client)(nil)

var (
	errScheme = errors.New("the address must begin with http:// or https://; for ws:// or wss:// write http:// or https:// before the same host and port")
	errNetuid = errors.New("a netuid is a number from 0 to 65535")
	errHash   = errors.New(`the genesis is "0x" and 64 lower-case hexadecimal digits`)
	errCalls  = errors.New("a signer needs the runtime's versions and two different calls")
	errTimes  = errors.New("times are not negative")
)

// New returns a client. It asks the endpoint nothing yet.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, BadConfig.Because(errScheme)
	case c.Netuid < 0 || c.Netuid > chain.MaxUID:
		return nil, BadConfig.Because(errNetuid)
	case !chain.IsHash(c.Genesis):
		return nil, BadConfig.Because(errHash)
	case c.Signer != nil && (c.SpecVersion == 0 || c.TransactionVersion == 0 || c.SetWeightsCall == c.SetCommitmentCall):
		return nil, BadConfig.Because(errCalls)
	case min(c.Timeout, c.Pause, c.Poll, c.Confirm) < 0:
		return nil, BadConfig.Because(errTimes)
	}
	for _, d := range []struct {
		of    *time.Duration
		value time.Duration
	}{{&c.Timeout, 20 * time.Second}, {&c.Pause, 500 * time.Millisecond}, {&c.Poll, 6 * time.Second}, {&c.Confirm, 3 * time.Minute}} {
		if *d.of == 0 {
			*d.of = d.value
		}
	}
	genesis, _ := hash32(c.Genesis)
	client := &Client{conf: c, genesis: genesis}
	client.http = http.Client{Transport: c.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if c.Signer != nil {
		client.who = ss58.Encode(c.Signer.Public())
	}
	return client, nil
}

// header is what is read of a block's header.
type header struct {
	Number string `json:"number"`
}

// Head returns the newest finalized block.
func (c *Client) Head(ctx context.Context) (chain.Block, error) {
	if err := c.sameChain(ctx); err != nil {
		return chain.Block{}, err
	}
	var hash string
	if err := c.read(ctx, "chain_getFinalizedHead", &hash); err != nil {
		return chain.Block{}, err
	}
	if !chain.IsHash(hash) {
		return chain.Block{}, odd("chain_getFinalizedHead", errShape)
	}
	var h *header
	if err := c.read(ctx, "chain_getHeader", &h, hash); err != nil {
		return chain.Block{}, err
	}
	if h == nil { // another node behind the same address, which is not as far
		return chain.Block{}, odd("chain_getHeader", errNull)
	}
	number, err := quantity(h.Number)
	if err != nil {
		return chain.Block{}, odd("chain_getHeader", err)
	}
	return chain.Block{Number: number, Hash: hash}, nil
}

// sameChain asks the endpoint once which chain it serves.
func (c *Client) sameChain(ctx context.Context) error {
	if err := ctx.Err(); err != nil || c.known.Load() {
		return err
	}
	hash, err := c.hashOf(ctx, 0)
	if err != nil {
		return err
	}
	if hash != c.conf.Genesis {
		return chain.OtherChain.With(fault.Str("genesis", hash), fault.Str("wanted", c.conf.Genesis))
	}
	c.known.Store(true)
	return nil
}

// hashOf returns the hash of a block that must be there.
func (c *Client) hashOf(ctx context.Context, number int64) (string, error) {
	var hash *string
	if err := c.read(ctx, "chain_getBlockHash", &hash, number); err != nil {
		return "", err
	}
	if hash == nil { // below the head, so it exists: the node is still catching up
		return "", odd("chain_getBlockHash", errNull)
	}
	if !chain.IsHash(*hash) {
		return "", odd("chain_getBlockHash", errShape)
	}
	return *hash, nil
}

// BlockHash returns the hash of a finalized block: one that is not final yet is NoSuchBlock, since it may still change.
func (c *Client) BlockHash(ctx context.Context, number int64) (string, error) {
	head, err := c.Head(ctx)
	if err != nil {
		return "", err
	}
	switch {
	case number < 0 || number > head.Number:
		return "", chain.NoSuchBlock.With(fault.Int("block", number), fault.Int("head", head.Number))
	case number == head.Number:
		return head.Hash, nil
	}
	return c.hashOf(ctx, number)
}
