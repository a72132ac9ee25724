package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"assay/conductor/publication"
	"assay/core/fault"
	"assay/tlog"
)

// log checks the log, and that its leaves are the lines of the published files, each once and no other.
func (a *auditor) log() error {
	sub, err := fs.Sub(a.fsys, publication.LogDir)
	if err != nil {
		return err
	}
	w := &walker{fsys: a.fsys, seen: map[string]bool{}}
	signed, err := tlog.Check(sub, a.key, tlog.CheckOptions{Workers: a.Workers, Each: func(index int64, leaf []byte) error {
		a.report.Leaves++
		return w.leaf(index, leaf)
	}})
	if err != nil && w.file != nil {
		_ = w.file.Close()
	}
	var d *tlog.Damage
	if errors.As(err, &d) {
		return &Finding{File: publication.LogDir + "/" + d.File, Record: d.Entry, Offset: d.Offset, cause: err}
	}
	if err != nil {
		return err
	}
	if err := w.end(); err != nil {
		return err
	}
	c := signed.Checkpoint()
	a.order = w.order
	a.report.Size, a.report.Root = c.Size, fmt.Sprintf("%x", c.Root[:])
	return a.strays(w.seen)
}

// strays refuses files that no leaf names.
func (a *auditor) strays(seen map[string]bool) error {
	return fs.WalkDir(a.fsys, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == publication.LogDir:
			return fs.SkipDir // the log's check refuses strays of its own
		case d.IsDir(), seen[path], path == publication.KeyFile, path == publication.LatestFile:
			return nil
		}
		return find(path, 0, Stray.With())
	})
}

// walker follows the leaves through the files.
type walker struct {
	fsys  fs.FS
	seen  map[string]bool
	order []string
	path  string
	line  int // of the last leaf
	file  fs.File
	in    *bufio.Reader
	buf   []byte
	leaf2 []byte
}

// leaf checks one leaf against the next line of its file.
func (w *walker) leaf(index int64, leaf []byte) error {
	path, number, ok := parseLeaf(leaf)
	if !ok {
		return find(publication.LogDir, int(index), BadLeaf.With(fault.Int("leaf", index)))
	}
	if path != w.path {
		if err := w.next(index, path); err != nil {
			return err
		}
	}
	if number != w.line+1 {
		return find(path, w.line+1, BadLeaf.With(fault.Int("leaf", index), fault.Int("names_line", int64(number))))
	}
	w.line = number
	line, err := w.read()
	if err != nil {
		return find(path, number, err)
	}
	if w.leaf2 = publication.Leaf(w.leaf2[:0], path, number, line); !bytes.Equal(w.leaf2, leaf) {
		return find(path, number, Changed.With(fault.Int("leaf", index)))
	}
	return nil
}

// next ends one file and begins another.
func (w *walker) next(index int64, path string) error {
	if err := w.end(); err != nil {
		return err
	}
	if w.seen[path] || !fs.ValidPath(path) || path == publication.KeyFile || path == publication.LatestFile {
		return find(path, 0, BadLeaf.With(fault.Int("leaf", index)))
	}
	f, err := w.fsys.Open(path)
	if err != nil {
		return find(path, 0, Missing.Because(err))
	}
	w.order = append(w.order, path)
	w.seen[path], w.path, w.line, w.file = true, path, 0, f
	if w.in == nil {
		w.in = bufio.NewReaderSize(f, 1<<16)
	} else {
		w.in.Reset(f)
	}
	return nil
}

// end refuses lines behind the last that the log names.
func (w *walker) end() error {
	if w.file == nil {
		return nil
	}
	line, err := w.read()
	closed := w.file.Close()
	w.file = nil
	if !errors.Is(err, Missing.With()) || len(line) > 0 {
		if err != nil && !errors.Is(err, Missing.With()) {
			return find(w.path, w.line+1, err)
		}
		return find(w.path, w.line+1, Stray.With())
	}
	return closed
}

// read returns the next line without its end. At the end of the file it is Missing.
func (w *walker) read() ([]byte, error) {
	w.buf = w.buf[:0]
	for {
		part, err := w.in.ReadSlice('\n')
		w.buf = append(w.buf, part...)
		switch {
		case err == nil:
			return w.buf[:len(w.buf)-1], nil
		case len(w.buf) > publication.MaxLine:
			return nil, BadFile.With(fault.Str("why", "a line is too long"))
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(w.buf) == 0:
			return nil, Missing.With()
		case errors.Is(err, io.EOF):
			return nil, BadFile.With(fault.Str("why", "the last line has no end"))
		default:
			return nil, err
		}
	}
}

// parseLeaf splits a leaf into the file's path and the line's number.
func parseLeaf(leaf []byte) (path string, number int, ok bool) {
	last := bytes.LastIndexByte(leaf, ' ')
	if last < 0 {
		return "", 0, false
	}
	mid := bytes.LastIndexByte(leaf[:last], ' ')
	if mid < 1 {
		return "", 0, false
	}
	number, err := strconv.Atoi(string(leaf[mid+1 : last]))
	return string(leaf[:mid]), number, err == nil && number > 0
}
