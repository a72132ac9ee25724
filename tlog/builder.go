package tlog

import (
	"crypto/sha256"
	"errors"
	"slices"

	"assay/core/fault"
)

// Builder computes the files of a growing log. It holds the rightmost tiles and the open bundle: what the next leaves add to. It
// writes nothing: it hands each file to emit, which may keep the bytes.
type Builder struct {
	size   int64
	edge   [][]byte // by level: the hashes of the rightmost tile, fewer than 256
	bundle []byte   // entries of the open bundle
}

// ResumeBuilder continues a log from its files. The signed root vouches for what read returns.
func ResumeBuilder(s Signed, read func(Tile) ([]byte, error)) (*Builder, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	b := &Builder{size: s.cp.Size}
	for level := 0; s.cp.Size>>(tileHeight*level) > 0; level++ {
		t := edgeTile(level, s.cp.Size)
		var tile []byte
		if t.Width > 0 {
			var err error
			if tile, err = read(t); err != nil {
				return nil, damage(t.Path(), -1, -1, err)
			}
			if len(tile) != t.Width*HashSize {
				return nil, damage(t.Path(), -1, int64(min(len(tile), t.Width*HashSize)), errors.New("it has another length"))
			}
		}
		b.edge = append(b.edge, slices.Clone(tile))
	}
	if b.Root() != s.cp.Root {
		return nil, Damaged.Because(errors.New("the rightmost tiles do not lead to the signed root"))
	}
	return b, b.resumeBundle(read)
}

func (b *Builder) resumeBundle(read func(Tile) ([]byte, error)) error {
	t := edgeTile(Entries, b.size)
	if t.Width == 0 {
		return nil
	}
	bundle, err := read(t)
	if err != nil {
		return damage(t.Path(), -1, -1, err)
	}
	b.bundle = slices.Clone(bundle)
	if d := checkBundle(t, b.bundle, b.edge[0]); d != nil {
		return d
	}
	return nil
}

// edgeTile returns the rightmost partial tile of a level. Its width is 0 where the level has none.
func edgeTile(level int, size int64) Tile {
	at := size >> (tileHeight * max(level, 0))
	return Tile{Level: level, N: at >> tileHeight, Width: int(at & (TileWidth - 1))}
}

// checkBundle compares a bundle with the trusted hashes of its leaves, entry by entry.
func checkBundle(t Tile, bundle, hashes []byte) *Damage {
	at := 0
	for i := range t.Width {
		index := t.N*TileWidth + int64(i)
		entry, _, ok := cutEntry(bundle[at:])
		if !ok {
			return damage(t.Path(), index, int64(at), BadBundle.With())
		}
		if hashEntry(bundle[at:at+2+len(entry)]) != Hash(hashes[i*HashSize:]) {
			return damage(t.Path(), index, int64(at), errors.New("the entry's hash is another"))
		}
		at += 2 + len(entry)
	}
	if at < len(bundle) {
		return damage(t.Path(), t.N*TileWidth+int64(t.Width)-1, int64(at), errors.New("bytes follow the last entry"))
	}
	return nil
}

// hashEntry returns the leaf hash of an entry with its length in front. The byte before the data is lent to the leaf's prefix, so that
// nothing is copied.
func hashEntry(framed []byte) Hash {
	lent := framed[1]
	framed[1] = 0
	h := sha256.Sum256(framed[1:])
	framed[1] = lent
	return h
}

// Clone returns a builder that goes on from here on its own.
func (b *Builder) Clone() *Builder {
	c := &Builder{size: b.size, bundle: slices.Clone(b.bundle)}
	for _, tile := range b.edge {
		c.edge = append(c.edge, slices.Clone(tile))
	}
	return c
}

// Size returns the number of leaves.
func (b *Builder) Size() int64 { return b.size }

// Root returns the root of the tree.
func (b *Builder) Root() Hash { return foldEdge(b.edge) }

// Add appends a leaf and emits the full bundle and the full tiles that it completes.
func (b *Builder) Add(leaf []byte, emit func(Tile, []byte)) error {
	bundle, err := AppendEntry(b.bundle, leaf)
	if err != nil {
		return err
	}
	if b.size == maxSize {
		return LeafTooLarge.With(fault.Int("leaves", maxSize))
	}
	n := b.size
	b.bundle, b.size = bundle, b.size+1
	if b.size%TileWidth == 0 {
		emit(Tile{Entries, n >> tileHeight, TileWidth}, b.bundle)
		b.bundle = make([]byte, 0, len(bundle))
	}
	h := LeafHash(leaf)
	for level := 0; ; level++ {
		if level == len(b.edge) {
			b.edge = append(b.edge, nil)
		}
		b.edge[level] = append(b.edge[level], h[:]...)
		if len(b.edge[level]) < TileWidth*HashSize {
			return nil
		}
		n >>= tileHeight
		full := b.edge[level]
		emit(Tile{level, n, TileWidth}, full)
		b.edge[level], h = nil, perfect(full)
	}
}

// Partial emits the partial tiles and the partial bundle that a tree of the present size has and one of the earlier size from has
// not.
func (b *Builder) Partial(from int64, emit func(Tile, []byte)) {
	if t := edgeTile(Entries, b.size); t.Width > 0 && t != edgeTile(Entries, from) {
		emit(t, slices.Clone(b.bundle))
	}
	for level := range b.edge {
		if t := edgeTile(level, b.size); t.Width > 0 && t != edgeTile(level, from) {
			emit(t, slices.Clone(b.edge[level]))
		}
	}
}
