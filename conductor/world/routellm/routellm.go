// Package routellm makes a world of the public response tables of the RouteLLM project.
//
// Invariants:
//   - A table has a column of prompts, a column of True and False for each model, and mostly one of responses.
//   - The tables hold no prices: a model for which none is given is refused by name.
//   - The tables hold no token counts, so every cost is estimated and flagged.
//
// Specification: docs/spec/world.md.
package routellm

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/world"
	"assay/core/canon"
)

// Options settle what a table does not say.
type Options struct {
	File      string                     // name of the table in defects
	Benchmark string                     // for instance "GSM8K"; task ids are made of it and the row's number
	Metric    string                     // how answers are scored, for instance "final_number"
	Models    map[string]world.Model     // by column
	Reference func(prompt string) string // nil: none; recorded scores then stand alone
}

const responseSuffix = "_response"

// Import reads a table: CSV with a header, or a JSON list of objects with the same keys.
// Where anything is wrong the world is nil and every defect is listed.
func Import(text []byte, o Options) (*world.World, []world.Defect) {
	var b world.Builder
	var t table
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // spreadsheets write a byte-order mark
	if head := bytes.TrimLeft(text, " \t\r\n"); len(head) > 0 && head[0] == '[' {
		t.readJSON(&b, text, o.File)
	} else {
		t.readCSV(&b, text, o.File)
	}
	t.build(&b, o)
	return b.Done()
}

// table is a header and its rows, each as long as the header.
type table struct {
	columns []string
	rows    [][]string
	lines   []int
}

func (t *table) readCSV(b *world.Builder, text []byte, file string) {
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	for {
		fields, err := r.Read()
		if err == io.EOF {
			return
		}
		var bad *csv.ParseError
		if errors.As(err, &bad) {
			b.Defect(world.Place{File: file, Line: bad.Line}, world.NotCSV, "")
			return
		}
		line, _ := r.FieldPos(0)
		at := world.Place{File: file, Line: line}
		switch {
		case t.columns == nil:
			t.columns = fields
		case len(fields) != len(t.columns):
			b.Defect(at, world.NotCSV, "%d fields, the header has %d", len(fields), len(t.columns))
		default:
			t.rows, t.lines = append(t.rows, fields), append(t.lines, line)
		}
	}
}

func (t *table) readJSON(b *world.Builder, text []byte, file string) {
	at := world.Place{File: file}
	var list []map[string]jsontext.Value
	if !b.Decode(at, text, &list) {
		return
	}
	for i, object := range list {
		if i == 0 {
			t.columns = slices.Sorted(maps.Keys(object))
		}
		row := make([]string, len(t.columns))
		for j, key := range t.columns {
			v, ok := object[key]
			if !ok {
				b.Defect(at, world.MissingField, "row %d has no %s", i+1, world.Quote(key))
			}
			row[j] = cell(v)
		}
		t.rows, t.lines = append(t.rows, row), append(t.lines, 0)
	}
}

// cell writes a JSON value as a CSV field has it.
func cell(v jsontext.Value) string {
	if v.Kind() == '"' {
		return canon.Text(v)
	}
	return string(v)
}

// model is where a model's marks and responses stand; response is -1 where there are none.
type model struct {
	id             string
	mark, response int
}

func (t *table) build(b *world.Builder, o Options) {
	head := world.Place{File: o.File, Line: 1}
	prompt := slices.Index(t.columns, "prompt")
	if prompt < 0 {
		b.Defect(head, world.MissingField, "no column is called prompt")
		return
	}
	models := t.models(b, head, o)
	if len(models) == 0 {
		b.Defect(head, world.MissingField, "no column is a model's")
		return
	}
	id := func(i int) string { return fmt.Sprintf("%s_%04d", strings.ToLower(o.Benchmark), i) }
	for i, row := range t.rows {
		task := world.Task{ID: id(i), Benchmark: o.Benchmark, Prompt: row[prompt], Metric: o.Metric}
		if o.Reference != nil {
			task.Reference = o.Reference(task.Prompt)
		}
		b.AddTask(world.Place{File: o.File, Line: t.lines[i]}, task)
	}
	for i, row := range t.rows {
		at := world.Place{File: o.File, Line: t.lines[i]}
		for _, m := range models {
			r := world.Recorded{TaskID: id(i), Model: m.id, OK: true, Score: new(float64)}
			switch strings.ToLower(row[m.mark]) {
			case "true":
				*r.Score = 1
			case "false":
			default:
				b.Defect(at, world.WrongType, "column %s holds %s, not True or False", world.Quote(t.columns[m.mark]), world.Quote(row[m.mark]))
				continue
			}
			if m.response >= 0 {
				r.Text = row[m.response]
			}
			b.AddOutcome(at, r)
		}
	}
}

// models finds the models' columns: those that Options name, and those that a column of responses belongs to.
func (t *table) models(b *world.Builder, at world.Place, o Options) []model {
	var models []model
	for i, column := range t.columns {
		response := slices.Index(t.columns, column+responseSuffix)
		m, known := o.Models[column]
		switch {
		case known:
			b.AddModel(at, m.ID, &m.In, &m.Out, m.Context)
			if response < 0 {
				b.Note(at, world.MissingField, "the answers of %s were not recorded, only whether they were right", world.Quote(column))
			}
		case response >= 0:
			b.AddModel(at, column, nil, nil, 1)
			m.ID = column
		default:
			continue
		}
		models = append(models, model{id: m.ID, mark: i, response: response})
	}
	for _, column := range slices.Sorted(maps.Keys(o.Models)) {
		if !slices.Contains(t.columns, column) {
			b.Defect(at, world.UnknownModel, "no column %s", world.Quote(column))
		}
	}
	return models
}
