package tlog

import (
	"errors"
	"io"
	"io/fs"

	sumdb "golang.org/x/mod/sumdb/tlog"

	"assay/core/fault"
)

// Damage says which file of a log is not what its checkpoint signs, and where. Its code is Damaged, BadBundle, Foreign or what Open
// refused a checkpoint with.
type Damage struct {
	File   string // path inside the log's folder
	Entry  int64  // index of the first wrong entry, or of the first entry below a wrong hash; -1 where it concerns none
	Offset int64  // first wrong byte in the file, or the beginning of the wrong entry; -1 where it is unknown
	cause  *fault.Error
}

// damage reports a file. A cause that is no refusal of ours is kept as the private cause of Damaged.
func damage(file string, entry, offset int64, cause error) *Damage {
	var e *fault.Error
	if !errors.As(cause, &e) {
		e = Damaged.Because(cause)
	}
	d := &Damage{File: file, Entry: entry, Offset: offset}
	fields := []fault.Field{fault.Str("file", file)}
	if entry >= 0 {
		fields = append(fields, fault.Int("entry", entry))
	}
	if offset >= 0 {
		fields = append(fields, fault.Int("offset", offset))
	}
	d.cause = e.With(fields...)
	return d
}

// Error returns the refusal with the place.
func (d *Damage) Error() string { return d.cause.Error() }

// Unwrap returns the refusal.
func (d *Damage) Unwrap() error { return d.cause }

// Reader reads single entries and proofs from a log's folder and opens only the tiles that they need. Everything it returns was
// checked against the checkpoint. It may be used by many goroutines where the file system may.
type Reader struct {
	fsys   fs.FS
	signed Signed
}

// OpenReader reads and verifies the checkpoint of a log's folder.
func OpenReader(fsys fs.FS, v VerifierKey, l Limits) (*Reader, error) {
	s, err := readCheckpoint(fsys, v, l)
	if err != nil {
		return nil, err
	}
	return &Reader{fsys: fsys, signed: s}, nil
}

// ReaderAt returns a reader of a log's folder as of a checkpoint that was opened before; the folder may have grown since.
func ReaderAt(fsys fs.FS, s Signed) (*Reader, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return &Reader{fsys: fsys, signed: s}, nil
}

func readCheckpoint(fsys fs.FS, v VerifierKey, l Limits) (Signed, error) {
	l = l.filled()
	text, err := readFile(fsys, CheckpointPath, int64(l.Bytes)+1, nil)
	if errors.Is(err, fs.ErrNotExist) {
		err = NoCheckpoint.Because(err)
	}
	if err != nil {
		return Signed{}, damage(CheckpointPath, -1, -1, err)
	}
	s, err := Open(text, v, l)
	if err != nil {
		return Signed{}, damage(CheckpointPath, -1, -1, err)
	}
	return s, nil
}

// readFile appends at most limit bytes of a regular file to dst.
func readFile(fsys fs.FS, name string, limit int64, dst []byte) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return dst, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return dst, err
	}
	if !info.Mode().IsRegular() {
		return dst, errors.New("not a regular file")
	}
	want := min(info.Size(), limit)
	start := len(dst)
	if int64(cap(dst)-start) < want {
		dst = append(make([]byte, 0, int64(start)+want), dst...)
	}
	n, err := io.ReadFull(f, dst[start:int64(start)+want])
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) { // it shrank
		err = nil
	}
	return dst[:start+n], err
}

// Signed returns the checkpoint that the reader stands on.
func (r *Reader) Signed() Signed { return r.signed }

// Entry returns the entry at an index.
func (r *Reader) Entry(index int64) ([]byte, error) {
	entry, _, err := r.entry(index)
	return entry, err
}

// Proof returns the entry at an index with all that shows it is in the log.
func (r *Reader) Proof(index int64) (Proof, error) {
	entry, hashes, err := r.entry(index)
	if err != nil {
		return Proof{}, err
	}
	return Proof{Index: index, Leaf: entry, Hashes: hashes, Checkpoint: r.signed.Note()}, nil
}

// Growth returns the proof that the log only added leaves since it had a smaller size.
func (r *Reader) Growth(older int64) (Growth, error) {
	hashes, err := proveConsistency(older, r.signed.cp.Size, r.hashes())
	if err != nil {
		return Growth{}, r.explain(err)
	}
	return Growth{Older: older, Newer: r.signed.cp.Size, Hashes: hashes}, nil
}

func (r *Reader) entry(index int64) ([]byte, []Hash, error) {
	size := r.signed.cp.Size
	if index < 0 || index >= size {
		return nil, nil, NoEntry.With(fault.Int("index", index), fault.Int("size", size))
	}
	hashes, err := sumdb.ProveRecord(size, index, r.hashes())
	if err != nil {
		return nil, nil, r.explain(err)
	}
	n := index / TileWidth
	bundle, file, err := r.read(Tile{Entries, n, WidthIn(Entries, n, size)})
	if err != nil {
		return nil, nil, damage(file, index, -1, err)
	}
	entry, at, ok := entryAt(bundle, int(index%TileWidth))
	if !ok {
		return nil, nil, damage(file, index, int64(at), BadBundle.With())
	}
	if err := CheckInclusion(r.signed, index, entry, hashes); err != nil {
		return nil, nil, damage(file, index, int64(at), err)
	}
	return entry, hashes, nil
}

// entryAt returns the ith entry of a bundle and where it begins.
func entryAt(bundle []byte, i int) (entry []byte, at int, ok bool) {
	rest := bundle
	for range i + 1 {
		at = len(bundle) - len(rest)
		if entry, rest, ok = cutEntry(rest); !ok {
			return nil, at, false
		}
	}
	return entry, at, true
}

// read reads a tile, or the full one that has replaced it since.
func (r *Reader) read(t Tile) (data []byte, file string, err error) {
	file = t.Path()
	data, err = readFile(r.fsys, file, t.limit(), nil)
	if errors.Is(err, fs.ErrNotExist) && t.Width < TileWidth {
		full := Tile{t.Level, t.N, TileWidth}
		if data, err := readFile(r.fsys, full.Path(), full.limit(), nil); err == nil {
			return data, full.Path(), nil
		}
	}
	return data, file, err
}

// limit is one byte more than the longest file of the tile.
func (t Tile) limit() int64 {
	if t.Level == Entries {
		return int64(t.Width)*(2+MaxLeaf) + 1
	}
	return int64(t.Width)*HashSize + 1
}

// hashes returns the tree's hashes, each proven to be in the tree when it is read.
func (r *Reader) hashes() sumdb.HashReader {
	return sumdb.TileHashReader(sumdb.Tree{N: r.signed.cp.Size, Hash: r.signed.cp.Root}, tiles{r})
}

// explain makes a refusal of what x/mod says of tiles that do not fit the root.
func (r *Reader) explain(err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	return Damaged.Because(err)
}

// tiles hands x/mod the tiles of a folder.
type tiles struct{ r *Reader }

func (t tiles) Height() int { return tileHeight }

func (t tiles) ReadTiles(want []sumdb.Tile) ([][]byte, error) {
	out := make([][]byte, len(want))
	for i, w := range want {
		data, file, err := t.r.read(Tile{w.L, w.N, w.W})
		if err == nil && len(data) < w.W*HashSize {
			err = errors.New("the tile is too short")
		}
		if err != nil {
			return nil, damage(file, -1, -1, err)
		}
		out[i] = data[:w.W*HashSize]
	}
	return out, nil
}

func (tiles) SaveTiles([]sumdb.Tile, [][]byte) {}
