// Package snapshot serves inspections from repositories on disk, and replays published ones.
//
// Invariants:
//   - A repository is opened through os.Root: nothing beyond it can be reached, whatever is swapped while it is read.
//   - A repository whose digest is not the recorded one is not served, and neither is one with version control data.
//   - Nothing but files is read: a pipe or a device is never waited for.
//
// Specification: docs/spec/reading.md.
package snapshot

import (
	"context"
	"io/fs"
	"os"
	"syscall"

	"assay/conductor"
	"assay/conductor/profile"
	"assay/conductor/reading"
	"assay/core/fault"
)

// Dir is an open repository.
type Dir struct{ root *os.Root }

// Open opens the directory. Links to it are followed, links in it never lead out.
func Open(path string) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Dir{root}, nil
}

// Close gives the directory back. What was opened in it stays open.
func (d *Dir) Close() error { return d.root.Close() }

// FS returns the repository as a rule reads it. When ctx ends, so does every read, with the context's error.
func (d *Dir) FS(ctx context.Context) fs.FS { return rooted{ctx, d.root} }

// Take admits the repository and returns its content address; see reading.Take. progress may be nil.
func (d *Dir) Take(ctx context.Context, b reading.Budget, progress func(reading.Snapshot)) (reading.Snapshot, error) {
	return reading.Take(d.FS(ctx), b, func(s reading.Snapshot) error {
		if progress != nil {
			progress(s)
		}
		return ctx.Err()
	})
}

// Replay says whether a published observation is what the repository shows: nil, or conductor.ObservationDiffers. A repository whose
// digest is not the recorded one is conductor.SnapshotChanged, before anything is compared.
func Replay(ctx context.Context, dir, digest string, o reading.Observation, p profile.Profile) error {
	d, err := Open(dir)
	if err != nil {
		return conductor.NoSnapshot.Because(err)
	}
	defer d.Close()
	if err := d.Is(ctx, digest, reading.Budget{}, nil); err != nil {
		return err
	}
	return reading.Replay(d.FS(ctx), o, p, reading.Budget{})
}

// Is refuses a repository of another digest: conductor.SnapshotChanged. It reads all of it; progress may be nil.
func (d *Dir) Is(ctx context.Context, digest string, b reading.Budget, progress func(reading.Snapshot)) error {
	s, err := d.Take(ctx, b, progress)
	if err != nil {
		return err
	}
	if s.Digest != digest {
		return conductor.SnapshotChanged.With(fault.Str("recorded", digest), fault.Str("found", s.Digest))
	}
	return nil
}

// rooted is a root as a file system that ends with a context. Links are read, not followed: the reader's rules resolve them.
type rooted struct {
	ctx  context.Context
	root *os.Root
}

func (r rooted) usable(op, name string) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return nil
}

// Open opens a path. It does not wait for the other end of a pipe.
func (r rooted) Open(name string) (fs.File, error) {
	if err := r.usable("open", name); err != nil {
		return nil, err
	}
	f, err := r.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return opened{f, r.ctx}, nil
}

// ReadLink returns a link's target.
func (r rooted) ReadLink(name string) (string, error) {
	if err := r.usable("readlink", name); err != nil {
		return "", err
	}
	return r.root.Readlink(name)
}

// Lstat describes a path without following its last name.
func (r rooted) Lstat(name string) (fs.FileInfo, error) {
	if err := r.usable("lstat", name); err != nil {
		return nil, err
	}
	return r.root.Lstat(name)
}

// opened is a file whose reads end with a context.
type opened struct {
	*os.File
	ctx context.Context
}

// Read reads unless the context has ended.
func (o opened) Read(b []byte) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	return o.File.Read(b)
}
