package world

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assay/core/canon"
	"assay/core/fault"
)

// Read reads the world in the root of fsys. Where anything is wrong the world is nil and every defect is listed.
// Unknown fields are let pass: public data carries more than a world needs.
func Read(fsys fs.FS) (*World, []Defect) {
	var b Builder
	b.readModels(fsys)
	b.notEmpty(ModelsFile, "model", len(b.w.Models))
	b.EachLine(fsys, TasksFile, func(at Place, line []byte) {
		var t taskRow
		if b.Decode(at, line, &t) {
			b.AddTask(at, Task(t))
		}
	})
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
	f, err := fsys.Open(name)
	if err == nil {
		f.Close()
	}
	return !errors.Is(err, fs.ErrNotExist)
}

func (b *Builder) readOutcomes(fsys fs.FS) {
	b.Recorded(OutcomesFile)
	var o outcomeRow
	b.EachLine(fsys, OutcomesFile, func(at Place, line []byte) {
		o = outcomeRow{}
		if b.Decode(at, line, &o) {
			b.AddOutcome(at, o.recorded())
		}
	})
}

type modelRow struct {
	ID      string   `json:"id"`
	In      *float64 `json:"price_in_per_mtok"`
	Out     *float64 `json:"price_out_per_mtok"`
	Context int64    `json:"context_length"`
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

// Decode reads one JSON value into v, or notes why it cannot and returns false.
func (b *Builder) Decode(at Place, text []byte, v any) bool {
	err := canon.Lenient(text, v)
	if err != nil {
		b.badJSON(at, err)
	}
	return err == nil
}

// badJSON notes what core/canon refused. It names the field or the key; a decoder's own words may quote without a bound.
func (b *Builder) badJSON(at Place, err error) {
	var meaning *json.SemanticError
	var syntax *jsontext.SyntacticError
	switch code := fault.Of(err); {
	case code == canon.DuplicateKey && errors.As(err, &syntax):
		b.Defect(at, DuplicateKey, "duplicate key "+Quote(syntax.JSONPointer.LastToken()))
	case code == canon.WrongType && errors.As(err, &meaning):
		b.Defect(at, WrongType, "field "+Quote(string(meaning.JSONPointer))+" has the wrong type or does not fit it")
	case code == canon.NotFinite:
		b.Defect(at, NotJSON, "not JSON: NaN and Infinity are no JSON numbers")
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		b.Defect(at, NotJSON, "not JSON: the text ends in the middle")
	default:
		b.Defect(at, NotJSON, "")
	}
}

// readModels reads the list of models, element by element so that each defect has its line.
func (b *Builder) readModels(fsys fs.FS) {
	text, at, ok := b.Document(fsys, ModelsFile)
	if !ok {
		return
	}
	d := jsontext.NewDecoder(bytes.NewReader(text))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '[' {
		b.Defect(at, NotJSON, "not a list of models")
		return
	}
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		start := int(d.InputOffset()) - len(v)
		var syntactic *jsontext.SyntacticError
		if errors.As(err, &syntactic) {
			start = int(syntactic.ByteOffset)
		}
		at.Line = 1 + bytes.Count(text[:min(start, len(text))], []byte("\n"))
		if err != nil {
			b.badJSON(at, canon.Refuse(text, err))
			return
		}
		var m modelRow
		if b.Decode(at, v, &m) {
			b.AddModel(at, m.ID, m.In, m.Out, m.Context)
		}
	}
	if _, err := d.ReadToken(); err == nil {
		if _, err = d.ReadToken(); err == io.EOF {
			return
		}
	}
	b.Defect(Place{File: at.File}, NotJSON, "text behind the list of models")
}

// Document reads the whole of name, or of name.gz, up to MaxDoc bytes. Where it cannot it notes why.
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
		return text, at, true
	}
	return nil, at, false
}

// open opens name or name.gz. It notes a defect and returns nil where neither can be read.
func (b *Builder) open(fsys fs.FS, name string) (r io.Reader, file string, done func()) {
	plain, err1 := fsys.Open(name)
	packed, err2 := fsys.Open(name + ".gz")
	switch {
	case err1 == nil && err2 == nil:
		plain.Close()
		packed.Close()
		b.Defect(Place{File: name}, AmbiguousFile, "%s and %s.gz are both there", name, name)
	case err1 == nil:
		return plain, name, func() { plain.Close() }
	case err2 == nil:
		z, err := gzip.NewReader(packed)
		if err == nil {
			return z, name + ".gz", func() { packed.Close() }
		}
		packed.Close()
		b.Defect(Place{File: name + ".gz"}, Unreadable, reason(err))
	case !errors.Is(err1, fs.ErrNotExist):
		b.Defect(Place{File: name}, Unreadable, reason(err1))
	case !errors.Is(err2, fs.ErrNotExist):
		b.Defect(Place{File: name + ".gz"}, Unreadable, reason(err2))
	default:
		b.Defect(Place{File: name}, MissingFile, "neither %s nor %s.gz is there", name, name)
	}
	return nil, "", nil
}

// reason says in fixed words why a stream broke.
func reason(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the compressed data ends in the middle"
	case errors.Is(err, gzip.ErrHeader):
		return "not gzip, or something else behind it"
	case errors.Is(err, gzip.ErrChecksum):
		return "the compressed data is damaged: checksum"
	case strings.HasPrefix(err.Error(), "flate:"):
		return "the compressed data is damaged"
	}
	return "cannot be read"
}

// EachLine calls f with every line of name, or of name.gz, that is not blank. The bytes are f's until it returns.
// Where the file cannot be read, or not to its end, it notes why.
func (b *Builder) EachLine(fsys fs.FS, name string, f func(Place, []byte)) {
	r, file, done := b.open(fsys, name)
	if r == nil {
		return
	}
	defer done()
	limited := &io.LimitedReader{R: r, N: MaxFile + 1}
	in := bufio.NewReaderSize(limited, 64<<10)
	at := Place{File: file}
	var buf []byte
	for {
		at.Line++
		line, long, err := readLine(in, buf[:0])
		buf = line
		switch {
		case limited.N <= 0:
			b.Defect(at, TooLarge, "more than %d bytes after decompression", MaxFile)
			return
		case at.Line > MaxRows:
			b.Defect(at, TooLarge, "more than %d lines", MaxRows)
			return
		case long:
			b.Defect(at, TooLarge, "line of more than %d bytes", MaxLine)
		case err != nil && err != io.EOF:
			b.Defect(at, Unreadable, reason(err))
			return
		case len(bytes.TrimSpace(line)) > 0:
			f(at, line)
		}
		if err != nil {
			return
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
