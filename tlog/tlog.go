// Package tlog keeps a list that can only grow honest: whoever holds one signed checkpoint can check every entry, and its place.
//
// Invariants:
//   - The tree is RFC 6962's: leaves and inner nodes are hashed under different prefixes, and no leaf is ever repeated to fill a level.
//   - Size, root and origin come from a checkpoint that a pinned key signed. Only Open makes a Signed, and no proof is checked
//     against anything else; the zero Signed is refused.
//   - What this package reads has one spelling: a checkpoint, key, proof, bundle or path that says the same in other bytes is refused.
//   - Check hands out an entry only after the signed root vouches for it.
//
// Specification: docs/spec/log.md.
package tlog

import (
	"crypto/sha256"
	"math/bits"

	sumdb "golang.org/x/mod/sumdb/tlog"

	"assay/core/fault"
)

const (
	// TileWidth is how many hashes a full tile and how many entries a full bundle hold.
	TileWidth = 1 << tileHeight
	// MaxLeaf is the longest leaf in bytes.
	MaxLeaf = 1<<16 - 1
	// HashSize is the length of a hash in bytes.
	HashSize = sumdb.HashSize

	tileHeight = 8
)

// Hash is a SHA-256 hash of a leaf, a node or a tree. It prints as base64.
type Hash = sumdb.Hash

// The refusals of this room.
var (
	BadKey        = fault.NewCode("tlog.bad_key", fault.Invalid, "a verifier key is name+hash+base64 of an ed25519 key, in its only spelling")
	BadCheckpoint = fault.NewCode("tlog.bad_checkpoint", fault.Invalid, "not a checkpoint: origin, size and root in their only spelling, then signatures")
	TooManyLines  = fault.NewCode("tlog.too_many_lines", fault.TooLarge, "the checkpoint has more bytes or lines than are looked at")
	NotSigned     = fault.NewCode("tlog.not_signed", fault.Unauthenticated, "the checkpoint is not signed by the pinned key")
	OtherLog      = fault.NewCode("tlog.other_log", fault.Unauthenticated, "the checkpoint is another log's")
	NoCheckpoint  = fault.NewCode("tlog.no_checkpoint", fault.Unauthenticated, "nothing is proven without a signed checkpoint")
	BadProof      = fault.NewCode("tlog.bad_proof", fault.Invalid, "not a proof in its only spelling")
	ProofFails    = fault.NewCode("tlog.proof_fails", fault.Unauthenticated, "the proof does not lead to the signed root")
	LeafTooLarge  = fault.NewCode("tlog.leaf_too_large", fault.TooLarge, "a leaf is at most 65535 bytes")
	BadBundle     = fault.NewCode("tlog.bad_bundle", fault.Invalid, "not a bundle of as many entries as its name says")
	BadPath       = fault.NewCode("tlog.bad_path", fault.Invalid, "not the path of a tile or a bundle")
	NoEntry       = fault.NewCode("tlog.no_entry", fault.NotFound, "the log has no such entry or size")
	Damaged       = fault.NewCode("tlog.damaged", fault.Unauthenticated, "a file of the log is not what the checkpoint signs")
	Foreign       = fault.NewCode("tlog.foreign_file", fault.Invalid, "a file in the log's folder belongs to nothing")
)

// LeafHash returns the hash of a leaf's data.
func LeafHash(data []byte) Hash {
	return sumdb.RecordHash(data)
}

// EmptyRoot is the root of the tree without leaves.
func EmptyRoot() Hash { return sha256.Sum256(nil) }

// RootOf returns the root of the tree over the leaves' hashes.
func RootOf(leaves []Hash) Hash {
	var t Tree
	for _, h := range leaves {
		t.Add(h)
	}
	return t.Root()
}

// Tree is a growing tree that remembers only what its root needs. The zero Tree is empty.
type Tree struct {
	size int64
	edge []Hash // roots of the perfect subtrees, the largest first
}

// Add appends a leaf by its hash.
func (t *Tree) Add(leaf Hash) {
	h := leaf
	for n := t.size; n&1 == 1; n >>= 1 {
		last := len(t.edge) - 1
		h = sumdb.NodeHash(t.edge[last], h)
		t.edge = t.edge[:last]
	}
	t.edge = append(t.edge, h)
	t.size++
}

// Size returns the number of leaves.
func (t *Tree) Size() int64 { return t.size }

// Root returns the root of the tree as it stands.
func (t *Tree) Root() Hash {
	if len(t.edge) == 0 {
		return EmptyRoot()
	}
	h := t.edge[len(t.edge)-1]
	for i := len(t.edge) - 2; i >= 0; i-- {
		h = sumdb.NodeHash(t.edge[i], h)
	}
	return h
}

// perfect returns the root of the subtree over a number of hashes that is a power of two, given as their bytes.
func perfect(hashes []byte) Hash {
	if len(hashes) == HashSize {
		return Hash(hashes)
	}
	var work [TileWidth]Hash
	n := len(hashes) / HashSize / 2
	for i := range n {
		work[i] = sumdb.NodeHash(Hash(hashes[2*i*HashSize:]), Hash(hashes[(2*i+1)*HashSize:]))
	}
	for ; n > 1; n /= 2 {
		for i := range n / 2 {
			work[i] = sumdb.NodeHash(work[2*i], work[2*i+1])
		}
	}
	return work[0]
}

// foldEdge returns the root of a tree from its rightmost tiles, from level 0 upward. A level's tile is empty where the level
// has no partial tile.
func foldEdge(edge [][]byte) Hash {
	root, some := Hash{}, false
	for _, tile := range edge {
		for n := len(tile) / HashSize; n > 0; n &= n - 1 {
			width := 1 << bits.TrailingZeros(uint(n))
			node := perfect(tile[(n-width)*HashSize : n*HashSize])
			if some {
				node = sumdb.NodeHash(node, root)
			}
			root, some = node, true
		}
	}
	if !some {
		return EmptyRoot()
	}
	return root
}
