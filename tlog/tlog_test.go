package tlog_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	sumdb "golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"assay/core/fault"
	"assay/core/sign"
	"assay/tlog"
)

const origin = "example.com/assay/log"

var (
	signer   = sign.NewEd25519([32]byte{7})
	attacker = sign.NewEd25519([32]byte{8})
	pinned   = pin(origin, signer)
)

func pin(name string, s sign.Signer) tlog.VerifierKey {
	v, err := tlog.NewVerifierKey(name, s.Public())
	if err != nil {
		panic(err)
	}
	return v
}

func leaf(i int) []byte { return fmt.Appendf(nil, "leaf %d", i) }

func note(c tlog.Checkpoint, s sign.Signer) []byte {
	text, err := c.Sign(s)
	if err != nil {
		panic(err)
	}
	return text
}

func open(t testing.TB, text []byte) tlog.Signed {
	t.Helper()
	s, err := tlog.Open(text, pinned, tlog.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// build makes a log that had a checkpoint at each of the sizes. Partial tiles of all of them are kept.
func build(leaf func(int) []byte, sizes ...int) fstest.MapFS {
	files := fstest.MapFS{}
	put := func(t tlog.Tile, data []byte) { files[t.Path()] = &fstest.MapFile{Data: data} }
	b := new(tlog.Builder)
	for _, size := range sizes {
		from := b.Size()
		for b.Size() < int64(size) {
			if err := b.Add(leaf(int(b.Size())), put); err != nil {
				panic(err)
			}
		}
		b.Partial(from, put)
	}
	c := tlog.Checkpoint{Origin: origin, Size: b.Size(), Root: b.Root()}
	files[tlog.CheckpointPath] = &fstest.MapFile{Data: note(c, signer)}
	return files
}

func hashes(from, to int) (out []tlog.Hash) {
	for i := from; i < to; i++ {
		out = append(out, tlog.LeafHash(leaf(i)))
	}
	return out
}

// The trees of RFC 6962's usual eight leaves, as other implementations know them.
func TestRootsOfKnownTrees(t *testing.T) {
	var leaves []tlog.Hash
	for i, want := range []string{
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
		"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
		"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
		"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
		"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
		"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
		"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
		"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
	} {
		if got := tlog.RootOf(leaves); hex.EncodeToString(got[:]) != want {
			t.Errorf("root of %d leaves is %x", i, got)
		}
		data, _ := hex.DecodeString([]string{"", "00", "10", "2021", "3031", "40414243", "5051525354555657",
			"606162636465666768696a6b6c6d6e6f", ""}[i])
		leaves = append(leaves, tlog.LeafHash(data))
	}
}

func TestFault77_OddLevelsRepeatNothing(t *testing.T) {
	a, b, c := tlog.LeafHash([]byte("A")), tlog.LeafHash([]byte("B")), tlog.LeafHash([]byte("C"))
	seen := map[tlog.Hash]string{sha256.Sum256([]byte("A")): "the bare hash of A"}
	for name, leaves := range map[string][]tlog.Hash{"ABC": {a, b, c}, "ABCC": {a, b, c, c}, "A": {a}, "none": {}} {
		root := tlog.RootOf(leaves)
		if other, ok := seen[root]; ok {
			t.Errorf("%s and %s share a root", name, other)
		}
		seen[root] = name
	}
	// The size is signed, so that even equal roots of two sizes would be two checkpoints.
	s := open(t, note(tlog.Checkpoint{Origin: origin, Size: 3, Root: tlog.RootOf([]tlog.Hash{a, b, c})}, signer))
	if err := tlog.CheckInclusion(s, 3, []byte("C"), []tlog.Hash{c, tlog.RootOf([]tlog.Hash{a, b})}); fault.Of(err) != tlog.NoEntry {
		t.Errorf("a fourth leaf of three: %v", err)
	}
}

func TestProofsAgreeWithAnotherImplementation(t *testing.T) {
	files := build(leaf, 300, 601)
	r, err := tlog.OpenReader(files, pinned, tlog.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	root := r.Signed().Checkpoint().Root
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.Int64Range(0, 600).Draw(t, "index")
		p, err := r.Proof(i)
		if err != nil {
			t.Fatal(err)
		}
		if err := proof.VerifyInclusion(rfc6962.DefaultHasher, uint64(i), 601, rfc6962.DefaultHasher.HashLeaf(leaf(int(i))), slicesOf(p.Hashes), root[:]); err != nil {
			t.Errorf("inclusion of %d: %v", i, err)
		}
		older := rapid.IntRange(1, 601).Draw(t, "older")
		was := tlog.RootOf(hashes(0, older))
		g, err := r.Growth(int64(older))
		if err != nil {
			t.Fatal(err)
		}
		if err := proof.VerifyConsistency(rfc6962.DefaultHasher, uint64(older), 601, slicesOf(g.Hashes), was[:], root[:]); err != nil {
			t.Errorf("growth from %d: %v", older, err)
		}
	})
}

func slicesOf(hashes []tlog.Hash) (out [][]byte) {
	for _, h := range hashes {
		out = append(out, h[:])
	}
	return out
}

// folder hands x/mod's own reader the tiles of a folder.
type folder struct{ fstest.MapFS }

func (folder) Height() int { return 8 }
func (f folder) ReadTiles(tiles []sumdb.Tile) (out [][]byte, err error) {
	for _, t := range tiles {
		// The tools' path has the height in it; C2SP's has not.
		name := "tile/" + t.Path()[len("tile/8/"):]
		data, err := f.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, data)
	}
	return out, nil
}
func (folder) SaveTiles([]sumdb.Tile, [][]byte) {}

