package world

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assay/core/fault"
)

// Read reads the world in the root of fsys. Where anything is wrong the world is nil and every defect is listed.
// Unknown fields are let pass: public data carries more than a world needs.
func Read(fsys fs.FS) (*World, []Defect) {
	var b Builder
	readModels(&b, fsys)
	eachLine(&b, fsys, TasksFile, true, func(at Place, line []byte) {
		var t taskRow
		if b.decode(at, line, &t) {
			b.AddTask(at, Task(t))
		}
	})
	var o outcomeRow
	eachLine(&b, fsys, OutcomesFile, false, func(at Place, line []byte) {
		o = outcomeRow{}
		if b.decode(at, line, &o) {
			b.AddOutcome(at, o.recorded())
		}
	})
	return b.Done()
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

// decode reads one JSON value into v, or notes why it cannot.
func (b *Builder) decode(at Place, text []byte, v any) bool {
	err := json.Unmarshal(text, v)
	if err == nil {
		return true
	}
	b.Defect(at, codeOf(err), detailOf(err, text))
	return false
}

func codeOf(err error) fault.Code {
	var semantic *json.SemanticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return DuplicateKey
	case errors.As(err, &semantic):
		return WrongType
	}
	return NotJSON
}

// detailOf names the field or the offset; the decoder's own words may quote the text without a bound.
func detailOf(err error, text []byte) string {
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntactic):
		return "duplicate key " + quote(syntactic.JSONPointer.LastToken())
	case errors.As(err, &semantic):
		return "field " + quote(string(semantic.JSONPointer)) + " has the wrong type or does not fit it"
	case errors.As(err, &syntactic) && isNotFinite(text[min(len(text), int(syntactic.ByteOffset)):]):
		return "not JSON: NaN and Infinity are no JSON numbers"
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return "not JSON: the text ends in the middle"
	}
	return ""
}

// isNotFinite reports whether text begins as other languages write a number that is not finite.
func isNotFinite(text []byte) bool {
	text = bytes.TrimLeft(text, "-: ")
	return bytes.HasPrefix(text, []byte("NaN")) || bytes.HasPrefix(text, []byte("Infinity"))
}

// readModels reads the list of models, element by element so that each defect has its line.
func readModels(b *Builder, fsys fs.FS) {
	r, file, done := open(b, fsys, ModelsFile, true)
	if r == nil {
		return
	}
	defer done()
	text, err := io.ReadAll(io.LimitReader(r, MaxLine+1))
	at := Place{File: file}
	switch {
	case err != nil:
		b.Defect(at, Unreadable, reason(err))
		return
	case len(text) > MaxLine:
		b.Defect(at, TooLarge, "more than %d bytes", MaxLine)
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
			b.Defect(at, codeOf(err), detailOf(err, text))
			return
		}
		var m modelRow
		if b.decode(at, v, &m) {
			b.AddModel(at, m.ID, m.In, m.Out, m.Context)
		}
	}
	if _, err := d.ReadToken(); err == nil {
		if _, err = d.ReadToken(); err == io.EOF {
			return
		}
	}
	b.Defect(Place{File: file}, NotJSON, "text behind the list of models")
}

// open opens name or name.gz. It notes a defect and returns nil where neither can be read, silently where an
// optional file is not there.
func open(b *Builder, fsys fs.FS, name string, required bool) (r io.Reader, file string, done func()) {
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
	case required:
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

// eachLine calls f with every line that is not blank. The bytes are f's until it returns.
func eachLine(b *Builder, fsys fs.FS, name string, required bool, f func(Place, []byte)) {
	r, file, done := open(b, fsys, name, required)
	if r == nil {
		return
	}
	defer done()
	if name == OutcomesFile {
		b.Recorded(file)
	}
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
