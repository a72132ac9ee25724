// Package audit recomputes a publication from its files alone: every slice, prompt, request, receipt, score, verdict and
// weight, and names the first byte that is not what it should be.
//
// Invariants:
//   - Nothing is believed because it is signed: what follows from the rules is derived again and compared byte for byte.
//   - What cannot be derived (a grade, a served model, who is registered) is counted and named as attested.
//   - A finding names a file and a record of it, and the first byte that differs where both sides are known.
//
// Specification: docs/spec/audit.md.
package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strconv"

	"assay/conductor/publication"
	"assay/conductor/round"
	"assay/conductor/window"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/sign"
	"assay/tlog"
)

// The refusals of this room.
var (
	Changed   = fault.NewCode("audit.changed", fault.Unauthenticated, "a published line is not what the log holds")
	Missing   = fault.NewCode("audit.missing", fault.NotFound, "a file or line that the publication needs is not there")
	Stray     = fault.NewCode("audit.stray", fault.Invalid, "a file is there that the log does not know")
	BadLeaf   = fault.NewCode("audit.bad_leaf", fault.Invalid, "a leaf of the log does not name the next line of a published file")
	Differs   = fault.NewCode("audit.differs", fault.NotAllowed, "a published record is not what follows from the rules")
	BadFile   = fault.NewCode("audit.bad_file", fault.Invalid, "a file is not of whole lines")
	OtherKey  = fault.NewCode("audit.other_key", fault.Unauthenticated, "the publication names another key than the pinned one")
	BadRecord = fault.NewCode("audit.bad_record", fault.Invalid, "a published record cannot be read")
)

// Finding is the first thing that is wrong. It is an error whose code says what.
type Finding struct {
	File   string // path in the publication
	Record int64  // line, from 1; in the log's files the index of the entry; 0 where the whole file is meant
	Offset int64  // first byte of the record that differs; -1 where it is unknown
	Want   string // bytes there that follow from the rules, quoted; "" where they are unknown
	Got    string // bytes that stand there
	cause  error
}

// Error says what is wrong and where.
func (f *Finding) Error() string {
	s := f.File
	if f.Record > 0 {
		s += ", record " + strconv.FormatInt(f.Record, 10)
	}
	if f.Offset >= 0 {
		s += ", byte " + strconv.FormatInt(f.Offset, 10)
	}
	s += ": " + f.cause.Error()
	if f.Want != "" || f.Got != "" {
		s += fmt.Sprintf(" (%s follows from the rules, %s stands there)", f.Want, f.Got)
	}
	return s
}

// Unwrap returns the refusal.
func (f *Finding) Unwrap() error { return f.cause }

// find makes a finding of a record. An error that is one already keeps its place.
func find(file string, record int, err error) error {
	var f *Finding
	if err == nil || errors.As(err, &f) {
		return err
	}
	return &Finding{File: file, Record: int64(record), Offset: -1, cause: err}
}

// compare finds the first byte in which a record differs from what follows from the rules.
func compare(file string, record int, want, got []byte, what string) error {
	if bytes.Equal(want, got) {
		return nil
	}
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	return &Finding{
		File: file, Record: int64(record), Offset: int64(at), Want: excerpt(want, at), Got: excerpt(got, at), cause: Differs.With(fault.Str("record", what)),
	}
}

// excerpt quotes the bytes around an offset.
func excerpt(b []byte, at int) string {
	return strconv.Quote(string(b[max(0, min(at-8, len(b))):min(len(b), at+24)]))
}

// Options are the settings of an audit. The zero Options are good.
type Options struct {
	Workers  int // at a time; as many as there are processors by default
	Progress func(done Counts)
	tells    func(Request) error
	// Repository opens the repository that a task's reads looked into; nil, or a nil tree, leaves observations as attested.
	Repository func(id, group string) (fs.FS, error)
	Only       int64 // audit only this window's arms and reveal; the log and all records are read all the same
}

