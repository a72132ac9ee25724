//go:build unix

package fake

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the file for this open file until it is closed, and reports whether it did.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
