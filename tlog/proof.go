package tlog

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strconv"

	sumdb "golang.org/x/mod/sumdb/tlog"

	"assay/core/fault"
)

// CheckInclusion checks that the log of a signed checkpoint holds a leaf at an index.
func CheckInclusion(s Signed, index int64, leaf []byte, hashes []Hash) error {
	if err := s.check(); err != nil {
		return err
	}
	if index < 0 || index >= s.cp.Size {
		return NoEntry.With(fault.Int("index", index), fault.Int("size", s.cp.Size))
	}
	if err := sumdb.CheckRecord(hashes, s.cp.Size, s.cp.Root, index, LeafHash(leaf)); err != nil {
		return ProofFails.Because(err).With(fault.Int("index", index), fault.Int("size", s.cp.Size))
	}
	return nil
}

// CheckConsistency checks that the newer of two signed checkpoints of one log only adds leaves to the older one.
func CheckConsistency(older, newer Signed, hashes []Hash) error {
	if err := errors.Join(older.check(), newer.check()); err != nil {
		return err
	}
	a, b := older.cp, newer.cp
	if a.Origin != b.Origin {
		return OtherLog.With(fault.Str("origin", a.Origin), fault.Str("pinned", b.Origin))
	}
	if a.Size > b.Size {
		return NoEntry.With(fault.Int("size", b.Size), fault.Int("older", a.Size))
	}
	fails := ProofFails.With(fault.Int("older", a.Size), fault.Int("newer", b.Size))
	if a.Size == 0 || a.Size == b.Size {
		if len(hashes) > 0 || a.Size > 0 && a.Root != b.Root {
			return fails
		}
		return nil
	}
	if err := sumdb.CheckTree(hashes, b.Size, b.Root, a.Size, a.Root); err != nil {
		return fails.Because(err)
	}
	return nil
}

// proveConsistency returns the hashes that CheckConsistency takes for two sizes.
func proveConsistency(older, newer int64, r sumdb.HashReader) ([]Hash, error) {
	if older < 0 || older > newer {
		return nil, NoEntry.With(fault.Int("size", newer), fault.Int("older", older))
	}
	if older == 0 || older == newer {
		return nil, nil
	}
	return sumdb.ProveTree(newer, older, r)
}

// Proof is a leaf with all that shows it is in a log: it can be checked away from the log, with the log's key alone. Its text is C2SP's
// tlog-proof, with the leaf as the extra data:
//
//	c2sp.org/tlog-proof@v1
//	extra <leaf in base64>
//	index 7
//	<hashes in base64, a line each, from the leaf upward>
//	<empty line>
//	<the checkpoint as it was signed>
type Proof struct {
	Index      int64
	Leaf       []byte
	Hashes     []Hash
	Checkpoint []byte
}

const (
	proofHead  = "c2sp.org/tlog-proof@v1\n"
	maxHashes  = 63
	maxProof   = defaultBytes + MaxLeaf*4/3 + 8 + maxHashes*48 + 128
	extraWord  = "extra "
	indexWord  = "index "
	olderWord  = "older "
	newerWord  = "newer "
	growthHead = "assay/tlog-growth@v1\n"
)

// Marshal returns the proof's text.
func (p Proof) Marshal() []byte {
	out := []byte(proofHead)
	if len(p.Leaf) > 0 {
		out = append(append(out, extraWord...), base64.StdEncoding.EncodeToString(p.Leaf)...)
		out = append(out, '\n')
	}
	out = appendNumber(out, indexWord, p.Index)
	out = appendHashes(out, p.Hashes)
	return append(append(out, '\n'), p.Checkpoint...)
}

func appendNumber(out []byte, word string, n int64) []byte {
	return append(strconv.AppendInt(append(out, word...), n, 10), '\n')
}

func appendHashes(out []byte, hashes []Hash) []byte {
	for _, h := range hashes {
		out = append(base64.StdEncoding.AppendEncode(out, h[:]), '\n')
	}
	return out
}

