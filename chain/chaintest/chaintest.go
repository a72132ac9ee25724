// Package chaintest holds what every driver of the chain must do, real or fake.
//
// Invariants:
//   - The suite knows a chain only through its contract and the Control that arranges what the chain holds.
//   - Every test of it opens a chain of its own.
package chaintest

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"assay/chain"
	"assay/core/fault"
	"assay/core/ss58"
)

// World is what a chain holds.
type World struct {
	Head        int64
	Neurons     []chain.Neuron
	Commitments []chain.Commitment
	Parameters  chain.Parameters
}

// Control arranges the chain behind a client.
type Control interface {
	// Hotkey is who the client writes as.
	Hotkey() string
	// Put replaces what the chain holds; nobody has set weights.
	Put(t testing.TB, w World)
	// Advance adds blocks to the chain.
	Advance(t testing.TB, blocks int64)
	// Down makes the chain answer nothing, or answer again.
	Down(t testing.TB, down bool)
	// Weights returns what the hotkey has set, in shares of their sum, none before the first time.
	Weights(t testing.TB) []chain.Weight
}

// Open makes a chain and a client of it for one test.
type Open func(t *testing.T) (chain.Client, Control)

// Hotkey returns the address of a key of 32 equal bytes: somebody for a test.
func Hotkey(b byte) string {
	return ss58.Encode([32]byte([]byte(strings.Repeat(string([]byte{b}), 32))))
}

// world is a small subnet in which the client's hotkey holds uid 3.
func world(c Control) World {
	return World{
		Head: 5000,
		Neurons: []chain.Neuron{
			{UID: 3, Hotkey: c.Hotkey(), Registered: 40}, {UID: 0, Hotkey: Hotkey(1), Registered: 7}, {UID: 300, Hotkey: Hotkey(2), Registered: 4999},
			{UID: 2, Hotkey: Hotkey(3)},
		},
		Commitments: []chain.Commitment{
			{Hotkey: Hotkey(2), Block: 4999, Signal: chain.ReadySignal(chain.Ready{})}, {Hotkey: Hotkey(9), Block: 30, Signal: "somebody who left"},
			{Hotkey: Hotkey(1), Block: 30, Signal: "text of another kind"}, {Hotkey: Hotkey(4), Block: 31},
		},
		Parameters: chain.Parameters{WeightsRateLimit: 100, ImmunityPeriod: 4096},
	}
}

// Run holds a driver to the contract.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, chain.Client, Control){
		"Head": head, "BlockHash": blockHash, "Metagraph": metagraph, "EmptySubnet": emptySubnet, "Commitments": commitments, "Parameters": parameters,
		"Commit": commit, "SignalsThatAreRefused": badSignals, "Strangers": strangers, "SetWeights": setWeights, "RateLimit": rateLimit,
		"WeightsThatAreRefused": badWeights, "Down": down, "Ended": ended,
	} {
		t.Run(name, func(t *testing.T) {
			client, control := open(t)
			control.Put(t, world(control))
			test(t, client, control)
		})
	}
}

