package rpc_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay/chain"
	"assay/chain/rpc"
	"assay/core/ss58"
)

func hotkeyOf(key [32]byte) string { return ss58.Encode(key) }

// TestPublishedKeys pins the hashers by storage keys that Substrate's own documents show.
func TestPublishedKeys(t *testing.T) {
	alice, err := hex.DecodeString("d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d")
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		got  []byte
		want string
	}{
		"Timestamp.Now": {rpc.StorageKey("Timestamp", "Now"), "f0c365c3cf59d671eb72da0e7a4113c49f1f0515f462cdcf84e0f1d6045dfcbb"},
		"System.Account of Alice": {rpc.StorageKey("System", "Account", rpc.Blake2Concat(alice)),
			"26aa394eea5630e07c48ae0c9558cef7b99d880ec681799c0cf30e8886371da9de1e86a9a8c739864cf3cc5ec2bea59fd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d"},
		// These two as @polkadot/util-crypto gives them.
		"SubtensorModule and CommitmentOf": {rpc.StorageKey("SubtensorModule", "CommitmentOf"), "658faa385070e074c85bf6b568cf0555419a60ae8b01e6dcaebd7317e43c69bf"},
		"Twox64Concat of Alice":            {rpc.Twox64Concat(alice)[:8], "518366b5b1bc7c99"},
		// xxHash64 of nothing is ef46db3751d8e999; it is written from its low byte.
		"Twox64Concat of nothing": {rpc.Twox64Concat(nil), "99e9d85137db46ef"},
	} {
		if got := hex.EncodeToString(row.got); got != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
}

// TestPublishedCompacts holds the examples of the SCALE specification.
func TestPublishedCompacts(t *testing.T) {
	for n, want := range map[uint64]string{0: "00", 1: "04", 42: "a8", 63: "fc", 64: "0101", 69: "1501", 16383: "fdff", 16384: "02000100", 65535: "feff0300", 1<<30 - 1: "feffffff", 1 << 30: "0300000040", 100000000000000: "0b00407a10f35a"} {
		if got := hex.EncodeToString(rpc.AppendCompact(nil, n)); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for _, bad := range []string{"", "01", "0100", "02000000", "0200", "fd00", "03000000ff", "fe", "000000", "0101ff"} {
		b, _ := hex.DecodeString(bad)
		if n, err := rpc.ReadCompact(b, 1<<30-1); err == nil || n != 0 {
			t.Errorf("%s is read as %d", bad, n)
		}
	}
}

func TestEveryCountComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint32Range(0, 1<<30-1).Draw(t, "n")
		if got, err := rpc.ReadCompact(rpc.AppendCompact(nil, uint64(n)), n); err != nil || got != int(n) {
			t.Fatalf("%d came back as %d, %v", n, got, err)
		}
		if n > 0 {
			if _, err := rpc.ReadCompact(rpc.AppendCompact(nil, uint64(n)), n-1); err == nil {
				t.Fatalf("%d is taken where %d is the most", n, n-1)
			}
		}
	})
}

func TestScaledByTheLargest(t *testing.T) {
	uids, parts := rpc.Scaled([]chain.Weight{{UID: 9, Share: .85}, {UID: 0, Share: .1}, {UID: 4, Share: 0}, {UID: 2, Share: .05}, {UID: 7, Share: 1e-9}})
	if diff := cmp.Diff([]uint16{0, 2, 9}, uids); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]uint16{7710, 3855, 65535}, parts); diff != "" { // 65535 * 2/17, 65535 / 17
		t.Error(diff)
	}
}