// ParseProof reads what Marshal writes, and nothing else. It verifies nothing: see Check.
func ParseProof(text []byte) (Proof, error) {
	if len(text) > maxProof {
		return Proof{}, BadProof.With(fault.Int("bytes", int64(len(text))), fault.Int("limit", maxProof))
	}
	var p Proof
	rest, ok := bytes.CutPrefix(text, []byte(proofHead))
	if !ok {
		return Proof{}, BadProof.Because(errors.New("its first line is another"))
	}
	if encoded, more, ok := cutWord(rest, extraWord); ok {
		leaf, err := base64.StdEncoding.DecodeString(string(encoded))
		if err != nil || len(leaf) > MaxLeaf {
			return Proof{}, BadProof.Because(errors.New("the leaf is not base64 of at most 65535 bytes"))
		}
		p.Leaf, rest = leaf, more
	}
	var err error
	if p.Index, rest, err = cutNumber(rest, indexWord); err != nil {
		return Proof{}, err
	}
	if p.Hashes, rest, err = cutHashes(rest); err != nil {
		return Proof{}, err
	}
	if len(rest) == 0 || rest[0] != '\n' {
		return Proof{}, NoCheckpoint.With()
	}
	if p.Checkpoint = rest[1:]; len(p.Checkpoint) == 0 {
		return Proof{}, NoCheckpoint.With()
	}
	if !bytes.Equal(p.Marshal(), text) {
		return Proof{}, BadProof.Because(errors.New("it has a second spelling"))
	}
	return p, nil
}

// Check verifies the proof's own checkpoint under the pinned key and the leaf under that checkpoint.
func (p Proof) Check(v VerifierKey, l Limits) (Signed, error) {
	s, err := Open(p.Checkpoint, v, l)
	if err != nil {
		return Signed{}, err
	}
	return s, CheckInclusion(s, p.Index, p.Leaf, p.Hashes)
}

// cutWord returns what follows a word in the first line, and the lines behind it.
func cutWord(text []byte, word string) (value, rest []byte, ok bool) {
	line, rest, ended := bytes.Cut(text, []byte("\n"))
	value, ok = bytes.CutPrefix(line, []byte(word))
	return value, rest, ok && ended
}

func cutNumber(text []byte, word string) (int64, []byte, error) {
	value, rest, ok := cutWord(text, word)
	n, err := strconv.ParseInt(string(value), 10, 64)
	if !ok || err != nil || n < 0 {
		return 0, nil, BadProof.Because(errors.New("no line with a number after " + word))
	}
	return n, rest, nil
}

// cutHashes takes the lines of hashes up to an empty line or the end.
func cutHashes(text []byte) (hashes []Hash, rest []byte, err error) {
	for len(text) > 0 && text[0] != '\n' {
		line, more, ended := cutWord(text, "")
		raw, err := base64.StdEncoding.DecodeString(string(line))
		if !ended || err != nil || len(raw) != HashSize || len(hashes) == maxHashes {
			return nil, nil, BadProof.Because(errors.New("a line is not a hash, or there are more than 63"))
		}
		hashes, text = append(hashes, Hash(raw)), more
	}
	return hashes, text, nil
}

// Growth is the text of a consistency proof between two sizes of one log. The checkpoints of both travel beside it:
//
//	assay/tlog-growth@v1
//	older 7
//	newer 12
//	<hashes in base64, a line each>
type Growth struct {
	Older, Newer int64
	Hashes       []Hash
}

// Marshal returns the text.
func (g Growth) Marshal() []byte {
	out := appendNumber([]byte(growthHead), olderWord, g.Older)
	return appendHashes(appendNumber(out, newerWord, g.Newer), g.Hashes)
}

// ParseGrowth reads what Marshal writes, and nothing else.
func ParseGrowth(text []byte) (g Growth, err error) {
	rest, ok := bytes.CutPrefix(text, []byte(growthHead))
	if !ok || len(text) > maxProof {
		return Growth{}, BadProof.Because(errors.New("its first line is another, or it is too long"))
	}
	if g.Older, rest, err = cutNumber(rest, olderWord); err != nil {
		return Growth{}, err
	}
	if g.Newer, rest, err = cutNumber(rest, newerWord); err != nil {
		return Growth{}, err
	}
	if g.Hashes, _, err = cutHashes(rest); err != nil {
		return Growth{}, err
	}
	if !bytes.Equal(g.Marshal(), text) {
		return Growth{}, BadProof.Because(errors.New("it has a second spelling"))
	}
	return g, nil
}

// Check checks the proof between two signed checkpoints, which must be of the sizes it names.
func (g Growth) Check(older, newer Signed) error {
	if g.Older != older.cp.Size || g.Newer != newer.cp.Size {
		return ProofFails.With(fault.Int("older", g.Older), fault.Int("newer", g.Newer))
	}
	return CheckConsistency(older, newer, g.Hashes)
}
