package run

import (
	"os"

	"golang.org/x/sys/unix"
)

// StartWriteback asks the system to begin writing bytes of a file to disk and does not wait, so that a later Sync waits
// for little. It promises nothing: only Sync makes bytes durable.
func StartWriteback(f *os.File, offset, length int64) {
	_ = unix.SyncFileRange(int(f.Fd()), offset, length, unix.SYNC_FILE_RANGE_WRITE) // a hint that fails is no loss
}
