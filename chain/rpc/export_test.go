package rpc

import (
	"assay/chain"
	"assay/core/sign"
)

// What the tests' node and vectors need.
var (
	StorageKey   = storageKey
	Twox64Concat = twox64Concat
	Blake2Concat = blake2x128Concat
	U16          = u16
	Quantity     = quantity
	ParseReply   = parseReply
	Scaled       = scaled
)

// AppendCompact and ReadCompact write and read a compact number.
var AppendCompact = appendCompact

func ReadCompact(b []byte, limit uint32) (int, error) {
	return decode(b, func(s *scale) int { return s.count(limit) })
}

// ReadCommitment returns the block and the signal of a value of CommitmentOf.
func ReadCommitment(b []byte) (block uint32, signal string, err error) {
	c, err := decode(b, readCommitment)
	return c.block, c.signal, err
}

// Extrinsic returns a signed transaction.
func (c *Client) Extrinsic(s sign.Signer, call []byte, nonce uint64, from chain.Block) ([]byte, error) {
	return c.extrinsic(s, call, nonce, from)
}
