package run

import (
	"errors"
	"os"
)

// ErrNotRegular refuses what is no regular file: a pipe would be read for ever.
var ErrNotRegular = errors.New("it is not a regular file")

// errMoves is a name that is given to another file each time it is looked at.
var errMoves = errors.New("the file is replaced again and again")

// OpenLocked opens the file at path for reading and writing, or creates it with mode 0600, and takes it for this process until
// it is closed. What is no regular file is refused before it is opened, and a file that another process holds as Locked.
func OpenLocked(path string) (*os.File, error) {
	for range 10 {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return nil, ErrNotRegular
		}
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		here, err := lockHere(f, path)
		if here {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return nil, errMoves
}

// lockHere takes a file and reports whether it still has its name: its last holder may have replaced it meanwhile.
func lockHere(f *os.File, path string) (bool, error) {
	if err := Lock(f); err != nil {
		return false, err
	}
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, named), err
}
