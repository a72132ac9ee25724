package rpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/crypto/blake2b"

	"assay/chain"
	"assay/core/fault"
	"assay/core/ss58"
)

// The storage that is read. A map's key is hashed, and stands behind its hash where the hasher's name ends in Concat.
//
//	SubtensorModule.Keys                 (netuid Identity, uid Identity)              32 bytes, the hotkey
//	SubtensorModule.Uids                 (netuid Identity, hotkey Blake2_128Concat)   u16
//	SubtensorModule.BlockAtRegistration  (netuid Identity, uid Identity)              u64
//	SubtensorModule.LastUpdate           (netuid Identity)                            list of u64, by uid
//	SubtensorModule.WeightsSetRateLimit  (netuid Identity)                            u64
//	SubtensorModule.ImmunityPeriod       (netuid Identity)                            u16
//	Commitments.CommitmentOf             (netuid Identity, hotkey Twox64Concat)       u64 deposit, u32 block, fields
const (
	subtensor   = "SubtensorModule"
	commitments = "Commitments"
)

const (
	pageSize = 256     // keys of one page and of one query; nodes allow 1000
	maxKeys  = 1 << 17 // keys of one map: two times as many as a subnet has uids
)

// twox128 hashes a name: two 64-bit xxHashes, of seeds 0 and 1.
func twox128(name string) []byte {
	var b []byte
	for seed := range uint64(2) {
		d := xxhash.NewWithSeed(seed)
		_, _ = d.WriteString(name)
		b = binary.LittleEndian.AppendUint64(b, d.Sum64())
	}
	return b
}

func twox64Concat(key []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, xxhash.Sum64(key)), key...)
}

func blake2x128Concat(key []byte) []byte {
	h, err := blake2b.New(16, nil)
	if err != nil {
		panic("rpc: BLAKE2b has a form of 16 bytes") // it depends on nothing but the two arguments
	}
	_, _ = h.Write(key)
	return append(h.Sum(nil), key...)
}

func u16(n int) []byte { return binary.LittleEndian.AppendUint16(nil, uint16(n)) }

// storageKey is where a value lies: the hashed names, then the hashed parts of the map's key.
func storageKey(pallet, item string, parts ...[]byte) []byte {
	return slices.Concat(twox128(pallet), twox128(item), slices.Concat(parts...))
}

// value returns what lies under a key at a block, nil where nothing does.
func (c *Client) value(ctx context.Context, key []byte, at string) ([]byte, error) {
	const method = "state_getStorage"
	var text *string
	if err := c.read(ctx, method, &text, inHex(key), at); err != nil || text == nil {
		return nil, err
	}
	b, err := unhex(*text)
	if err != nil {
		return nil, odd(method, err)
	}
	return append([]byte{}, b...), nil // an empty value is not the same as none
}

// keys returns every key of a map under a prefix, at a block, by their bytes. The parts behind the prefix are partSize bytes long.
func (c *Client) keys(ctx context.Context, prefix []byte, partSize int, at string) (all [][]byte, err error) {
	const method = "state_getKeysPaged"
	var after any // null at first
	for {
		var page []string
		if err := c.read(ctx, method, &page, inHex(prefix), pageSize, after, at); err != nil {
			return nil, err
		}
		if len(page) > pageSize || len(all)+len(page) > maxKeys {
			return nil, odd(method, errCount)
		}
		for _, text := range page {
			key, err := unhex(text)
			if err != nil || len(key) != len(prefix)+partSize || !bytes.HasPrefix(key, prefix) {
				return nil, odd(method, errShape)
			}
			if len(all) > 0 && bytes.Compare(all[len(all)-1], key) >= 0 { // a page that was given before
				return nil, odd(method, errShape)
			}
			all = append(all, key)
		}
		if len(page) < pageSize {
			return all, nil
		}
		after = page[len(page)-1]
	}
}

// changes is one block's part of the answer to state_queryStorageAt.
type changes struct {
	Block   string       `json:"block"`
	Changes [][2]*string `json:"changes"` // key and value
}

