package run

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"assay/core/fault"
	"assay/run/crash"
)

// keptBytes is how many bytes of forgotten runs a journal carries along unless it is told otherwise.
const keptBytes = 16 << 20

// halfDone is put behind a journal's name while its successor is written.
const halfDone = ".compacting"

// KeepForgotten sets how many bytes of forgotten runs the journal carries along; the default is 16 MiB.
func (j *FileJournal) KeepForgotten(bytes int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.keep = bytes
}

// Forget drops a finished run whose result is durable elsewhere, so that the journal neither grows for ever nor is slow to open.
// Entering it is refused from then on. When the forgotten bytes exceed what the journal may carry along, and what lives, the
// file is replaced by one that holds the living runs only.
//
// The mark lives in memory, like everything that a compaction needs: whoever opens the journal again forgets again what it
// will not resume. A run that the journal does not hold is marked all the same.
func (j *FileJournal) Forget(run string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e := j.runs[run]; e != nil {
		switch {
		case e.taken:
			return Busy.With(fault.Str("run", run))
		case !e.ended:
			return Unfinished.With(fault.Str("run", run))
		}
		for _, s := range e.spans {
			j.dead += int64(s.length) + 1
		}
		delete(j.runs, run)
	}
	j.forgotten[run] = struct{}{}
	if j.dead <= max(j.keep, j.size-j.dead) {
		return nil
	}
	if err := j.compact(); err != nil {
		return fmt.Errorf("compacting the journal %s: %w", j.path, coded(err))
	}
	return nil
}

// compact replaces the file by one with the living runs' records. j.mu is held. Until the new file has the journal's name, an
// error leaves everything as it was.
func (j *FileJournal) compact() error {
	if err := j.group.Flush(); err != nil {
		return err
	}
	crash.Point("journal: before a compaction")
	next, err := j.successor()
	if err != nil {
		return err
	}
	if err := os.Rename(next.file.Name(), j.path); err != nil {
		return errors.Join(err, next.drop())
	}
	crash.Point("journal: the new file has the name")
	if err := SyncDirectory(filepath.Dir(j.path)); err != nil {
		j.group.Break(err) // which of the two files a power cut would leave is not known
		return errors.Join(err, next.file.Close())
	}
	crash.Point("journal: after a compaction")
	j.adopt(next)
	return nil
}

// successor is a journal of the living runs, on disk under a name of its own and locked.
type successor struct {
	file  *os.File
	chain chain
	seq   int64
	size  int64
	spans map[*entry][]span
}

func (s *successor) drop() error { return errors.Join(s.file.Close(), os.Remove(s.file.Name())) }

func (j *FileJournal) successor() (*successor, error) {
	name := j.path + halfDone
	if err := dropHalfDone(j.path); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	next := &successor{file: file, spans: make(map[*entry][]span, len(j.runs))}
	err = Lock(file)
	if err == nil {
		err = j.copyLiving(next)
	}
	if err == nil {
		crash.Point("journal: the new file is written")
		err = file.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, next.drop())
	}
	crash.Point("journal: the new file is on disk")
	return next, nil
}

// copyLiving writes the records of the living runs in their order. The whole old file is checked once more on the way: damage
// since it was opened must not get good checksums.
func (j *FileJournal) copyLiving(next *successor) error {
	out := bufio.NewWriterSize(next.file, 256<<10)
	text, sum := appendChained([]byte(head), 0, chain{})
	next.chain, next.size = sum, int64(len(text))
	if _, err := out.Write(text); err != nil {
		return err
	}
	_, err := readJournal(io.NewSectionReader(j.file, 0, j.size), func(r Record, _ span) error {
		e := j.runs[r.Run]
		if e == nil {
			return nil
		}
		next.seq++
		text, next.chain = appendChained(appendBody(text[:0], next.seq, r), 0, next.chain)
		next.spans[e] = append(next.spans[e], span{seq: next.seq, at: next.size, length: len(text) - 1})
		next.size += int64(len(text))
		_, err := out.Write(text)
		return err
	})
	return errors.Join(err, out.Flush())
}

// adopt goes on in the successor's file.
func (j *FileJournal) adopt(next *successor) {
	for e, spans := range next.spans {
		e.spans = spans
	}
	j.begun = slices.DeleteFunc(j.begun, func(run string) bool { return j.runs[run] == nil })
	_ = j.file.Close() // it has no name any more, and nobody waits for it
	j.file, j.chain, j.seq, j.size = next.file, next.chain, next.seq, next.size
	j.flushed, j.dead = j.size, 0
	j.group.Replace(j.file, j.size)
}

// dropHalfDone removes what a compaction left that a crash cut off. The journal is locked.
func dropHalfDone(path string) error {
	if err := os.Remove(path + halfDone); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
