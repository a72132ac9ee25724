package rpc

import (
	"bytes"
	"context"

	"assay/chain"
	"assay/core/ss58"
)

// The most that the chain takes into one commitment.
const (
	maxFields    = 16
	maxTimelock  = 1024
	maxBigRaw    = 512
	firstDigest  = 130 // field kinds: 0 is none, 1 to 129 a text of 0 to 128 bytes, 130 to 133 a digest of 32 bytes
	lastDigest   = 133
	timelock     = 134 // a list of bytes, and the round that opens it
	resetBonds   = 135
	bigRaw       = 136 // a list of bytes
	lastRaw      = chain.MaxSignal + 1
	digestLength = 32
)

// commitment is a value of CommitmentOf, without whose it is.
type commitment struct {
	block  uint32
	signal string // "" where it is anything but one text that could be a signal
}

// readCommitment reads a value of CommitmentOf. A kind of field that is not known ends the reading: a runtime may add some, and
// nobody's odd commitment may hide everybody's.
func readCommitment(s *scale) (c commitment) {
	s.u64() // the deposit
	c.block = s.u32()
	n := s.count(maxFields)
	for i := range n {
		kind := s.u8()
		switch {
		case kind == 0 || kind == resetBonds:
		case kind <= lastRaw:
			text := string(s.bytes(int(kind) - 1))
			if i == 0 && n == 1 && chain.CheckSignal(text) == nil {
				c.signal = text
			}
		case kind >= firstDigest && kind <= lastDigest:
			s.bytes(digestLength)
		case kind == timelock:
			s.bytes(s.count(maxTimelock))
			s.u64()
		case kind == bigRaw:
			s.bytes(s.count(maxBigRaw))
		default:
			s.rest = nil
			return c
		}
	}
	return c
}

// Commitments returns everybody's latest signal, at one finalized block.
func (c *Client) Commitments(ctx context.Context) ([]chain.Commitment, error) {
	head, err := c.Head(ctx)
	if err != nil {
		return nil, err
	}
	prefix := storageKey(commitments, "CommitmentOf", u16(c.conf.Netuid))
	keys, err := c.keys(ctx, prefix, 8+32, head.Hash)
	if err != nil {
		return nil, err
	}
	values, err := c.values(ctx, keys, head.Hash)
	if err != nil {
		return nil, err
	}
	var list []chain.Commitment
	for i, k := range keys {
		who := k[len(prefix)+8:]
		if values[i] == nil || !bytes.Equal(k[len(prefix):], twox64Concat(who)) {
			return nil, odd("CommitmentOf", errShape)
		}
		got, err := decode(values[i], readCommitment)
		if err == nil && int64(got.block) > head.Number {
			err = errCount
		}
		if err != nil {
			return nil, odd("CommitmentOf", err)
		}
		hotkey := ss58.Encode([32]byte(who))
		list = append(list, chain.Commitment{Hotkey: hotkey, Block: int64(got.block), Signal: got.signal})
	}
	chain.Order(list)
	return list, nil
}

// committed returns what a hotkey has committed at a block; found is false where it has not.
func (c *Client) committed(ctx context.Context, who [32]byte, at string) (got commitment, found bool, err error) {
	b, err := c.value(ctx, storageKey(commitments, "CommitmentOf", u16(c.conf.Netuid), twox64Concat(who[:])), at)
	if err != nil || b == nil {
		return commitment{}, false, err
	}
	got, err = decode(b, readCommitment)
	if err != nil {
		return commitment{}, false, odd("CommitmentOf", err)
	}
	return got, true, nil
}
