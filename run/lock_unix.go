//go:build unix

package run

import (
	"errors"
	"os"
	"syscall"
)

// Lock takes the file for this process until it is closed. A file that another process holds is refused as Locked.
func Lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return Locked.With()
	}
	return err
}

// SyncDirectory makes the names in a directory durable.
func SyncDirectory(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
