//go:build unix

package posix

import (
	"errors"
	"os"
	"syscall"
)

// lock takes a folder for this process until it is closed.
func lock(dir *os.File) error {
	err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return Locked.With()
	}
	return err
}
