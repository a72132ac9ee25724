package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"assay/flow/conductor/snapshot"
)

// openPublication opens a folder that a stranger published: nothing beyond it is reached, a pipe or a device in it is refused and not
// waited for, and an interrupt ends every read with the context's error.
func openPublication(ctx context.Context, path string) (fs.FS, io.Closer, error) {
	d, err := snapshot.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the publication: %w", err)
	}
	return plainFiles{d.FS(ctx)}, d, nil
}

// plainFiles is a file system of files and folders alone.
type plainFiles struct{ fs.FS }

// Open opens a file or a folder.
func (p plainFiles) Open(name string) (fs.File, error) {
	f, err := p.FS.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("neither a file nor a folder")}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
