// Package publish writes a publication: whole files only, each line of them a leaf of one log.
//
// Invariants:
//   - A file has its name when it is on disk as a whole; what was published is never changed.
//   - Leaves follow the files that they name, and the pointer follows the leaves.
//   - Whatever was cut off is done again with the same bytes: the folder does not tell how often its writer was killed.
//
// Specification: docs/spec/publication.md.
package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"assay/conductor/publication"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/sign"
	"assay/run/crash"
	"assay/tlog"
	"assay/tlog/posix"
)

// The refusals of this room.
var (
	Differs  = fault.NewCode("publish.differs", fault.Conflict, "a file is published with other bytes: nothing that was published is changed")
	OtherLog = fault.NewCode("publish.other_log", fault.Conflict, "the log holds something else than this publication appends")
	OtherKey = fault.NewCode("publish.other_key", fault.Conflict, "the folder is published under another owner's key")
)

// Dir is a publication that is being written. It is not safe for concurrent use.
type Dir struct {
	dir, stage string
	log        *posix.Log
	key        tlog.VerifierKey
}

// Open opens the publication in a folder, or begins it. stage is a folder of its own on the same disk, where files are
// written before they get their names; what lies there is removed.
func Open(dir, stage string, owner sign.Signer, origin string) (*Dir, error) {
	key, err := tlog.NewVerifierKey(origin, owner.Public())
	if err != nil {
		return nil, fmt.Errorf("naming the owner's key: %w", err)
	}
	if err := errors.Join(os.RemoveAll(stage), os.MkdirAll(stage, 0o700), os.MkdirAll(dir, 0o755)); err != nil {
		return nil, fmt.Errorf("opening the publication: %w", err)
	}
	d := &Dir{dir: dir, stage: stage, key: key}
	if err := d.place(publication.KeyFile, []byte(key.String()+"\n")); err != nil {
		if fault.Of(err) == Differs {
			err = OtherKey.With(fault.Str("dir", dir))
		}
		return nil, err
	}
	if d.log, err = posix.Open(filepath.Join(dir, publication.LogDir), owner, origin, posix.Options{Hook: crash.Point}); err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	return d, nil
}

// Close lets the log go.
func (d *Dir) Close() error { return d.log.Close() }

// Key returns the verifier key of the publication.
func (d *Dir) Key() tlog.VerifierKey { return d.key }

// Size returns the number of leaves of the log.
func (d *Dir) Size() int64 { return d.log.Size() }

// FS returns the folder for reading.
func (d *Dir) FS() fs.FS { return os.DirFS(d.dir) }

// place gives a file its name once all of it is on disk. The same file again changes nothing, another one is Differs.
func (d *Dir) place(name string, text []byte) error {
	path := filepath.Join(d.dir, filepath.FromSlash(name))
	switch old, err := os.ReadFile(path); {
	case err == nil && bytes.Equal(old, text):
		return nil
	case err == nil:
		return Differs.With(fault.Str("file", name))
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("publishing %s: %w", name, err)
	}
	return d.replace(path, text)
}

// replace writes a file beside its place and renames it there.
func (d *Dir) replace(path string, text []byte) error {
	crash.Point("publish/write")
	if err := d.makeDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("publishing: %w", err)
	}
	temp := filepath.Join(d.stage, "file")
	if err := writeSynced(temp, text); err != nil {
		return fmt.Errorf("publishing: %w", errors.Join(err, os.Remove(temp)))
	}
	crash.Point("publish/rename")
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("publishing: %w", err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("publishing: %w", err)
	}
	crash.Point("publish/renamed")
	return nil
}

// makeDir makes a folder below the publication, and its name durable.
func (d *Dir) makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for at := filepath.Dir(dir); len(at) >= len(d.dir); at = filepath.Dir(at) {
		if err := syncDir(at); err != nil {
			return err
		}
		if at == d.dir {
			break
		}
	}
	return nil
}

func writeSynced(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Point moves the pointer to the newest window.
func (d *Dir) Point(window int64) error {
	text, err := canon.Marshal(publication.Latest{Window: window})
	if err != nil {
		return err
	}
	path := filepath.Join(d.dir, publication.LatestFile)
	text = append(text, '\n')
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return d.replace(path, text)
}

// Batch is what is published together: its leaves come under one checkpoint.
type Batch struct {
	d      *Dir
	leaves [][]byte
}

// Batch begins one.
func (d *Dir) Batch() *Batch { return &Batch{d: d} }

// File publishes a file of the given lines.
func (b *Batch) File(name string, lines ...[]byte) error {
	var text []byte
	for i, l := range lines {
		text = append(append(text, l...), '\n')
		b.leaves = append(b.leaves, publication.Leaf(nil, name, i+1, l))
	}
	return b.d.place(name, text)
}

// Numbered publishes lines in the numbered files of a folder and returns how many there were. Lines must not hold a line
// end; each may be overwritten when the next is asked for.
func (b *Batch) Numbered(dir string, lines iter.Seq2[[]byte, error]) (n int, err error) {
	var text []byte
	flush := func() error {
		if len(text) == 0 {
			return nil
		}
		err := b.d.place(publication.Numbered(dir, n-1), text)
		text = text[:0]
		return err
	}
	for line, err := range lines {
		if err != nil {
			return n, err
		}
		b.leaves = append(b.leaves, publication.Leaf(nil, publication.Numbered(dir, n), n%publication.Chunk+1, line))
		text = append(append(text, line...), '\n')
		if n++; n%publication.Chunk == 0 {
			if err := flush(); err != nil {
				return n, err
			}
		}
	}
	return n, flush()
}

// Leaves returns how many leaves the batch has.
func (b *Batch) Leaves() int64 { return int64(len(b.leaves)) }

// Append appends the batch to the log, which must hold base leaves before it. A batch that is there already changes
// nothing; a log that holds something else is OtherLog.
func (b *Batch) Append(ctx context.Context, base int64) error {
	switch size := b.d.log.Size(); size {
	case base:
		if _, err := b.d.log.AppendAll(ctx, b.leaves); err != nil {
			return fmt.Errorf("appending to the log: %w", err)
		}
		return nil
	case base + b.Leaves():
		return b.same(base)
	default:
		return OtherLog.With(fault.Int("leaves", size), fault.Int("expected", base))
	}
}

// same checks that the log holds the batch at base.
func (b *Batch) same(base int64) error {
	r, err := tlog.ReaderAt(b.d.log.FS(), b.d.log.Checkpoint())
	if err != nil {
		return fmt.Errorf("reading the log: %w", err)
	}
	for _, i := range []int64{0, b.Leaves() - 1} {
		leaf, err := r.Entry(base + i)
		if err != nil {
			return fmt.Errorf("reading the log: %w", err)
		}
		if !bytes.Equal(leaf, b.leaves[i]) {
			return OtherLog.With(fault.Int("leaf", base+i))
		}
	}
	return nil
}
