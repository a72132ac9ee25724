package lines

import "os"

// SetFsync replaces the file's fsync, to make it fail.
func SetFsync(f *File, fsync func(*os.File) error) { f.group.Fsync = fsync }