// TestExtrinsicBytes pins where each part of a transaction stands.
func TestExtrinsicBytes(t *testing.T) {
	_, c := newNode(t)
	x, err := c.Extrinsic(hotkey, []byte{18, 0, 7, 0, 4, 2, 'x'}, 5, chain.Block{Number: 1000, Hash: nodeHash(1000)})
	if err != nil {
		t.Fatal(err)
	}
	key := hotkey.Public().String()
	got := hex.EncodeToString(x)
	sig := got[4+4+64+2:][:128]
	// Length 1+1+32+1+64+2+1+1+1+7 = 111, version 4 and signed, account by id, ed25519; block 1000 is the 40th of its 64: 0x0285;
	// nonce 5, no tip, no metadata hash.
	want := "bd01" + "8400" + key + "00" + sig + "8502" + "14" + "00" + "00" + "12000700040278"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := c.Extrinsic(hotkey, nil, 0, chain.Block{Hash: "0x"}); err == nil {
		t.Error("a transaction was made from no block")
	}
}

// TestExtrinsicsOfPolkadotJS compares whole transactions with those that @polkadot/types 16.5.6 makes of the same key, era (64 blocks
// from block 1000), nonce, versions and hashes, for the runtime's list of extensions; one is longer than 256 bytes.
func TestExtrinsicsOfPolkadotJS(t *testing.T) {
	c := client(t, "http://node.example", func(c *rpc.Config) { c.Genesis = "0x" + strings.Repeat("11", 32) })
	from := chain.Block{Number: 1000, Hash: "0x" + strings.Repeat("22", 32)}
	for n, want := range map[int]string{
		3:   "0xb9018400f4bd46521ce7b57899ae6f4ca09eddec689327a86a2232d4a3f2a4f39ac68a9e00deaee96cd5bae1ba1626cec5e18a2127d8c1da0ed6a2515372caa33121e25efd410b752a85e30b413d835d618996d50d62900292e4037e407c60a00f9986b609850214000000000cababab",
		300: "sha256 41409a7b3910a839e26355aba804ca7acb2e2a194227024cd18ada26352651cf",
	} {
		call := append(rpc.AppendCompact([]byte{0, 0}, uint64(n)), bytes.Repeat([]byte{0xab}, n)...) // System.remark
		x, err := c.Extrinsic(hotkey, call, 5, from)
		if err != nil {
			t.Fatal(err)
		}
		got := "0x" + hex.EncodeToString(x)
		if len(got) > 500 {
			got = fmt.Sprintf("sha256 %x", sha256.Sum256([]byte(got)))
		}
		if got != want {
			t.Errorf("%d bytes: %s, want %s", n, got, want)
		}
	}
}

func FuzzCommitment(f *testing.F) {
	f.Add(registration(9, text("x")))
	f.Add(registration(9, append([]byte{134, 2 << 2, 1, 2}, make([]byte, 8)...)))
	f.Add(registration(9, append([]byte{131}, make([]byte, 32)...)))
	f.Fuzz(func(t *testing.T, b []byte) {
		block, signal, err := rpc.ReadCommitment(b)
		if err != nil && (block != 0 || signal != "") {
			t.Errorf("block %d and %q beside %v", block, signal, err)
		}
		if signal != "" && (chain.CheckSignal(signal) != nil || !bytes.HasSuffix(b, text(signal))) {
			t.Errorf("%q was read from %x", signal, b)
		}
	})
}

func FuzzCompact(f *testing.F) {
	f.Add([]byte{0xfe, 0xff, 3, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := rpc.ReadCompact(b, 1<<30-1); err == nil && !bytes.Equal(rpc.AppendCompact(nil, uint64(n)), b) {
			t.Errorf("%x is a second form of %d", b, n)
		}
	})
}

func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":null}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x","data":"y"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if result, err := rpc.ParseReply(body, 1); err == nil && !bytes.Contains(body, result) {
			t.Errorf("%q was read from %q", result, body)
		}
	})
}

func FuzzQuantity(f *testing.F) {
	for _, s := range []string{"0x0", "0x1f", "0x", "0x00", "-0x1", "0x7fffffffffffffff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := rpc.Quantity(s); err == nil && (n < 0 || !strings.HasPrefix(s, "0x") || len(s) > 18) {
			t.Errorf("%q is read as %d", s, n)
		}
	})
}