func TestTilesAreReadByTheModuleOfGosChecksums(t *testing.T) {
	for _, size := range []int{1, 255, 256, 257, 700, 66_000} {
		files := build(leaf, size)
		tree := sumdb.Tree{N: int64(size), Hash: tlog.RootOf(hashes(0, size))}
		r := sumdb.TileHashReader(tree, folder{files})
		for _, i := range []int64{0, int64(size / 2), int64(size - 1)} {
			p, err := sumdb.ProveRecord(tree.N, i, r)
			if err != nil {
				t.Fatalf("entry %d of %d: %v", i, size, err)
			}
			if err := sumdb.CheckRecord(p, tree.N, tree.Hash, i, sumdb.RecordHash(leaf(int(i)))); err != nil {
				t.Errorf("entry %d of %d: %v", i, size, err)
			}
		}
	}
}

func TestOneEntryOpensFewFiles(t *testing.T) {
	files := build(leaf, 200_000)
	counted := &counter{MapFS: files}
	r, err := tlog.OpenReader(counted, pinned, tlog.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Proof(123_456)
	if err != nil || string(p.Leaf) != string(leaf(123_456)) {
		t.Fatalf("%q, %v", p.Leaf, err)
	}
	if _, err := p.Check(pinned, tlog.Limits{}); err != nil {
		t.Error(err)
	}
	if counted.opened > 8 {
		t.Errorf("%d of %d files were opened", counted.opened, len(files))
	}
	for _, i := range []int64{-1, 200_000} {
		if _, err := r.Entry(i); fault.Of(err) != tlog.NoEntry {
			t.Errorf("entry %d: %v", i, err)
		}
	}
}

func TestAKeyHasOneText(t *testing.T) {
	text := pinned.String()
	v, err := tlog.ParseVerifierKey(text)
	if err != nil || v != pinned || v.Origin() != origin || v.Key() != signer.Public() {
		t.Fatalf("%+v, %v", v, err)
	}
	for name, bad := range map[string]string{
		"none": "", "other id": flipAt(text, len(origin)+1), "upper case": flipCase(text, len(origin)+1, len(origin)+9), "tail": text + "=",
		"other algorithm": origin + "+00000000+" + base64.StdEncoding.EncodeToString(make([]byte, 33)), "blank": " " + text,
		"a key that anybody signs under": smallKey(),
	} {
		if _, err := tlog.ParseVerifierKey(bad); fault.Of(err) != tlog.BadKey {
			t.Errorf("%s: %q: %v", name, bad, err)
		}
	}
	for _, name := range []string{"", "a b", "a+b", "a\nb", "a\x00b", string(make([]byte, 300)), "\xff"} {
		if _, err := tlog.NewVerifierKey(name, signer.Public()); fault.Of(err) != tlog.BadKey {
			t.Errorf("origin %q: %v", name, err)
		}
	}
}