// Counts say what was recomputed.
type Counts struct {
	Leaves       int64 `json:"leaves"`
	Arms         int64 `json:"arms"`
	Episodes     int64 `json:"episodes"`
	Steps        int64 `json:"steps"`
	Requests     int64 `json:"requests"`
	Receipts     int64 `json:"receipts"`
	Observations int64 `json:"observations"` // that were made again in the repositories
}

// Report is what an audit found right.
type Report struct {
	Counts
	Holds    bool           `json:"holds"` // true: what does not hold is an error and no report
	Key      string         `json:"key"`
	Size     int64          `json:"log_size"` // leaves of the log
	Root     string         `json:"log_root"`
	Schedule string         `json:"schedule_root"` // root of the schedule, which the chain holds since before anybody submitted; "" without windows
	Windows  []WindowReport `json:"windows"`
	Attested []string       `json:"attested"` // what the publication says and nobody can recompute
}

// WindowReport is one window.
type WindowReport struct {
	Window   int64    `json:"window"`
	Nonce    string   `json:"nonce"` // hash of the chain's block
	Block    int64    `json:"block"` // number of that block
	Revealed bool     `json:"revealed"`
	Tasks    int      `json:"tasks"`
	Arms     []string `json:"arms"`
	Crowned  string   `json:"crowned"`
	Reigns   string   `json:"reigns"`
	Notes    []string `json:"notes"`
}

// Audit recomputes a publication under the pinned key. Its error is a *Finding, or says why a file could not be read.
func Audit(fsys fs.FS, key tlog.VerifierKey, o Options) (*Report, error) {
	if o.Workers < 1 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	a := &auditor{fsys: fsys, key: key, Options: o, report: &Report{Holds: true, Key: key.String()}}
	for _, step := range []func() error{a.keyFile, a.log, a.windows} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	a.report.Attested = attested()
	return a.report, nil
}

// attested lists what no stranger can recompute.
func attested() []string {
	return []string{
		"grades: worker answers are not published, only digests of the outcome rows",
		"what each call cost and which model served it: the owner's gateway signed it",
		"who was registered and what the chain's blocks were: compare nonces and metagraphs with the chain",
		"clocks and allowances that cut an episode or an arm off, and why submissions were refused or skipped",
		"draws that were bought again for the retest",
	}
}

// auditor is one audit under way.
type auditor struct {
	Options
	fsys   fs.FS
	key    tlog.VerifierKey
	report *Report
	order  []string // files in the order in which the log names them
}

// keyFile checks that the publication names the pinned key.
func (a *auditor) keyFile() error {
	text, err := fs.ReadFile(a.fsys, publication.KeyFile)
	if err != nil {
		return find(publication.KeyFile, 0, Missing.Because(err))
	}
	if string(text) == a.key.String()+"\n" {
		return nil
	}
	f := compare(publication.KeyFile, 1, []byte(a.key.String()+"\n"), text, "key").(*Finding)
	f.cause = OtherKey.With()
	return f
}

// open opens an envelope of the owner's that is a file of one line.
func (a *auditor) open(file string) (canon.Object, error) {
	line, err := a.only(file)
	if err != nil {
		return nil, err
	}
	record, err := sign.Open(line, a.key.Key())
	return record, find(file, 1, err)
}

// only reads a file of one line.
func (a *auditor) only(file string) ([]byte, error) {
	text, err := fs.ReadFile(a.fsys, file)
	if err != nil {
		return nil, find(file, 0, Missing.Because(err))
	}
	if len(text) == 0 || bytes.IndexByte(text, '\n') != len(text)-1 {
		return nil, find(file, 0, BadFile.With())
	}
	return text[:len(text)-1], nil
}

