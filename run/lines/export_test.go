package lines

import "os"

// SetFsync replaces the file's fsync, to make it fail.
func SetFsync(f *File, fsync func(*os.File) error) { f.group.Fsync = fsync }

// AppendFile writes a whole file of the payloads.
func AppendFile(dst []byte, format string, payloads [][]byte) []byte {
	dst, sum := appendLine(dst, 0, []byte(head+format))
	for _, p := range payloads {
		dst, sum = appendLine(dst, sum, p)
	}
	return dst
}
