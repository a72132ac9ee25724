package world

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"assay/core/canon"
)

// Read reads the world in the root of fsys. Where anything is wrong the world is nil and every defect is listed, also every
// defect of one row; what only follows from a row that was refused is not.
// Unknown fields are let pass: public data carries more than a world needs.
func Read(fsys fs.FS) (*World, []Defect) {
	var b Builder
	b.readModels(fsys)
	b.notEmpty(ModelsFile, "model", len(b.w.Models))
	whole := b.EachLine(fsys, TasksFile, func(at Place, line []byte) {
		var t taskRow
		d := b.decode(at, line, &t)
		b.addTask(at, Task(t), d)
	})
	b.lost.tasks = b.lost.tasks || !whole
	b.notEmpty(TasksFile, "task", len(b.w.Tasks))
	if exists(fsys, OutcomesFile) || exists(fsys, OutcomesFile+".gz") {
		b.readOutcomes(fsys)
	}
	return b.Done()
}

// notEmpty notes that a file holds nothing, unless something else is already said of it.
func (b *Builder) notEmpty(file, what string, rows int) {
	told := slices.ContainsFunc(b.defects, func(d Defect) bool { return strings.TrimSuffix(d.File, ".gz") == file })
	if rows == 0 && !told {
		b.Defect(Place{File: file}, Empty, "no %s", what)
	}
}

func exists(fsys fs.FS, name string) bool {
	_, err := fs.Lstat(fsys, name)
	return !errors.Is(err, fs.ErrNotExist)
}

func (b *Builder) readOutcomes(fsys fs.FS) {
	b.Recorded(OutcomesFile)
	var o outcomeRow
	whole := b.EachLine(fsys, OutcomesFile, func(at Place, line []byte) {
		o = outcomeRow{}
		d := b.decode(at, line, &o)
		b.addOutcome(at, o.recorded(), d)
	})
	b.lost.outcomes = b.lost.outcomes || !whole
}

type modelRow struct {
	ID      string   `json:"id"`
	In      *float64 `json:"price_in_per_mtok"`
	Out     *float64 `json:"price_out_per_mtok"`
	Context *int64   `json:"context_length"`
}

type taskRow struct {
	ID        string   `json:"task_id"`
	Benchmark string   `json:"benchmark"`
	Prompt    string   `json:"prompt"`
	Tools     []string `json:"tools"`
	Group     string   `json:"group"`
	Reference string   `json:"reference"`
	Metric    string   `json:"metric"`
}

type outcomeRow struct {
	TaskID    string   `json:"task_id"`
	Model     string   `json:"model"`
	Output    string   `json:"output"`
	Failure   string   `json:"failure"`
	OK        *bool    `json:"ok"`
	Score     *float64 `json:"score"`
	Cost      *float64 `json:"cost_usd"`
	TokensIn  *int64   `json:"input_tokens"`
	TokensOut *int64   `json:"output_tokens"`
}

func (o *outcomeRow) recorded() Recorded {
	return Recorded{
		TaskID: o.TaskID, Model: o.Model, Text: o.Output, Failure: o.Failure, OK: o.OK == nil || *o.OK,
		Score: o.Score, Cost: o.Cost, TokensIn: o.TokensIn, TokensOut: o.TokensOut,
	}
}

// readModels reads the list of models, element by element so that each defect has its line.
func (b *Builder) readModels(fsys fs.FS) {
	text, at, ok := b.Document(fsys, ModelsFile)
	if !ok || !b.eachModel(at, text) {
		b.lost.models = true
	}
}

// eachModel returns false where the list could not be read to its end.
func (b *Builder) eachModel(at Place, text []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true)) // each element's reader finds them
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '[' {
		b.Defect(at, NotJSON, "not a list of models")
		return false
	}
	lines := lineCounter{text: text, line: 1}
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		start := int(d.InputOffset()) - len(v)
		var syntactic *jsontext.SyntacticError
		if errors.As(err, &syntactic) {
			start = int(syntactic.ByteOffset)
		}
		at.Line = lines.at(start)
		switch {
		case err != nil:
			b.badJSON(at, text, "", canon.Refuse(text, err))
			return false
		case len(b.w.Models) == MaxModels:
			b.Defect(at, TooLarge, "more than %d models", MaxModels)
			return false
		case b.more:
			return false
		}
		var m modelRow
		doubt := b.decode(at, v, &m)
		b.addModel(at, m, doubt)
	}
	if _, err := d.ReadToken(); err == nil {
		if _, err = d.ReadToken(); err == io.EOF {
			return true
		}
	}
	b.Defect(Place{File: at.File}, NotJSON, "text behind the list of models")
	return true
}

