package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"golang.org/x/crypto/blake2b"

	"assay/chain"
	"assay/core/fault"
	"assay/core/sign"
)

// Commit makes signal the hotkey's commitment and returns when a finalized block holds it.
func (c *Client) Commit(ctx context.Context, signal string) error {
	if err := chain.CheckSignal(signal); err != nil {
		return err
	}
	head, err := c.writable(ctx)
	if err != nil {
		return err
	}
	who := c.conf.Signer.Public()
	uid, err := c.value(ctx, storageKey(subtensor, "Uids", u16(c.conf.Netuid), blake2x128Concat(who[:])), head.Hash)
	if err != nil {
		return err
	}
	if uid == nil {
		return chain.NotRegistered.With(fault.Str("hotkey", c.who))
	}
	call := append([]byte{c.conf.SetCommitmentCall.Pallet, c.conf.SetCommitmentCall.Index}, u16(c.conf.Netuid)...)
	call = appendCompact(call, 1) // one field: a text, whose kind is its length and one
	call = append(append(call, byte(len(signal)+1)), signal...)
	return c.transact(ctx, head, call, func(ctx context.Context, at chain.Block) (bool, error) {
		got, found, err := c.committed(ctx, who, at.Hash)
		return found && int64(got.block) > head.Number && got.signal == signal, err
	})
}

// SetWeights replaces the hotkey's weights and returns when a finalized block says that they were updated. The chain keeps them
// in parts of 65535 of the largest; those that come to nothing are not sent.
func (c *Client) SetWeights(ctx context.Context, weights []chain.Weight) error {
	if err := chain.CheckWeights(weights); err != nil {
		return err
	}
	if _, err := c.writable(ctx); err != nil {
		return err
	}
	m, err := c.Metagraph(ctx)
	if err != nil {
		return err
	}
	who, ok := m.Find(c.who)
	if !ok {
		return chain.NotRegistered.With(fault.Str("hotkey", c.who))
	}
	if err := chain.CheckUIDs(weights, m); err != nil {
		return err
	}
	last, err := c.lastUpdate(ctx, who.UID, m.Block)
	if err != nil {
		return err
	}
	p, err := c.parametersAt(ctx, m.Block.Hash)
	if err != nil {
		return err
	}
	if last > 0 { // 0 is never
		if err := chain.MayUpdate(last, m.Block.Number, p.WeightsRateLimit); err != nil {
			return err
		}
	}
	uids, parts := scaled(weights)
	call := append([]byte{c.conf.SetWeightsCall.Pallet, c.conf.SetWeightsCall.Index}, u16(c.conf.Netuid)...)
	call = appendU16s(appendU16s(call, uids), parts)
	call = binary.LittleEndian.AppendUint64(call, c.conf.VersionKey)
	return c.transact(ctx, m.Block, call, func(ctx context.Context, at chain.Block) (bool, error) {
		now, err := c.lastUpdate(ctx, who.UID, at)
		return now > m.Block.Number, err
	})
}

// scaled returns shares in parts of 65535 of the largest, by ascending uid.
func scaled(weights []chain.Weight) (uids, parts []uint16) {
	sorted := slices.SortedFunc(slices.Values(weights), func(a, b chain.Weight) int { return a.UID - b.UID })
	largest := 0.0
	for _, w := range sorted {
		largest = max(largest, w.Share)
	}
	for _, w := range sorted {
		if part := uint16(math.Round(w.Share / largest * math.MaxUint16)); part > 0 {
			uids, parts = append(uids, uint16(w.UID)), append(parts, part)
		}
	}
	return uids, parts
}

// lastUpdate returns the block in which a uid last set weights, 0 for never.
func (c *Client) lastUpdate(ctx context.Context, uid int, at chain.Block) (int64, error) {
	b, err := c.value(ctx, storageKey(subtensor, "LastUpdate", u16(c.conf.Netuid)), at.Hash)
	if err != nil || b == nil {
		return 0, err
	}
	blocks, err := decode(b, func(s *scale) []uint64 {
		list := make([]uint64, 0, min(len(s.rest)/8, chain.MaxUID+1))
		for range s.count(chain.MaxUID + 1) {
			list = append(list, s.u64())
		}
		return list
	})
	if err == nil && (uid >= len(blocks) || blocks[uid] > uint64(at.Number)) {
		err = errCount
	}
	if err != nil {
		return 0, odd("LastUpdate", err)
	}
	return int64(blocks[uid]), nil
}

// version is what is read of a runtime's version.
type version struct {
	Spec        uint32 `json:"specVersion"`
	Transaction uint32 `json:"transactionVersion"`
}

