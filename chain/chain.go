// Package chain is the contract of the chain we live on: what is read from it, and the two things that are written to it.
//
// Invariants:
//   - A chain that cannot be asked is Unavailable, never an empty answer and never "no such block".
//   - A metagraph is read at one block; its block says which.
//   - A write that may or may not have happened is Unconfirmed: look at the chain, do not repeat it blindly.
//   - Weights are not set again before more blocks have passed than the rate limit says.
//
// Specification: docs/spec/chain.md.
package chain

import (
	"cmp"
	"context"
	"math"
	"regexp"
	"slices"

	"assay/core/fault"
)

// The refusals of this room.
var (
	Unavailable   = fault.NewCode("chain.unavailable", fault.Unready, "the chain gave no usable answer")
	NoSuchBlock   = fault.NewCode("chain.no_such_block", fault.NotFound, "the chain has no such block yet, or never will")
	LongSignal    = fault.NewCode("chain.long_signal", fault.TooLarge, "a signal is 1 to 128 bytes of printable ASCII")
	BadWeights    = fault.NewCode("chain.bad_weights", fault.Invalid, "weights are shares of distinct uids from 0 to 65535 that sum to one")
	TooSoon       = fault.NewCode("chain.too_soon", fault.Unready, "the rate limit has not passed since the last change of weights")
	NotRegistered = fault.NewCode("chain.not_registered", fault.Forbidden, "the hotkey is not registered on the subnet")
	Refused       = fault.NewCode("chain.refused", fault.NotAllowed, "the chain refuses the transaction")
	Unconfirmed   = fault.NewCode("chain.unconfirmed", fault.Uncertain, "the transaction was sent and not seen on the chain; look before sending another")
	OtherChain    = fault.NewCode("chain.other_chain", fault.Conflict, "the endpoint serves another chain or runtime than the configured one")
	BadSignal     = fault.NewCode("chain.bad_signal", fault.Invalid, "not a signal of the named form")
	BadCalendar   = fault.NewCode("chain.bad_calendar", fault.Invalid, "a window needs a positive length and a block at or behind the genesis")
	BadIdentity   = fault.NewCode("chain.bad_identity", fault.Invalid, "a registration needs an ss58 hotkey, a uid, a netuid and the block of its registration")
)

// Block names one block.
type Block struct {
	Number int64  // from 0
	Hash   string // "0x" and 64 lower-case hexadecimal digits
}

// Neuron is one registered participant.
type Neuron struct {
	UID        int    `json:"uid"`        // 0 to 65535
	Hotkey     string `json:"hotkey"`     // ss58, prefix 42
	Registered int64  `json:"registered"` // block of the registration; 0 where the chain knows none
}

// Metagraph is who is registered at one block, by ascending UID.
type Metagraph struct {
	Block   Block
	Neurons []Neuron
}

// Find returns the neuron of a hotkey.
func (m Metagraph) Find(hotkey string) (Neuron, bool) {
	for _, n := range m.Neurons {
		if n.Hotkey == hotkey {
			return n, true
		}
	}
	return Neuron{}, false
}

// Commitment is the latest signal of a hotkey and the block that took it in.
type Commitment struct {
	Hotkey string `json:"hotkey"` // ss58, prefix 42
	Block  int64  `json:"block"`
	Signal string `json:"signal"` // foreign text, as CheckSignal takes it; "" for a commitment of another kind
}

// Weight is the share of the emissions that a uid gets.
type Weight struct {
	UID   int     `json:"uid"`
	Share float64 `json:"share"` // 0 to 1
}

// Parameters are the subnet's settings that a launch is checked against.
type Parameters struct {
	WeightsRateLimit int64 `json:"weights_rate_limit"` // blocks; more than these pass between two changes of weights
	ImmunityPeriod   int64 `json:"immunity_period"`    // blocks in which a new registration is not replaced
}

// Client is one endpoint, as one hotkey, on one subnet. Errors carry this room's codes, or are ctx's own.
type Client interface {
	// Head returns the newest block that the chain does not take back.
	Head(ctx context.Context) (Block, error)
	// BlockHash returns the hash of a block: NoSuchBlock beyond the head.
	BlockHash(ctx context.Context, number int64) (string, error)
	// Metagraph returns who is registered, at the head.
	Metagraph(ctx context.Context) (Metagraph, error)
	// Commitments returns everybody's latest signal, in order of block and then hotkey.
	Commitments(ctx context.Context) ([]Commitment, error)
	// Commit makes signal the hotkey's commitment.
	Commit(ctx context.Context, signal string) error
	// SetWeights replaces the hotkey's weights: TooSoon while no more blocks than the rate limit have passed since the last
	// time, Refused for a uid that nobody holds.
	SetWeights(ctx context.Context, weights []Weight) error
	// Parameters returns the subnet's settings at the head.
	Parameters(ctx context.Context) (Parameters, error)
}

// Bounds of what is written.
const (
	MaxSignal = 128   // bytes
	MaxUID    = 65535 // the chain's own width
)

// sumSlack is how far the sum of shares may lie from one: the rounding of some hundred shares, far below one part of 65535.
const sumSlack = 1e-9

// CheckSignal refuses what no driver may commit.
func CheckSignal(signal string) error {
	if len(signal) == 0 || len(signal) > MaxSignal {
		return LongSignal.With(fault.Int("bytes", int64(len(signal))))
	}
	for i := range len(signal) {
		if signal[i] < 0x20 || signal[i] > 0x7e {
			return LongSignal.With(fault.Int("byte", int64(signal[i])), fault.Int("at", int64(i)))
		}
	}
	return nil
}

// CheckWeights refuses what no driver may set.
func CheckWeights(weights []Weight) error {
	seen := map[int]bool{}
	sum := 0.0
	for _, w := range weights {
		switch {
		case w.UID < 0 || w.UID > MaxUID || seen[w.UID]:
			return BadWeights.With(fault.Int("uid", int64(w.UID)))
		case !(w.Share >= 0 && w.Share <= 1): // also NaN
			return BadWeights.With(fault.Int("uid", int64(w.UID)), fault.Float("share", w.Share))
		}
		seen[w.UID] = true
		sum += w.Share
	}
	if math.Abs(sum-1) > sumSlack {
		return BadWeights.With(fault.Float("sum", sum))
	}
	return nil
}

// MayUpdate refuses with TooSoon a change of weights at block now when the last one was at block last: at equality too.
func MayUpdate(last, now, limit int64) error {
	if since := now - last; since <= limit {
		return TooSoon.With(fault.Int("blocks_since", since), fault.Int("limit", limit))
	}
	return nil
}

var hashForm = regexp.MustCompile(`^0x[0-9a-f]{64}$`)

// IsHash reports whether s is a block's hash as Block holds it.
func IsHash(s string) bool { return hashForm.MatchString(s) }

// CheckUIDs refuses weights for a uid that nobody holds, as the chain does.
func CheckUIDs(weights []Weight, m Metagraph) error {
	held := map[int]bool{}
	for _, n := range m.Neurons {
		held[n.UID] = true
	}
	for _, w := range weights {
		if !held[w.UID] {
			return Refused.With(fault.Int("uid_held_by_nobody", int64(w.UID)))
		}
	}
	return nil
}

// Order puts commitments in order of block and then hotkey: the order in which they are served.
func Order(list []Commitment) {
	slices.SortFunc(list, func(a, b Commitment) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Hotkey, b.Hotkey))
	})
}
