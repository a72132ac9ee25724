package routellm

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/world"
	"assay/core/canon"
)

// table is a header and its rows, each as long as the header.
type table struct {
	columns []string
	head    int // the header's line; 0 for a list of objects
	rows    [][]string
	lines   []int
	short   bool // rows were refused, so that the others may have other numbers than in the file
}

// find returns where a column stands.
func (t *table) find(column string) (int, bool) {
	i := slices.Index(t.columns, column)
	return i, i >= 0
}

// readTable returns nil where the table could not be read to its end; the reason is noted.
func readTable(b *world.Builder, text []byte, file string) *table {
	t := &table{}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // spreadsheets write a byte-order mark
	read := t.readCSV
	if head := bytes.TrimLeft(text, " \t\r\n"); len(head) > 0 && head[0] == '[' {
		read = t.readJSON
	}
	if !read(b, text, file) {
		return nil
	}
	seen := map[string]bool{}
	for _, column := range t.columns {
		if seen[column] {
			b.Defect(world.Place{File: file, Line: t.head}, world.DuplicateKey, "two columns are called %s", world.Quote(column))
		}
		seen[column] = true
	}
	return t
}

func (t *table) readCSV(b *world.Builder, text []byte, file string) bool {
	t.head = 1
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	for {
		fields, err := r.Read()
		if err == io.EOF {
			return true
		}
		var bad *csv.ParseError
		if errors.As(err, &bad) {
			why := "a quote that is never closed"
			if errors.Is(err, csv.ErrBareQuote) {
				why = "a quote in a field that does not begin with one"
			}
			b.Defect(world.Place{File: file, Line: bad.StartLine}, world.NotCSV, "not CSV: %s, found on line %d", why, bad.Line)
			return false
		}
		line, _ := r.FieldPos(0)
		at := world.Place{File: file, Line: line}
		switch {
		case t.columns == nil:
			t.columns, t.head = fields, line
		case len(fields) != len(t.columns):
			b.Defect(at, world.NotCSV, "%d fields, the header has %d", len(fields), len(t.columns))
			t.short = true
		default:
			t.rows, t.lines = append(t.rows, fields), append(t.lines, line)
		}
	}
}

func (t *table) readJSON(b *world.Builder, text []byte, file string) bool {
	at := world.Place{File: file}
	var list []map[string]jsontext.Value
	if !b.Decode(at, text, &list) {
		return false
	}
	for i, object := range list {
		if i == 0 {
			t.columns = slices.Sorted(maps.Keys(object))
		}
		row := make([]string, len(t.columns))
		whole := true
		for j, key := range t.columns {
			v, ok := object[key]
			if !ok {
				b.Defect(at, world.MissingField, "row %d has no %s", i, world.Quote(key))
				whole = false
			}
			row[j] = cell(v)
		}
		if t.short = t.short || !whole; whole {
			t.rows, t.lines = append(t.rows, row), append(t.lines, 0)
		}
	}
	return true
}

// cell writes a JSON value as a CSV field has it.
func cell(v jsontext.Value) string {
	if v.Kind() == '"' {
		return canon.Text(v)
	}
	return string(v)
}