// values returns what lies under each of the keys at a block, nil where nothing does.
func (c *Client) values(ctx context.Context, keys [][]byte, at string) ([][]byte, error) {
	var all [][]byte
	for part := range slices.Chunk(keys, pageSize) {
		found, err := c.someValues(ctx, part, at)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (c *Client) someValues(ctx context.Context, keys [][]byte, at string) ([][]byte, error) {
	const method = "state_queryStorageAt"
	texts := make([]string, len(keys))
	place := map[string]int{}
	for i, k := range keys {
		texts[i] = inHex(k)
		place[texts[i]] = i
	}
	var answer []changes
	if err := c.read(ctx, method, &answer, texts, at); err != nil {
		return nil, err
	}
	if len(answer) != 1 || answer[0].Block != at || len(answer[0].Changes) != len(keys) {
		return nil, odd(method, errShape)
	}
	found := make([][]byte, len(keys))
	for _, change := range answer[0].Changes {
		if change[0] == nil {
			return nil, odd(method, errShape)
		}
		i, asked := place[*change[0]]
		if !asked {
			return nil, odd(method, errShape)
		}
		delete(place, *change[0]) // each once
		if change[1] != nil {
			b, err := unhex(*change[1])
			if err != nil {
				return nil, odd(method, err)
			}
			found[i] = append([]byte{}, b...)
		}
	}
	return found, nil
}

// Metagraph returns who is registered, at one finalized block.
func (c *Client) Metagraph(ctx context.Context) (chain.Metagraph, error) {
	head, err := c.Head(ctx)
	if err != nil {
		return chain.Metagraph{}, err
	}
	prefix := storageKey(subtensor, "Keys", u16(c.conf.Netuid))
	keys, err := c.keys(ctx, prefix, 2, head.Hash)
	if err != nil {
		return chain.Metagraph{}, err
	}
	m := chain.Metagraph{Block: head}
	since := make([][]byte, len(keys))
	for i, k := range keys {
		uid := k[len(prefix):]
		since[i] = storageKey(subtensor, "BlockAtRegistration", u16(c.conf.Netuid), uid)
		m.Neurons = append(m.Neurons, chain.Neuron{UID: int(binary.LittleEndian.Uint16(uid))})
	}
	hotkeys, err := c.values(ctx, keys, head.Hash)
	if err != nil {
		return chain.Metagraph{}, err
	}
	blocks, err := c.values(ctx, since, head.Hash)
	if err != nil {
		return chain.Metagraph{}, err
	}
	seen := map[string]bool{}
	for i := range m.Neurons {
		n := &m.Neurons[i]
		if len(hotkeys[i]) != 32 {
			return chain.Metagraph{}, odd("Keys", errShape)
		}
		n.Hotkey = ss58.Encode([32]byte(hotkeys[i]))
		if n.Registered, err = blockNumber(blocks[i], head.Number); err != nil || seen[n.Hotkey] {
			return chain.Metagraph{}, odd("BlockAtRegistration", errors.Join(errShape, err))
		}
		seen[n.Hotkey] = true
	}
	slices.SortFunc(m.Neurons, func(a, b chain.Neuron) int { return a.UID - b.UID })
	return m, nil
}

// blockNumber reads a u64 that cannot lie beyond the head. Nothing is 0: the map's own default.
func blockNumber(b []byte, head int64) (int64, error) {
	if b == nil {
		return 0, nil
	}
	n, err := decode(b, (*scale).u64)
	if err == nil && n > uint64(head) {
		err = errCount
	}
	return int64(n), err
}

// Parameters returns the subnet's settings at a finalized block.
func (c *Client) Parameters(ctx context.Context) (chain.Parameters, error) {
	head, err := c.Head(ctx)
	if err != nil {
		return chain.Parameters{}, err
	}
	return c.parametersAt(ctx, head.Hash)
}

func (c *Client) parametersAt(ctx context.Context, at string) (p chain.Parameters, err error) {
	p.WeightsRateLimit, err = setting(ctx, c, "WeightsSetRateLimit", at, c.conf.Defaults.WeightsRateLimit, (*scale).u64)
	if err == nil {
		p.ImmunityPeriod, err = setting(ctx, c, "ImmunityPeriod", at, c.conf.Defaults.ImmunityPeriod, (*scale).u16)
	}
	if err != nil {
		return chain.Parameters{}, err
	}
	return p, nil
}

// setting reads one setting of the subnet; normal is the runtime's default, 0 if it was not configured.
func setting[N uint16 | uint64](ctx context.Context, c *Client, item, at string, normal int64, read func(*scale) N) (int64, error) {
	b, err := c.value(ctx, storageKey(subtensor, item, u16(c.conf.Netuid)), at)
	switch {
	case err != nil:
		return 0, err
	case b == nil && normal <= 0:
		return 0, BadConfig.With(fault.Str("default_is_missing", item))
	case b == nil:
		return normal, nil
	}
	n, err := decode(b, read)
	if err == nil && uint64(n) > math.MaxInt64 {
		err = errCount
	}
	if err != nil {
		return 0, odd(item, err)
	}
	return int64(n), nil
}