// writable returns the head, after it has made sure that we have a key and that the runtime is the one the calls are for.
func (c *Client) writable(ctx context.Context) (chain.Block, error) {
	if err := ctx.Err(); err != nil {
		return chain.Block{}, err
	}
	if c.conf.Signer == nil {
		return chain.Block{}, chain.NotRegistered.With(fault.Str("hotkey", ""))
	}
	head, err := c.Head(ctx)
	if err != nil {
		return chain.Block{}, err
	}
	var v version
	if err := c.read(ctx, "state_getRuntimeVersion", &v, head.Hash); err != nil {
		return chain.Block{}, err
	}
	if v.Spec != c.conf.SpecVersion || v.Transaction != c.conf.TransactionVersion {
		return chain.Block{}, chain.OtherChain.With(fault.Int("spec_version", int64(v.Spec)), fault.Int("wanted", int64(c.conf.SpecVersion)),
			fault.Int("transaction_version", int64(v.Transaction)), fault.Int("wanted", int64(c.conf.TransactionVersion)))
	}
	return head, nil
}

// mortal is how many blocks a transaction stays valid: about 13 minutes, after which one that was not taken in never will be.
const mortal = 64

// extrinsic returns a signed transaction, version 4, as a node takes it:
//
//	length  0x84  0x00 account  0x00 signature  era nonce tip 0x00  call
//
// The signature is over call, era, nonce, tip, 0x00, both versions, the hash of block 0, the hash of the block the era counts
// from, and 0x00; over its BLAKE2b-256 where that is longer than 256 bytes. The two 0x00 say that no hash of the metadata is meant.
func (c *Client) extrinsic(s sign.Signer, call []byte, nonce uint64, from chain.Block) ([]byte, error) {
	born, err := hash32(from.Hash)
	if err != nil {
		return nil, err
	}
	// The low four bits say 64 blocks; the others the place of the first of them in its sixty-four.
	extra := binary.LittleEndian.AppendUint16(nil, uint16(from.Number%mortal)<<4|5)
	extra = appendCompact(extra, nonce)
	extra = append(appendCompact(extra, 0), 0)
	signed := slices.Concat(call, extra)
	signed = binary.LittleEndian.AppendUint32(signed, c.conf.SpecVersion)
	signed = binary.LittleEndian.AppendUint32(signed, c.conf.TransactionVersion)
	signed = append(slices.Concat(signed, c.genesis[:], born[:]), 0)
	if len(signed) > 256 {
		short := blake2b.Sum256(signed)
		signed = short[:]
	}
	sig, err := s.Sign(signed)
	who := s.Public()
	if err == nil && !sign.Verify(who, signed, sig) {
		err = errors.New("its signature does not verify under its own key")
	}
	if err != nil {
		return nil, sign.SignerFailed.Because(err)
	}
	body := slices.Concat([]byte{0x84, 0}, who[:], []byte{0}, sig, extra, call)
	return append(appendCompact(nil, uint64(len(body))), body...), nil
}

// What a node's transaction pool says.
const (
	firstPoolError  = 1000
	lastPoolError   = 1020
	alreadyImported = 1013
	firstRPCError   = -32700 // the call itself is no good: parse, request, method, parameters
	lastRPCError    = -32600
	internalError   = -32603
)

// transact signs and sends a call once, and looks for its effect until it is seen.
func (c *Client) transact(ctx context.Context, head chain.Block, call []byte, seen func(context.Context, chain.Block) (bool, error)) error {
	var nonce uint64
	if err := c.read(ctx, "system_accountNextIndex", &nonce, c.who); err != nil {
		return err
	}
	x, err := c.extrinsic(c.conf.Signer, call, nonce, head)
	if err != nil {
		return err
	}
	const method = "author_submitExtrinsic"
	_, err = c.exchange(ctx, method, []any{inHex(x)})
	var said *rpcError
	switch {
	case err == nil:
	case !errors.As(err, &said):
		if unsent(err) {
			return odd(method, err)
		}
		return chain.Unconfirmed.Because(err)
	case said.Code == alreadyImported:
	case said.Code >= firstPoolError && said.Code <= lastPoolError:
		return chain.Refused.With(fault.Int("rpc_code", said.Code), fault.Str("says", said.Message))
	case said.Code >= firstRPCError && said.Code <= lastRPCError && said.Code != internalError:
		return said.fault(method)
	default:
		return chain.Unconfirmed.Because(said)
	}
	return c.confirm(ctx, seen)
}

// confirm looks for an effect at each new head. A look that fails is no answer: the next may succeed.
func (c *Client) confirm(ctx context.Context, seen func(context.Context, chain.Block) (bool, error)) error {
	limited, cancel := context.WithTimeout(ctx, c.conf.Confirm)
	defer cancel()
	for {
		head, err := c.Head(limited)
		if err == nil {
			var there bool
			if there, err = seen(limited, head); there && err == nil {
				return nil
			}
		}
		if ended := wait(limited, c.conf.Poll); ended != nil {
			return chain.Unconfirmed.Because(errors.Join(ended, err))
		}
	}
}
