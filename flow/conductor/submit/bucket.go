package submit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"assay/conductor/submission"
	"assay/core/fault"
	"assay/run"
	"assay/run/crash"
)

// Bucket is a folder whose files are objects. Nothing outside the folder is reached through it, whatever a name or link says.
// An object is written under staging/, which no reader looks at, and takes its name when it is on disk.
type Bucket struct{ root *os.Root }

// staging holds what has no name yet, and a lock for each artifact that is being written.
const staging = "staging"

// OpenBucket opens the bucket in a folder that is there.
func OpenBucket(dir string) (*Bucket, error) {
	info, err := os.Stat(dir) // to open a pipe would wait for somebody to write
	if err != nil {
		return nil, BadBucket.With(fault.Str("path", dir)).Because(err)
	}
	if !info.IsDir() {
		return nil, BadBucket.With(fault.Str("path", dir))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, BadBucket.With(fault.Str("path", dir)).Because(err)
	}
	return &Bucket{root}, nil
}

// Close lets the folder go.
func (b *Bucket) Close() error { return b.root.Close() }

// lock takes the artifact of a name for this process, and throws away what a killed one left unfinished of it.
func (b *Bucket) lock(name string) (unlock func(), err error) {
	if err := b.root.MkdirAll(staging, 0o755); err != nil {
		return nil, err
	}
	f, err := b.root.OpenFile(staging+"/"+name+".lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := run.Lock(f); err != nil {
		if fault.Of(err) == run.Locked {
			err = Busy.With(fault.Str("artifact", name))
		}
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // the lock goes with the file; the file stays, or two could hold two of one name
}

// create writes an object: write gives it its bytes, and the object is there whole or not at all. The caller holds the lock.
func (b *Bucket) create(name string, write func(io.Writer) error) (err error) {
	sum := sha256.Sum256([]byte(name))
	temporary := staging + "/" + hex.EncodeToString(sum[:]) // one for each name: a leftover is written over
	if err := b.root.MkdirAll(staging, 0o755); err != nil {
		return err
	}
	f, err := b.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = b.root.Remove(temporary) // best effort: the next attempt writes over it
		}
	}()
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	crash.Point("bucket: before a name is given")
	dir := path.Dir(name)
	if err := b.root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := b.root.Rename(temporary, name); err != nil {
		return err
	}
	if err := b.sync(dir); err != nil {
		return err
	}
	crash.Point("bucket: behind a name")
	return nil
}

// sync makes the names of a folder, and of those above it, durable.
func (b *Bucket) sync(dir string) error {
	for ; ; dir = path.Dir(dir) {
		d, err := b.root.Open(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return err
		}
		if dir == "." {
			return nil
		}
	}
}

// write writes a small object, unless it says the same already.
func (b *Bucket) write(name string, text []byte) error {
	have, err := b.read(name, int64(len(text)))
	if err == nil && string(have) == string(text) {
		return nil
	}
	return b.create(name, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// read returns an object of at most most bytes. One that is not there is fs.ErrNotExist, a longer one or another thing is Mismatch
// or Special.
func (b *Bucket) read(name string, most int64) ([]byte, error) {
	f, size, err := b.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > most {
		return nil, Mismatch.With(fault.Str("path", name), fault.Int("bytes", size), fault.Int("max_bytes", most))
	}
	return io.ReadAll(io.LimitReader(f, most+1))
}

// open opens an object. What is no regular file is refused before it is opened.
func (b *Bucket) open(name string) (*os.File, int64, error) {
	info, err := b.root.Lstat(name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, Special.With(fault.Str("path", name))
	}
	f, err := b.root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func (b *Bucket) remove(name string) error {
	if err := b.root.Remove(name); err != nil {
		return err
	}
	return b.sync(path.Dir(name))
}

// object is what a listing shows.
type object struct {
	path string // behind the prefix
	mode fs.FileMode
	size int64
}

// maxObjects is how many objects of one artifact are listed: its files, and a generous number of others.
const maxObjects = 2 * submission.MaxFiles

// list returns the objects below a prefix that ends in a slash, by path; none where there is no such folder.
func (b *Bucket) list(prefix string) ([]object, error) {
	base := strings.TrimSuffix(prefix, "/")
	var out []object
	err := fs.WalkDir(b.root.FS(), base, func(p string, d fs.DirEntry, err error) error {
		if err != nil && p == base && errors.Is(err, fs.ErrNotExist) {
			return fs.SkipAll
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if len(out) == maxObjects {
			return TooMany.With(fault.Str("prefix", prefix))
		}
		out = append(out, object{strings.TrimPrefix(p, prefix), info.Mode(), info.Size()})
		return nil
	})
	slices.SortFunc(out, func(a, b object) int { return strings.Compare(a.path, b.path) })
	return out, err
}

// tree returns what lies below a prefix as a file system that does not lead out of the bucket.
func (b *Bucket) tree(prefix string) (fs.FS, error) {
	return fs.Sub(b.root.FS(), strings.TrimSuffix(prefix, "/"))
}

// holds reports whether an object has the size and the digest of a file.
func (b *Bucket) holds(ctx context.Context, name string, f submission.File, progress func(int64)) (bool, error) {
	src, size, err := b.open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	defer src.Close()
	if size != f.Size {
		return false, nil
	}
	sum, err := hashTo(ctx, io.Discard, src, name, size, progress)
	return err == nil && sum == f.SHA256, err
}