// lineCounter tells the lines of growing offsets in one pass over a text.
type lineCounter struct {
	text         []byte
	offset, line int
}

// at returns the line of an offset that is not before the last one.
func (c *lineCounter) at(offset int) int {
	offset = min(max(offset, c.offset), len(c.text))
	c.line += bytes.Count(c.text[c.offset:offset], []byte("\n"))
	c.offset = offset
	return c.line
}

// Document reads the whole of name, or of name.gz, up to MaxDoc bytes, without a byte-order mark at its head.
// Where it cannot it notes why.
func (b *Builder) Document(fsys fs.FS, name string) (text []byte, at Place, ok bool) {
	r, file, done := b.open(fsys, name)
	if r == nil {
		return nil, Place{}, false
	}
	defer done()
	at = Place{File: file}
	text, err := io.ReadAll(io.LimitReader(r, MaxDoc+1))
	switch {
	case err != nil:
		b.Defect(at, Unreadable, reason(err))
	case len(text) > MaxDoc:
		b.Defect(at, TooLarge, "more than %d bytes", MaxDoc)
	default:
		return bytes.TrimPrefix(text, mark), at, true
	}
	return nil, at, false
}

// mark is the byte-order mark that some editors and spreadsheets write at the head of a file.
var mark = []byte("\ufeff")

// open opens name or name.gz. It notes a defect and returns nil where neither can be read.
// It looks before it opens: to open a pipe would wait for somebody to write.
func (b *Builder) open(fsys fs.FS, name string) (r io.Reader, file string, done func()) {
	plain, packed := exists(fsys, name), exists(fsys, name+".gz")
	switch {
	case plain && packed:
		b.Defect(Place{File: name}, AmbiguousFile, "%s and %s.gz are both there", name, name)
		return nil, "", nil
	case !plain && !packed:
		b.Defect(Place{File: name}, MissingFile, "neither %s nor %s.gz is there", name, name)
		return nil, "", nil
	case packed:
		name += ".gz"
	}
	at := Place{File: name}
	info, err := fs.Lstat(fsys, name)
	if err == nil && !info.Mode().IsRegular() {
		b.Defect(at, Unreadable, "%s, not a regular file", fileKind(info.Mode()))
		return nil, "", nil
	}
	f, err := fsys.Open(name)
	if err != nil {
		b.Defect(at, Unreadable, reason(err))
		return nil, "", nil
	}
	if !packed {
		return f, name, func() { f.Close() }
	}
	z, err := unpack(f)
	if err != nil {
		f.Close()
		b.Defect(at, Unreadable, reason(err))
		return nil, "", nil
	}
	return z, name, func() { f.Close() }
}

func fileKind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a link"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	}
	return "a device or socket"
}

// EachLine calls f with every line of name, or of name.gz, that is not blank. The bytes are f's until it returns.
// A byte-order mark at the head of the file is passed over. Where a line cannot be read, or the file not to its end, EachLine
// notes why and returns false; so it does where more defects are found than are listed.
func (b *Builder) EachLine(fsys fs.FS, name string, f func(Place, []byte)) (whole bool) {
	r, file, done := b.open(fsys, name)
	if r == nil {
		return false
	}
	whole = true
	defer done()
	limited := &io.LimitedReader{R: r, N: MaxFile + 1}
	in := bufio.NewReaderSize(limited, 64<<10)
	at := Place{File: file}
	var buf []byte
	for {
		at.Line++
		line, long, err := readLine(in, buf[:0])
		buf = line
		if at.Line == 1 {
			line = bytes.TrimPrefix(line, mark)
		}
		switch {
		case b.more:
			return false // nothing that is found further on would be listed
		case limited.N <= 0:
			b.Defect(at, TooLarge, "more than %d bytes after decompression", MaxFile)
			return false
		case at.Line > MaxRows:
			b.Defect(at, TooLarge, "more than %d lines", MaxRows)
			return false
		case long:
			b.Defect(at, TooLarge, "line of more than %d bytes", MaxLine)
			whole = false
		case err != nil && err != io.EOF:
			b.Defect(at, Unreadable, reason(err))
			return false
		case len(bytes.TrimSpace(line)) > 0:
			f(at, line)
		}
		if err != nil {
			return whole
		}
	}
}

// readLine appends the next line to buf. A line beyond MaxLine is read to its end but not kept.
func readLine(in *bufio.Reader, buf []byte) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(buf)+len(part) > MaxLine {
			long = true
		} else if !long {
			buf = append(buf, part...)
		}
		if err != bufio.ErrBufferFull {
			return buf, long, err
		}
	}
}
