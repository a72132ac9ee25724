// Package lines keeps small documents in one append-only file, one a line, so that they survive the end of the process.
//
// Invariants:
//   - What Sync has returned for is read again, in order, whole; a line that a crash cut off is not.
//   - A line that was changed, lost, moved, doubled or added by another hand is found, and the file is refused and left as it is.
//   - After a failed write or fsync every call is refused: opening the file again finds out what it holds.
//
// The format: docs/spec/lines.md.
package lines

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"assay/core/fault"
	"assay/run"
	"assay/run/commit"
)

// The refusals of this room.
var (
	OtherFormat = fault.NewCode("lines.other_format", fault.Invalid, "the file is not of the format that it is read as")
	Damaged     = fault.NewCode("lines.damaged", fault.Uncertain, "the file is damaged: what it records may have happened")
	BadPayload  = fault.NewCode("lines.bad_payload", fault.Internal, "a payload holds a line end, or the name of a format is no line of 1 to 512 bytes")
	TooLarge    = fault.NewCode("lines.too_large", fault.TooLarge, "a line exceeds its limit")
	Full        = fault.NewCode("lines.disk_full", fault.Unready, "the disk is full: make room and open the file again")
	Broken      = fault.NewCode("lines.broken", fault.Uncertain, "an earlier write to the file failed: open it again")
)

// MaxPayload is the longest payload in bytes.
const MaxPayload = 16 << 20

// File is an open file of lines. It is safe for concurrent use; who waits in Sync at the same time shares one fsync.
type File struct {
	group *commit.Group
	sum   uint32 // of the newest line; only touched by who appends to the group
}

// Open opens the file at path, or creates it with mode 0600, and takes it for this process until Close. format is the name of
// what it holds, and a file of another name is refused. each, which may be nil, is given every payload that is there, with its
// line's number in the file, in which the first line is the header; the payload is valid until it returns, and its error
// ends the opening.
//
// A last line that a crash cut off is dropped. Any other damage is refused with the number of its line, and so is a file that
// another process holds (run.Locked). Whatever is refused stays as it was.
func Open(path, format string, each func(line int64, payload []byte) error) (*File, error) {
	if !validFormat(format) {
		return nil, BadPayload.With(fault.Str("format", format))
	}
	file, err := run.OpenLocked(path)
	if errors.Is(err, run.ErrNotRegular) {
		err = OtherFormat.Because(err)
	}
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	f, err := open(file, format, each)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", path, coded(err)), file.Close())
	}
	return f, nil
}

func open(file *os.File, format string, each func(int64, []byte) error) (*File, error) {
	got, err := read(file, format, each)
	if err != nil {
		return nil, err
	}
	if got.torn {
		if err := file.Truncate(got.size); err != nil {
			return nil, err
		}
	}
	var mend []byte
	switch {
	case !got.header:
		mend, got.sum = appendLine(nil, 0, []byte(head+format))
		got.line = 1
	case got.unended: // the last line is whole but for its line end
		mend = []byte{'\n'}
	}
	if _, err := file.WriteAt(mend, got.size); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil { // also of what was there: an earlier process may have ended before its fsync
		return nil, err
	}
	if !got.header {
		if err := run.SyncDirectory(filepath.Dir(file.Name())); err != nil {
			return nil, err
		}
	}
	return &File{group: commit.New("lines", file, got.size+int64(len(mend)), got.line), sum: got.sum}, nil
}

// Append adds a payload behind all others and returns its position, the number of its line in the file, perhaps before it is on
// disk. A payload is up to MaxPayload bytes without a line end. Nothing of it is kept.
func (f *File) Append(payload []byte) (position int64, err error) {
	if err := check(payload); err != nil {
		return 0, err
	}
	position, err = f.group.Append(func(dst []byte, _ int64) ([]byte, error) {
		dst, f.sum = appendLine(dst, f.sum, payload)
		return dst, nil
	})
	return position, coded(err)
}

// Sync returns when the line at position and all before it are on disk.
func (f *File) Sync(position int64) error { return coded(f.group.Sync(position)) }

// Write appends a payload and returns when it is on disk.
func (f *File) Write(payload []byte) error {
	position, err := f.Append(payload)
	if err != nil {
		return err
	}
	return f.Sync(position)
}

// Syncs returns how often the file waited for the disk since it was opened.
func (f *File) Syncs() int64 { return f.group.Syncs() }

// Close brings what is pending to disk and lets the file go. Every later call is refused.
func (f *File) Close() error { return coded(f.group.Close()) }

// ReadAll gives every payload of src to each, as Open does, and ignores a last line that is not whole: src may be a file that
// another process is writing.
func ReadAll(src io.Reader, format string, each func(line int64, payload []byte) error) error {
	if !validFormat(format) {
		return BadPayload.With(fault.Str("format", format))
	}
	_, err := read(src, format, each)
	return err
}

// ReadFile gives every payload of the file at path to each. It takes no lock and changes nothing. A file without a whole header
// holds nothing.
func ReadFile(path, format string, each func(line int64, payload []byte) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("reading %s: %w", path, OtherFormat.Because(run.ErrNotRegular))
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := ReadAll(file, format, each); err != nil {
		return errors.Join(fmt.Errorf("reading %s: %w", path, err), file.Close())
	}
	return file.Close()
}

// coded gives a failed write its refusal.
func coded(err error) error {
	var broken *commit.Broken
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return Full.Because(err)
	case errors.As(err, &broken):
		return Broken.Because(err)
	}
	return err
}
