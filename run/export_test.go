package run

import (
	"io"
	"os"
)

// SetFsync replaces the journal's fsync, to hold it back or to make it fail.
func SetFsync(j *FileJournal, fsync func(*os.File) error) { j.group.Fsync = fsync }

// ReadAll gives every record of a journal's bytes to each and reports whether a cut-off line stands behind them.
func ReadAll(src io.Reader, each func(Record)) (torn bool, err error) {
	got, err := readJournal(src, func(r Record, _ span) error {
		each(r)
		return nil
	})
	return got.torn, err
}

// AppendRecords writes a whole journal of the records.
func AppendRecords(dst []byte, records []Record) []byte {
	dst, c := appendChained(append(dst, head...), len(dst), chain{})
	for i, r := range records {
		start := len(dst)
		dst, c = appendChained(appendBody(dst, int64(i+1), r), start, c)
	}
	return dst
}

// ChainBody returns a journal of one line with the given body, whatever that is.
func ChainBody(body []byte) []byte {
	dst, c := appendChained([]byte(head), 0, chain{})
	start := len(dst)
	dst, _ = appendChained(append(dst, body...), start, c)
	return dst
}