// code fails unless err carries the code.
func code(t *testing.T, what string, err error, want fault.Code) {
	t.Helper()
	if fault.Of(err) != want {
		t.Errorf("%s: %v, want %s", what, err, want.Name())
	}
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func head(t *testing.T, c chain.Client, ctl Control) {
	first, err := c.Head(t.Context())
	fatal(t, err)
	if first.Number != 5000 || !chain.IsHash(first.Hash) {
		t.Errorf("%+v", first)
	}
	ctl.Advance(t, 10)
	second, err := c.Head(t.Context())
	fatal(t, err)
	if second.Number != 5010 || second.Hash == first.Hash {
		t.Errorf("%+v after %+v", second, first)
	}
}

func blockHash(t *testing.T, c chain.Client, ctl Control) {
	top, err := c.Head(t.Context())
	fatal(t, err)
	seen := map[string]int64{}
	for _, n := range []int64{1, 2, 4096, 4999, 5000} {
		hash, err := c.BlockHash(t.Context(), n)
		fatal(t, err)
		if other, twice := seen[hash]; twice || !chain.IsHash(hash) {
			t.Errorf("block %d has the hash %s of block %d", n, hash, other)
		}
		seen[hash] = n
	}
	if seen[top.Hash] != top.Number {
		t.Errorf("the head says %s of itself, which is the hash of block %d", top.Hash, seen[top.Hash])
	}
	for _, n := range []int64{5001, 1 << 40, math.MaxInt64, -1, math.MinInt64} {
		hash, err := c.BlockHash(t.Context(), n)
		code(t, "a block that is not there", err, chain.NoSuchBlock)
		if hash != "" {
			t.Errorf("block %d has the hash %s", n, hash)
		}
	}
	ctl.Advance(t, 1)
	if hash, err := c.BlockHash(t.Context(), 5001); err != nil || !chain.IsHash(hash) {
		t.Errorf("block 5001 came, and has the hash %q, %v", hash, err)
	}
	if hash, err := c.BlockHash(t.Context(), 5000); err != nil || hash != top.Hash {
		t.Errorf("block 5000 has another hash now: %q, %v", hash, err)
	}
}

func metagraph(t *testing.T, c chain.Client, ctl Control) {
	got, err := c.Metagraph(t.Context())
	fatal(t, err)
	top, err := c.Head(t.Context())
	fatal(t, err)
	n := world(ctl).Neurons
	want := chain.Metagraph{Block: top, Neurons: []chain.Neuron{n[1], n[3], n[0], n[2]}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func emptySubnet(t *testing.T, c chain.Client, ctl Control) {
	ctl.Put(t, World{Head: 1, Parameters: chain.Parameters{WeightsRateLimit: 1, ImmunityPeriod: 1}})
	got, err := c.Metagraph(t.Context())
	if err != nil || got.Block.Number != 1 || len(got.Neurons) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	list, err := c.Commitments(t.Context())
	if err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

func commitments(t *testing.T, c chain.Client, ctl Control) {
	got, err := c.Commitments(t.Context())
	fatal(t, err)
	want := world(ctl).Commitments
	chain.Order(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got[0].Block != 30 || got[1].Block != 30 || got[0].Hotkey > got[1].Hotkey || got[3].Block != 4999 {
		t.Errorf("the order is %+v", got)
	}
}

func parameters(t *testing.T, c chain.Client, ctl Control) {
	got, err := c.Parameters(t.Context())
	if err != nil || got != world(ctl).Parameters {
		t.Errorf("%+v, %v", got, err)
	}
}

// own returns what the client's hotkey has committed.
func own(t *testing.T, c chain.Client, ctl Control) (found []chain.Commitment) {
	t.Helper()
	list, err := c.Commitments(t.Context())
	fatal(t, err)
	for _, o := range list {
		if o.Hotkey == ctl.Hotkey() {
			found = append(found, o)
		}
	}
	return found
}

func commit(t *testing.T, c chain.Client, ctl Control) {
	for i, signal := range []string{chain.ScheduleSignal(chain.Digest{1}), strings.Repeat("x", chain.MaxSignal), "a \"quoted\\ one\" <&>"} {
		ctl.Advance(t, 5)
		top, err := c.Head(t.Context())
		fatal(t, err)
		fatal(t, c.Commit(t.Context(), signal))
		got := own(t, c, ctl)
		if len(got) != 1 || got[0].Signal != signal || got[0].Block < top.Number {
			t.Errorf("signal %d at block %d: %+v", i, top.Number, got)
		}
	}
	if list, err := c.Commitments(t.Context()); err != nil || len(list) != len(world(ctl).Commitments)+1 {
		t.Errorf("others' commitments are gone: %+v, %v", list, err)
	}
}

func badSignals(t *testing.T, c chain.Client, ctl Control) {
	for _, signal := range []string{"", strings.Repeat("x", chain.MaxSignal+1), "two\nlines", "größe", "\x00", "\x7f", "\xff"} {
		code(t, "a bad signal", c.Commit(t.Context(), signal), chain.LongSignal)
	}
	if got := own(t, c, ctl); len(got) != 0 {
		t.Errorf("something was committed: %+v", got)
	}
}

func strangers(t *testing.T, c chain.Client, ctl Control) {
	w := world(ctl)
	w.Neurons = w.Neurons[1:]
	ctl.Put(t, w)
	code(t, "Commit", c.Commit(t.Context(), "signal"), chain.NotRegistered)
	code(t, "SetWeights", c.SetWeights(t.Context(), []chain.Weight{{UID: 0, Share: 1}}), chain.NotRegistered)
	if got := own(t, c, ctl); len(got) != 0 {
		t.Errorf("something was committed: %+v", got)
	}
}

// shares compares weights as the chain may hold them: in parts of 65535 of the largest, without what is zero.
func shares(t *testing.T, ctl Control, want []chain.Weight) {
	t.Helper()
	if diff := cmp.Diff(want, ctl.Weights(t), cmpopts.EquateApprox(0, 1e-4), cmpopts.SortSlices(func(a, b chain.Weight) bool { return a.UID < b.UID }),
		cmpopts.IgnoreSliceElements(func(w chain.Weight) bool { return w.Share == 0 }), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func setWeights(t *testing.T, c chain.Client, ctl Control) {
	shares(t, ctl, nil)
	want := []chain.Weight{{UID: 300, Share: .85}, {UID: 3, Share: .05}, {UID: 2, Share: 0}, {UID: 0, Share: .1}}
	fatal(t, c.SetWeights(t.Context(), want))
	shares(t, ctl, want)
	ctl.Advance(t, 101)
	burn := []chain.Weight{{UID: 0, Share: 1}}
	fatal(t, c.SetWeights(t.Context(), burn))
	shares(t, ctl, burn)
}

func rateLimit(t *testing.T, c chain.Client, ctl Control) {
	first, second := []chain.Weight{{UID: 0, Share: 1}}, []chain.Weight{{UID: 2, Share: 1}}
	fatal(t, c.SetWeights(t.Context(), first))
	code(t, "at once", c.SetWeights(t.Context(), second), chain.TooSoon)
	ctl.Advance(t, 100)
	code(t, "at equality", c.SetWeights(t.Context(), second), chain.TooSoon)
	shares(t, ctl, first)
	ctl.Advance(t, 1)
	fatal(t, c.SetWeights(t.Context(), second))
	shares(t, ctl, second)
}

func badWeights(t *testing.T, c chain.Client, ctl Control) {
	for name, weights := range map[string][]chain.Weight{
		"none": nil, "too little": {{UID: 0, Share: .5}}, "too much": {{UID: 0, Share: .6}, {UID: 2, Share: .6}}, "a uid twice": {{UID: 0, Share: .5}, {UID: 0, Share: .5}},
		"negative": {{UID: 0, Share: 1.5}, {UID: 2, Share: -.5}}, "no number": {{UID: 0, Share: math.NaN()}}, "infinite": {{UID: 0, Share: math.Inf(1)}},
		"uid -1": {{UID: -1, Share: 1}}, "uid 65536": {{UID: 65536, Share: 1}},
	} {
		code(t, name, c.SetWeights(t.Context(), weights), chain.BadWeights)
	}
	code(t, "a uid that nobody holds", c.SetWeights(t.Context(), []chain.Weight{{UID: 0, Share: .5}, {UID: 77, Share: .5}}), chain.Refused)
	shares(t, ctl, nil)
}

// calls are all that a client can be asked.
func calls(ctx context.Context, c chain.Client) map[string]func() error {
	return map[string]func() error{
		"Head":        func() error { _, err := c.Head(ctx); return err },
		"BlockHash":   func() error { _, err := c.BlockHash(ctx, 1); return err },
		"a far block": func() error { _, err := c.BlockHash(ctx, 1<<40); return err },
		"Metagraph":   func() error { _, err := c.Metagraph(ctx); return err },
		"Commitments": func() error { _, err := c.Commitments(ctx); return err },
		"Parameters":  func() error { _, err := c.Parameters(ctx); return err },
		"Commit":      func() error { return c.Commit(ctx, "signal") },
		"SetWeights":  func() error { return c.SetWeights(ctx, []chain.Weight{{UID: 0, Share: 1}}) },
	}
}

func down(t *testing.T, c chain.Client, ctl Control) {
	ctl.Down(t, true)
	for name, call := range calls(t.Context(), c) {
		code(t, name, call(), chain.Unavailable)
	}
	ctl.Down(t, false)
	for name, call := range calls(t.Context(), c) {
		if err := call(); name != "a far block" && err != nil {
			t.Errorf("%s, when the chain is back: %v", name, err)
		}
	}
}

func ended(t *testing.T, c chain.Client, ctl Control) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range calls(ctx, c) {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want the context's end", name, err)
		}
	}
	if got := own(t, c, ctl); len(got) != 0 {
		t.Errorf("something was committed: %+v", got)
	}
}