// numbers lists the published windows.
func (a *auditor) numbers() ([]int64, error) {
	entries, err := fs.ReadDir(a.fsys, publication.WindowsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []int64
	for _, e := range entries {
		n, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil || publication.WindowDir(n) != publication.WindowsDir+"/"+e.Name() || n < 1 {
			return nil, find(publication.WindowsDir+"/"+e.Name(), 0, Stray.With())
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return out, nil
}

// windows audits every window in turn.
func (a *auditor) windows() error {
	numbers, err := a.numbers()
	if err != nil {
		return err
	}
	if a.Only != 0 && !slices.Contains(numbers, a.Only) {
		return find(publication.WindowDir(a.Only), 0, NotFound.With(fault.Int("window", a.Only)))
	}
	if len(numbers) == 0 {
		return a.inOrder(nil)
	}
	schedule, err := a.schedule()
	if err != nil {
		return err
	}
	a.report.Schedule = schedule.Root
	last, reveals, err := a.each(numbers, schedule)
	if err != nil {
		return err
	}
	if err := a.inOrder(reveals); err != nil {
		return err
	}
	return a.latest(last)
}

// each audits the windows. Only the last one may still wait for its reveal.
func (a *auditor) each(numbers []int64, schedule window.Manifest) (last *round.Reveal, reveals []revealedWindow, err error) {
	var revealed []string
	for i, n := range numbers {
		w, err := a.openWindow(n, schedule, revealed)
		if err != nil {
			return nil, nil, err
		}
		if i > 0 && n != numbers[i-1]+1 {
			w.notes = append(w.notes, fmt.Sprintf("no window was held between %d and %d", numbers[i-1], n))
		}
		revealed = append(revealed, w.record.TaskIDs...)
		r, err := a.window(w, last)
		if err != nil {
			return nil, nil, err
		}
		if r == nil && i < len(numbers)-1 {
			return nil, nil, find(path.Join(w.dir, publication.RevealFile), 0, Missing.With(fault.Str("why", "a later window was opened")))
		}
		if r != nil {
			last = r
		}
		reveals = append(reveals, revealedWindow{w.dir, r})
	}
	return last, reveals, nil
}

// revealedWindow is a window and its reveal, nil where it waits for it.
type revealedWindow struct {
	dir    string
	reveal *round.Reveal
}

// latest checks the pointer to the newest window.
func (a *auditor) latest(last *round.Reveal) error {
	text, err := fs.ReadFile(a.fsys, publication.LatestFile)
	switch {
	case last == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return find(publication.LatestFile, 0, Missing.Because(err))
	case last == nil:
		return find(publication.LatestFile, 1, Stray.With())
	}
	want, err := canon.Marshal(publication.Latest{Window: last.Window})
	if err != nil {
		return err
	}
	return compare(publication.LatestFile, 1, append(want, '\n'), text, "the newest window")
}

// Opening checks one window's opening, before anything of it is revealed: that its record follows from the committed schedule, the
// pool, the nonce and what earlier windows revealed, and that its rules are the committed ones. root is the schedule's, as it is on
// the chain: compare it, and the nonce, there.
func Opening(fsys fs.FS, key tlog.VerifierKey, n int64) (w WindowReport, nonce, root string, err error) {
	a := &auditor{fsys: fsys, key: key, Options: Options{Workers: runtime.GOMAXPROCS(0)}, report: &Report{}}
	for _, step := range []func() error{a.keyFile, a.log} {
		if err := step(); err != nil {
			return w, "", "", err
		}
	}
	numbers, err := a.numbers()
	if err != nil {
		return w, "", "", err
	}
	schedule, err := a.schedule()
	if err != nil {
		return w, "", "", err
	}
	var revealed []string
	for _, k := range numbers {
		o, err := a.openWindow(k, schedule, revealed)
		if err != nil {
			return w, "", "", err
		}
		if k == n {
			return WindowReport{Window: n, Tasks: len(o.slice), Notes: o.notes}, o.record.Nonce, schedule.Root, nil
		}
		revealed = append(revealed, o.record.TaskIDs...)
	}
	return w, "", "", find(publication.WindowDir(n), 0, Missing.With(fault.Int("window", n)))
}
