package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"assay/core/fault"
	"assay/run/commit"
)

// FileJournal is a Journal in one append-only file, shared by any number of runs of one process.
//
// Appenders that wait at the same time share one write and one fsync. After a failed write or fsync every call is refused,
// because what the kernel still holds is then unknown; opening the file again finds out.
type FileJournal struct {
	mu      sync.Mutex
	group   *commit.Group
	file    *os.File
	path    string
	runs    map[string]*entry
	begun   []string // run ids in the order of their first records
	chain   chain    // of the newest record
	seq     int64    // of the newest record
	size    int64    // bytes written and pending
	flushed int64    // bytes that were waited for by who reads

	forgotten map[string]struct{}
	dead      int64 // bytes of forgotten runs in the file
	keep      int64 // how many of them it may carry along
}

// entry is what the journal keeps of a run.
type entry struct {
	order
	spans []span
	taken bool
}

// span is where a record's line stands: its number, its offset and its length without the line end.
type span struct {
	seq, at int64
	length  int
}

// OpenJournal opens the journal at path, or creates it with mode 0600, and locks it against other processes.
// A last line that a crash cut off is dropped; any other damage is refused with its line number. What is no regular file is
// refused before it is opened: a pipe would be read for ever.
func OpenJournal(path string) (*FileJournal, error) {
	file, err := OpenLocked(path)
	if errors.Is(err, ErrNotRegular) {
		err = NotJournal.Because(err)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the journal %s: %w", path, err)
	}
	j := &FileJournal{file: file, path: path, runs: map[string]*entry{}, forgotten: map[string]struct{}{}, keep: keptBytes}
	if err := j.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the journal %s: %w", path, err), file.Close())
	}
	return j, nil
}

func (j *FileJournal) open() (err error) {
	if j.path, err = filepath.EvalSymlinks(j.path); err != nil { // a compaction replaces the file, not a link to it
		return err
	}
	read, err := readJournal(j.file, j.remember)
	if err != nil {
		return err
	}
	if err := dropHalfDone(j.path); err != nil {
		return err
	}
	j.chain, j.seq, j.size = read.chain, read.seq, read.size
	if read.torn {
		if err := j.file.Truncate(j.size); err != nil {
			return err
		}
	}
	var mend []byte
	switch {
	case !read.header:
		mend, j.chain = appendChained([]byte(head), 0, chain{})
	case read.unended: // the last line is whole but for its line end
		mend = []byte{'\n'}
	}
	if _, err := j.file.WriteAt(mend, j.size); err != nil {
		return err
	}
	j.size += int64(len(mend))
	if err := j.file.Sync(); err != nil { // also of what was there: an earlier process may have ended before its fsync
		return err
	}
	if !read.header {
		if err := SyncDirectory(filepath.Dir(j.path)); err != nil {
			return err
		}
	}
	j.flushed = j.size
	j.group = commit.New("journal", j.file, j.size, j.seq)
	return nil
}

// remember adds a record to the index.
func (j *FileJournal) remember(r Record, s span) error {
	e := j.runs[r.Run]
	if e == nil {
		e = &entry{}
	}
	if err := e.admit(r); err != nil {
		return err
	}
	if r.Kind == Begin {
		j.runs[r.Run] = e
		j.begun = append(j.begun, r.Run)
	}
	e.spans = append(e.spans, s)
	return nil
}

// Enter returns the records of a run and takes it. A forgotten run is refused.
func (j *FileJournal) Enter(run string) ([]Record, error) {
	if err := (Record{Run: run, Kind: Begin}).check(); err != nil {
		return nil, err
	}
	j.mu.Lock()
	if _, gone := j.forgotten[run]; gone {
		j.mu.Unlock()
		return nil, Forgotten.With(fault.Str("run", run))
	}
	e := j.runs[run]
	if e == nil {
		e = &entry{}
		j.runs[run] = e
	}
	taken, spans := e.taken, e.spans
	e.taken = true
	if taken {
		j.mu.Unlock()
		return nil, Busy.With(fault.Str("run", run))
	}
	past, err := j.read(spans)
	j.mu.Unlock()
	if err != nil {
		j.Leave(run)
		return nil, err
	}
	return past, nil
}

// read returns the records at the spans, which it brings to disk first. j.mu is held, so that the file stays the same.
func (j *FileJournal) read(spans []span) ([]Record, error) {
	if len(spans) == 0 {
		return nil, nil
	}
	if last := spans[len(spans)-1]; last.at >= j.flushed {
		if err := coded(j.group.Flush()); err != nil {
			return nil, err
		}
		j.flushed = j.size
	}
	past := make([]Record, 0, len(spans))
	for _, s := range spans {
		r, err := j.readAt(s)
		if err != nil {
			return nil, err
		}
		past = append(past, r)
	}
	return past, nil
}

