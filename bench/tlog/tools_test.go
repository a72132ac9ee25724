package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"filippo.io/torchwood"
	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"
	sumdb "golang.org/x/mod/sumdb/tlog"

	"assay/core/sign"
	"assay/tlog"
	"assay/tlog/posix"
)

// sizes of checkpoints: partial tiles that stay, that are replaced, and full ones.
var sizes = []int{1, 200, 256, 300, 512, 1000, 70_000}

func leaf(i int) []byte { return fmt.Appendf(nil, "windows/7/%06d.jsonl %d", i/1000, i%1000+1) }

// ours writes a log of each of the sizes and returns its folder and key.
func ours(t *testing.T, sizes []int) (dir string, v tlog.VerifierKey) {
	t.Helper()
	dir = t.TempDir()
	s := sign.NewEd25519(seed)
	l, err := posix.Open(dir, s, origin, posix.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, size := range sizes {
		var leaves [][]byte
		for ; at < size; at++ {
			leaves = append(leaves, leaf(at))
		}
		if _, err := l.AppendAll(t.Context(), leaves); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	v, err = tlog.NewVerifierKey(origin, s.Public())
	if err != nil {
		t.Fatal(err)
	}
	return dir, v
}

func bundleHashes(bundle []byte) (out [][]byte, err error) {
	for len(bundle) > 0 {
		entry, rest, err := torchwood.ReadTileEntry(bundle)
		if err != nil {
			return nil, err
		}
		out, bundle = append(out, rfc6962.DefaultHasher.HashLeaf(entry)), rest
	}
	return out, nil
}

func TestTesserasFsckFindsOurLogsWhole(t *testing.T) {
	for n := range sizes {
		dir, v := ours(t, sizes[:n+1])
		verifier, err := note.NewVerifier(v.String())
		if err != nil {
			t.Fatal(err)
		}
		f := fsck.New(origin, verifier, client.FileFetcher{Root: dir}, bundleHashes, fsck.Opts{N: 2})
		if err := f.Check(t.Context()); err != nil {
			t.Errorf("size %d: %v", sizes[n], err)
		}
	}
}

func TestTesserasClientProvesOurEntries(t *testing.T) {
	dir, v := ours(t, sizes)
	size := sizes[len(sizes)-1]
	files := client.FileFetcher{Root: dir}
	builder, err := client.NewProofBuilder(t.Context(), uint64(size), files.ReadTile)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(dir + "/checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	s, err := tlog.Open(text, v, tlog.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 255, 256, 65_535, 65_536, size - 1} {
		path, err := builder.InclusionProof(t.Context(), uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		var hashes []tlog.Hash
		for _, h := range path {
			hashes = append(hashes, tlog.Hash(h))
		}
		if err := tlog.CheckInclusion(s, int64(i), leaf(i), hashes); err != nil {
			t.Errorf("entry %d: %v", i, err)
		}
	}
}

func TestTorchwoodReadsOurLogsOverHTTP(t *testing.T) {
	dir, v := ours(t, sizes)
	server := httptest.NewServer(http.FileServerFS(os.DirFS(dir)))
	defer server.Close()
	tiles, err := torchwood.NewTileFetcher(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	text, err := tiles.ReadEndpoint(t.Context(), "checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(v.String())
	if err != nil {
		t.Fatal(err)
	}
	n, err := note.Open(text, note.VerifierList(verifier))
	if err != nil {
		t.Fatal(err)
	}
	c, err := torchwood.ParseCheckpoint(n.Text)
	if err != nil {
		t.Fatal(err)
	}
	log, err := torchwood.NewClient(tiles)
	if err != nil {
		t.Fatal(err)
	}
	tree := sumdb.Tree{N: c.N, Hash: c.Hash}
	next := 0
	for i, entry := range log.Entries(t.Context(), tree, 0) {
		if i != int64(next) || string(entry) != string(leaf(next)) {
			t.Fatalf("entry %d is %q", i, entry)
		}
		next++
	}
	// A client of this kind leaves the entries of the last partial bundle for later.
	if err := log.Err(); err != nil || next < sizes[len(sizes)-1]-255 {
		t.Errorf("%d entries, %v", next, err)
	}
	entry, _, err := log.Entry(t.Context(), tree, tree.N-1)
	if err != nil || string(entry) != string(leaf(int(tree.N-1))) {
		t.Errorf("the last entry: %q, %v", entry, err)
	}
}

func TestWeReadTesserasLogs(t *testing.T) {
	dir := t.TempDir()
	add, stop, err := published.open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := add(context.Background(), leaf(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	v, err := tlog.NewVerifierKey(origin, sign.NewEd25519(seed).Public())
	if err != nil {
		t.Fatal(err)
	}
	r, err := tlog.OpenReader(os.DirFS(dir), v, tlog.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if entry, err := r.Entry(int64(i)); err != nil || string(entry) != string(leaf(i)) {
			t.Errorf("entry %d: %q, %v", i, entry, err)
		}
	}
	// Tessera keeps its state beside the log; a folder to publish is without it.
	var d *tlog.Damage
	if _, err := tlog.Check(os.DirFS(dir), v, tlog.CheckOptions{}); !errors.As(err, &d) {
		t.Errorf("Tessera's state was taken for a part of the log: %v", err)
	}
	if err := os.RemoveAll(dir + "/.state"); err != nil {
		t.Fatal(err)
	}
	if _, err := tlog.Check(os.DirFS(dir), v, tlog.CheckOptions{}); err != nil {
		t.Error(err)
	}
}
