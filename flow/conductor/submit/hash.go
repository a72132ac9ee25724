package submit

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"assay/conductor/submission"
	"assay/core/fault"
)

// bufferSize is how much of a file is read at once: large enough that the disk is asked seldom, small enough for the caches
// between the read and the hash.
const bufferSize = 1 << 20 // bytes

// HashTree hashes every file of a tree, as many at a time as there are cores, the largest first. The files come in the order of
// their paths. progress may be nil.
func HashTree(ctx context.Context, tree fs.FS, progress Progress) ([]submission.File, error) {
	files, total, err := listTree(tree)
	if err != nil {
		return nil, err
	}
	order := bySize(files)
	err = each(ctx, len(order), func(ctx context.Context, i int) error {
		f := &files[order[i]]
		src, err := tree.Open(f.Path)
		if err != nil {
			return err
		}
		defer src.Close()
		sum, err := hashTo(ctx, io.Discard, src, f.Path, f.Size, tell(progress, "hashing", total))
		f.SHA256 = sum
		return err
	})
	return files, err
}

// bySize returns the places of files, the largest first, so that the last one to be taken is not the longest to wait for.
func bySize(files []submission.File) []int {
	order := make([]int, len(files))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case files[a].Size > files[b].Size:
			return -1
		case files[a].Size < files[b].Size:
			return 1
		}
		return 0
	})
	return order
}

func tell(p Progress, what string, total int64) func(n int64) {
	if p == nil {
		return func(int64) {}
	}
	return func(n int64) { p(what, n, total) }
}

// listTree returns the files of a tree with their sizes. Whatever is no regular file is refused: a link could lead anywhere.
func listTree(tree fs.FS) (files []submission.File, total int64, err error) {
	err = fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return Special.With(fault.Str("path", path))
		}
		if err := submission.CheckPath(path); err != nil {
			return err
		}
		if len(files) == submission.MaxFiles {
			return TooMany.With(fault.Int("max_files", submission.MaxFiles))
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files = append(files, submission.File{Path: path, Size: info.Size()})
		total += info.Size()
		return nil
	})
	slices.SortFunc(files, func(a, b submission.File) int {
		if a.Path < b.Path {
			return -1
		}
		return 1
	})
	return files, total, err
}

var buffers = sync.Pool{New: func() any { b := make([]byte, bufferSize); return &b }}

// hashTo copies src, which should have size bytes, to dst and returns the digest. A file of another length has changed.
func hashTo(ctx context.Context, dst io.Writer, src io.Reader, path string, size int64, progress func(int64)) (sum submission.Digest, err error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	h := sha256.New()
	for left := size; ; {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		n, err := src.Read(*buf)
		if left -= int64(n); left < 0 {
			return sum, Changed.With(fault.Str("path", path))
		}
		h.Write((*buf)[:n])
		if dst != io.Discard {
			if _, err := dst.Write((*buf)[:n]); err != nil {
				return sum, err
			}
		}
		progress(int64(n))
		switch {
		case errors.Is(err, io.EOF) && left == 0:
			return submission.Digest(h.Sum(nil)), nil
		case errors.Is(err, io.EOF):
			return sum, Changed.With(fault.Str("path", path))
		case err != nil:
			return sum, err
		}
	}
}

// each calls f for 0 to n-1 from as many goroutines as there are cores, and returns the first error, which ends the others.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}
