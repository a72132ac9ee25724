//go:build unix

package file

import (
	"errors"
	"os"
	"syscall"
)

// errLink says that the last part of a name is a symbolic link.
var errLink = errors.New("a symbolic link")

// openNoFollow opens a file, but neither follows a link at its name nor waits for a pipe's other end.
func openNoFollow(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, errLink
	}
	return f, err
}
