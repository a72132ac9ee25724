package ss58_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"golang.org/x/crypto/blake2b"
	"pgregory.net/rapid"

	"assay/core/fault"
	"assay/core/ss58"
)

// The published development accounts of Substrate, and the key of all zeros.
var known = map[string]string{
	"5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY": "d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d",
	"5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty": "8eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a48",
	"5FA9nQDVg267DEd8m1ZypXLBnvN7SFxYwV7ndqSYGiN9TTpu": "88dc3417d5058ec4b4503e0c12ea1a0a89be200fe98922423d4334014fa6b0ee",
	"5C4hrfjw9DjXZTzV3MwzrrAr9P1MJhSrvWGWqi1eSuyUpnhM": strings.Repeat("00", 32),
}

func TestKnownAddresses(t *testing.T) {
	for address, want := range known {
		key, err := ss58.Decode(address)
		if got := hex.EncodeToString(key[:]); err != nil || got != want {
			t.Errorf("Decode(%s) = %s, %v", address, got, err)
		}
		if got := ss58.Encode(key); got != address {
			t.Errorf("Encode = %s, want %s", got, address)
		}
	}
}

// spell is the address of a key in a form that Encode never writes.
func spell(key [32]byte, prefix ...byte) string {
	b := append(prefix, key[:]...)
	sum := blake2b.Sum512(append([]byte("SS58PRE"), b...))
	return base58.Encode(append(b, sum[:2]...))
}

func TestFault47_OnlyPrefix42(t *testing.T) {
	const good = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"
	key, err := ss58.Decode(good)
	if err != nil {
		t.Fatal(err)
	}
	if spell(key, 42) != good {
		t.Fatal("the test's own spelling is wrong")
	}
	bad := map[string]string{
		"prefix 0": spell(key, 0), "prefix 2": spell(key, 2), "prefix 43": spell(key, 43),
		"42 in two bytes": spell(key, 0b0100_1010, 0b1000_0000), "network 64 in two bytes": spell(key, 0b0101_0000, 0),
		"last character changed": good[:len(good)-1] + "Z", "first character changed": "6" + good[1:],
		"leading space": " " + good, "trailing space": good + " ", "line end": good + "\n", "leading zero byte": "1" + good,
		"empty": "", "hexadecimal": "0x" + hex.EncodeToString(key[:]), "not base58": strings.Replace(good, "5", "0", 1), "no checksum": base58.Encode(append([]byte{42}, key[:]...)),
		"beyond ASCII": strings.Replace(good, "w", "ÿ", 1), "a megabyte": strings.Repeat("5", 1<<20),
	}
	for name, address := range bad {
		if got, err := ss58.Decode(address); fault.Of(err) != ss58.BadAddress || got != [32]byte{} {
			t.Errorf("%s: %x, %v", name, got, err)
		}
	}
}

func TestEveryKeyComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := [32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key"))
		if got, err := ss58.Decode(ss58.Encode(key)); err != nil || got != key {
			t.Fatalf("%x, %v", got, err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for address := range known {
		f.Add(address)
	}
	f.Add("")
	f.Add("1111")
	f.Fuzz(func(t *testing.T, address string) {
		key, err := ss58.Decode(address)
		if err == nil && ss58.Encode(key) != address {
			t.Errorf("%q is a second spelling of %x", address, key)
		}
	})
}