func (j *FileJournal) readAt(s span) (Record, error) {
	line := make([]byte, s.length)
	if _, err := j.file.ReadAt(line, s.at); err != nil {
		return Record{}, fmt.Errorf("reading the journal: %w", err)
	}
	r, err := parseBody(line[:max(0, len(line)-chainLength)], s.seq)
	if err != nil {
		return Record{}, Damaged.Because(err).With(fault.Int("record", s.seq))
	}
	return r, nil
}

// Leave gives a run back.
func (j *FileJournal) Leave(run string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e := j.runs[run]; e != nil && e.begun {
		e.taken = false
	} else {
		delete(j.runs, run)
	}
}

// Append writes a record behind the others. Its position counts the records that this journal ever wrote.
func (j *FileJournal) Append(r Record) (int64, error) {
	if err := r.check(); err != nil {
		return 0, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.runs[r.Run]
	if e == nil || !e.taken {
		return 0, Misplaced.With(fault.Str("run", r.Run), fault.Str("kind", string(r.Kind)))
	}
	position, err := j.group.Append(func(dst []byte, _ int64) ([]byte, error) { return j.add(dst, r) })
	return position, coded(err)
}

// add appends a record's line and remembers where it will stand.
func (j *FileJournal) add(dst []byte, r Record) ([]byte, error) {
	start := len(dst)
	text := appendBody(dst, j.seq+1, r)
	if len(text)-start+chainLength+1 > maxLine {
		return nil, TooLarge.With(fault.Str("run", r.Run), fault.Int("max_bytes", maxLine))
	}
	s := span{seq: j.seq + 1, at: j.size, length: len(text) - start + chainLength}
	if err := j.remember(r, s); err != nil {
		return nil, err
	}
	text, j.chain = appendChained(text, start, j.chain)
	j.seq++
	j.size += int64(s.length) + 1
	return text, nil
}

// Sync returns when the record at position and all before it are on disk.
func (j *FileJournal) Sync(position int64) error {
	err := j.group.Sync(position)
	if errors.Is(err, commit.ErrAhead) {
		return Misplaced.With(fault.Int("position", position))
	}
	return coded(err)
}

// Syncs returns how often the journal waited for the disk since it was opened: far less often than it was asked to.
func (j *FileJournal) Syncs() int64 { return j.group.Syncs() }

// coded gives a failed write its refusal.
func coded(err error) error {
	var broken *commit.Broken
	if errors.As(err, &broken) {
		return Broken.Because(broken.Cause)
	}
	return err
}

// Status is how far a run has come in a journal.
type Status struct {
	Run      string
	About    string // what it was begun about
	Finished bool
	Records  int
	Doubtful string // key of an effect that was begun and whose result is not known, or ""
}

// Runs returns the status of every run that is not forgotten, in the order in which they were begun.
func (j *FileJournal) Runs() []Status {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := make([]Status, 0, len(j.begun))
	for _, run := range j.begun {
		if e := j.runs[run]; e != nil {
			out = append(out, Status{run, e.about, e.ended, len(e.spans), e.intent})
		}
	}
	return out
}

// Close brings what is pending to disk and lets the file go. Runs that are under way are refused from then on.
func (j *FileJournal) Close() error { return coded(j.group.Close()) }

// reading is what a pass over a journal found.
type reading struct {
	chain   chain
	seq     int64
	size    int64 // bytes of whole lines
	header  bool
	torn    bool // a cut-off line stands behind them
	unended bool // the last line lacks its line end, which size does not count
}

// readJournal reads a journal from its start and gives every record to each.
func readJournal(src io.Reader, each func(Record, span) error) (reading, error) {
	var got reading
	lines := NewLineReader(src, maxLine)
	for number := int64(1); ; number++ {
		line, ended, err := lines.Next()
		if errors.Is(err, ErrLongLine) {
			err = TooLarge.With(fault.Int("line", number))
		}
		if err != nil {
			return got, err
		}
		if !ended && isTorn(line, got.header) {
			got.torn = len(line) > 0
			return got, nil
		}
		if err := got.take(line, each); err != nil {
			if number == 1 {
				return got, NotJournal.Because(err)
			}
			return got, Damaged.Because(err).With(fault.Int("line", number))
		}
		if !ended {
			got.unended = true
			got.size--
			return got, nil
		}
	}
}

// take checks one whole line.
func (g *reading) take(line []byte, each func(Record, span) error) error {
	body, sum, err := unchain(line, g.chain)
	if err != nil {
		return err
	}
	if !g.header {
		if !bytes.Equal(body, []byte(head)) {
			return errShape
		}
		g.header = true
	} else {
		r, err := parseBody(body, g.seq+1)
		if err != nil {
			return err
		}
		if err := each(r, span{g.seq + 1, g.size, len(line)}); err != nil {
			return err
		}
		g.seq++
	}
	g.chain = sum
	g.size += int64(len(line)) + 1
	return nil
}
