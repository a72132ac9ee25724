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
)

// FileJournal is a Journal in one append-only file, shared by any number of runs of one process.
//
// Appenders that wait at the same time share one write and one fsync: the first becomes the leader and takes along
// whatever the others have appended. After a failed write or fsync every call is refused, because what the kernel still
// holds is then unknown; opening the file again finds out.
type FileJournal struct {
	mu     sync.Mutex
	synced sync.Cond // a leader has finished

	file    *os.File
	fsync   func(*os.File) error
	runs    map[string]*entry
	begun   []string // run ids in the order of their first records
	chain   chain    // of the newest record
	seq     int64    // of the newest record
	size    int64    // bytes written and pending
	pending []byte   // records that no leader has taken yet
	spare   []byte   // buffer of the last leader
	leading bool
	durable int64 // newest record that is on disk
	syncs   int64
	broken  error
}

// entry is what the journal keeps of a run.
type entry struct {
	order
	spans []span
	taken bool
}

// span is where a record's line stands: its offset and its length without the line end.
type span struct {
	seq, at int64
	length  int
}

// OpenJournal opens the journal at path, or creates it with mode 0600, and locks it against other processes.
// A last line that a crash cut off is dropped; any other damage is refused with its line number. What is no regular file is
// refused before it is opened: a pipe would be read for ever.
func OpenJournal(path string) (*FileJournal, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("opening the journal %s: %w", path, NotJournal.Because(errNotRegular))
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	j := &FileJournal{file: f, fsync: (*os.File).Sync, runs: map[string]*entry{}}
	j.synced.L = &j.mu
	if err := j.open(path); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the journal %s: %w", path, err), f.Close())
	}
	return j, nil
}

var errNotRegular = errors.New("it is not a regular file")

func (j *FileJournal) open(path string) error {
	if err := Lock(j.file); err != nil {
		return err
	}
	read, err := readJournal(j.file, j.remember)
	if err != nil {
		return err
	}
	j.chain, j.seq, j.size, j.durable = read.chain, read.seq, read.size, read.seq
	if read.header && !read.unended && !read.torn {
		return nil
	}
	if err := j.file.Truncate(j.size); err != nil {
		return err
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
	if err := j.file.Sync(); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(path))
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

// Enter returns the records of a run and takes it.
func (j *FileJournal) Enter(run string) ([]Record, error) {
	if err := (Record{Run: run, Kind: Begin}).check(); err != nil {
		return nil, err
	}
	j.mu.Lock()
	e := j.runs[run]
	if e == nil {
		e = &entry{}
		j.runs[run] = e
	}
	taken, spans := e.taken, e.spans
	e.taken = true
	j.mu.Unlock()
	if taken {
		return nil, Busy.With(fault.Str("run", run))
	}
	past, err := j.read(spans)
	if err != nil {
		j.Leave(run)
		return nil, err
	}
	return past, nil
}

// read returns the records at the spans, which it brings to disk first.
func (j *FileJournal) read(spans []span) ([]Record, error) {
	if len(spans) == 0 {
		return nil, nil
	}
	if err := j.Sync(spans[len(spans)-1].seq); err != nil {
		return nil, err
	}
	past := make([]Record, 0, len(spans))
	for _, s := range spans {
		line := make([]byte, s.length)
		if _, err := j.file.ReadAt(line, s.at); err != nil {
			return nil, fmt.Errorf("reading the journal: %w", err)
		}
		r, err := parseBody(line[:max(0, len(line)-chainLength)], s.seq)
		if err != nil {
			return nil, Damaged.Because(err).With(fault.Int("record", s.seq))
		}
		past = append(past, r)
	}
	return past, nil
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

// Append writes a record behind the others. Its position is its number in the file, counted from 1.
func (j *FileJournal) Append(r Record) (int64, error) {
	if err := r.check(); err != nil {
		return 0, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken != nil {
		return 0, Broken.Because(j.broken)
	}
	e := j.runs[r.Run]
	if e == nil || !e.taken {
		return 0, Misplaced.With(fault.Str("run", r.Run), fault.Str("kind", string(r.Kind)))
	}
	start := len(j.pending)
	text := appendBody(j.pending, j.seq+1, r)
	if len(text)-start+chainLength+1 > maxLine {
		return 0, TooLarge.With(fault.Str("run", r.Run), fault.Int("max_bytes", maxLine))
	}
	s := span{seq: j.seq + 1, at: j.size, length: len(text) - start + chainLength}
	if err := j.remember(r, s); err != nil {
		return 0, err
	}
	j.pending, j.chain = appendChained(text, start, j.chain)
	j.seq++
	j.size += int64(s.length) + 1
	return j.seq, nil
}

// Sync returns when the record at position and all before it are on disk.
func (j *FileJournal) Sync(position int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.durable < position {
		switch {
		case j.broken != nil:
			return Broken.Because(j.broken)
		case j.leading:
			j.synced.Wait()
		case position > j.seq:
			return Misplaced.With(fault.Int("position", position))
		default:
			j.lead()
		}
	}
	return nil
}

// lead brings everything that is pending to disk. j.mu is held, except while the disk works.
func (j *FileJournal) lead() {
	batch, seq, at := j.pending, j.seq, j.size-int64(len(j.pending))
	j.pending, j.spare, j.leading = j.spare[:0], nil, true
	j.mu.Unlock()
	_, err := j.file.WriteAt(batch, at)
	if err == nil {
		err = j.fsync(j.file)
	}
	j.mu.Lock()
	j.spare, j.leading = batch, false
	j.syncs++
	if err != nil {
		j.broken = err
	} else {
		j.durable = seq
	}
	j.synced.Broadcast()
}

// Syncs returns how often the journal waited for the disk since it was opened: far less often than it was asked to.
func (j *FileJournal) Syncs() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.syncs
}

// Status is how far a run has come in a journal.
type Status struct {
	Run      string
	About    string // what it was begun about
	Finished bool
	Records  int
	Doubtful string // key of an effect that was begun and whose result is not known, or ""
}

// Runs returns the status of every run, in the order in which they were begun.
func (j *FileJournal) Runs() []Status {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := make([]Status, 0, len(j.begun))
	for _, run := range j.begun {
		e := j.runs[run]
		out = append(out, Status{run, e.about, e.ended, len(e.spans), e.intent})
	}
	return out
}

// Close brings what is pending to disk and lets the file go. Runs that are under way are refused from then on.
func (j *FileJournal) Close() error {
	j.mu.Lock()
	last := j.seq
	j.mu.Unlock()
	err := j.Sync(last)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken == nil {
		j.broken = os.ErrClosed
	}
	return errors.Join(err, j.file.Close())
}

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
	lines := newLineReader(src)
	for number := int64(1); ; number++ {
		line, ended, err := lines.next()
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
