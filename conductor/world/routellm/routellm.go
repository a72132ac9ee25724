// Package routellm makes a world of the public response tables of the RouteLLM project.
//
// Invariants:
//   - A table has a column of prompts, a column of marks (true and false, or 1 and 0) for each model, and mostly one of responses.
//   - The tables hold no prices: a model is taken with the price that Options give it, and never without one.
//   - The tables hold no token counts, so every cost is estimated and flagged.
//   - A metric that is computed here is never applied to answers that were not recorded.
//
// Specification: docs/spec/world.md.
package routellm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/conductor/grade"
	"assay/conductor/world"
)

// Options settle what a table does not say.
type Options struct {
	File            string                 // name of the table in defects
	Benchmark       string                 // for instance "GSM8K"; task ids are made of it and the row's number
	Metric          string                 // how answers are scored, for instance "final_number"
	Models          map[string]world.Model // by column; where none is named every column that has responses is asked for a price
	ReferenceColumn string                 // column of the references; "" for none
	References      *References            // references from elsewhere, where no column holds them; nil: none
}

const (
	promptColumn   = "prompt"
	responseSuffix = "_response"
)

// Import reads a table: CSV with a header, or a JSON list of objects with the same keys.
// Where anything is wrong the world is nil and every defect is listed. Columns that nothing names are noted.
func Import(text []byte, o Options) (*world.World, []world.Defect) {
	var b world.Builder
	if t := readTable(&b, text, o.File); t != nil {
		t.build(&b, o)
	}
	return b.Done()
}

// Column is a column of a table.
type Column struct {
	Name    string
	Marks   bool // every row says whether an answer was right
	Answers bool // another column holds the answers
}

// Columns lists a table's columns, of whose models an importer must know the prices.
func Columns(text []byte, file string) ([]Column, []world.Defect) {
	var b world.Builder
	t := readTable(&b, text, file)
	if t == nil {
		return nil, b.Defects()
	}
	list := make([]Column, len(t.columns))
	for i, name := range t.columns {
		_, answers := t.find(name + responseSuffix)
		c := Column{Name: name, Marks: len(t.rows) > 0, Answers: answers}
		for _, row := range t.rows {
			_, ok := markOf(row[i])
			c.Marks = c.Marks && ok
		}
		list[i] = c
	}
	return list, nil
}

// markOf reads whether an answer was right.
func markOf(cell string) (score float64, ok bool) {
	switch strings.ToLower(strings.TrimSpace(cell)) {
	case "true", "1", "1.0":
		return 1, true
	case "false", "0", "0.0":
		return 0, true
	}
	return 0, false
}

// model is where a model's marks and responses stand; response is -1 where there are none.
type model struct {
	id             string
	mark, response int
}

func (t *table) build(b *world.Builder, o Options) {
	head := world.Place{File: o.File, Line: t.head}
	prompt, ok := t.find(promptColumn)
	if !ok {
		b.Defect(head, world.MissingField, "no column is called %s", promptColumn)
	}
	reference, found := t.find(o.ReferenceColumn)
	if o.ReferenceColumn != "" && !found {
		b.Defect(head, world.MissingField, "no column %s", world.Quote(o.ReferenceColumn))
	}
	models := t.models(b, head, o)
	if len(models) == 0 && len(o.Models) == 0 {
		b.Defect(head, world.MissingField, "no column is a model's")
	}
	if !ok || len(models) == 0 || o.ReferenceColumn != "" && !found {
		return
	}
	id := func(i int) string { return fmt.Sprintf("%s_%04d", strings.ToLower(o.Benchmark), i) }
	for i, row := range t.rows {
		at := world.Place{File: o.File, Line: t.lines[i]}
		task := world.Task{ID: id(i), Benchmark: o.Benchmark, Prompt: row[prompt], Metric: o.Metric}
		switch {
		case found:
			task.Reference = row[reference]
		case o.References != nil:
			if task.Reference, ok = o.References.find(i, task.Prompt); !ok && !t.short {
				b.Defect(at, world.MissingField, "no reference for row %d, whose prompt is %s", i, world.Quote(task.Prompt))
			}
		}
		b.AddTask(at, task)
	}
	for i, row := range t.rows {
		at := world.Place{File: o.File, Line: t.lines[i]}
		for _, m := range models {
			score, ok := markOf(row[m.mark])
			if !ok {
				b.Defect(at, world.WrongType, "column %s holds %s, which is neither true, false, 1 nor 0", world.Quote(t.columns[m.mark]), world.Quote(row[m.mark]))
			}
			r := world.Recorded{TaskID: id(i), Model: m.id, OK: true, Score: &score}
			if m.response >= 0 {
				r.Text = row[m.response]
			}
			b.AddOutcome(at, r)
		}
	}
}

// models finds the models' columns: those that Options name or, where they name none, those that a column of responses belongs
// to. The others are noted.
func (t *table) models(b *world.Builder, at world.Place, o Options) []model {
	var models []model
	used := map[string]bool{promptColumn: true, o.ReferenceColumn: true}
	for i, column := range t.columns {
		response, answered := t.find(column + responseSuffix)
		m, known := o.Models[column]
		switch {
		case known:
			b.AddModel(at, m.ID, &m.In, &m.Out, m.Context)
		case answered && len(o.Models) == 0:
			b.AddModel(at, column, nil, nil, 1)
			m.ID = column
		default:
			continue
		}
		if !answered {
			response = -1
			t.unanswered(b, at, column, o.Metric)
		}
		used[column], used[column+responseSuffix] = true, true
		models = append(models, model{id: m.ID, mark: i, response: response})
	}
	for _, column := range slices.Sorted(maps.Keys(o.Models)) {
		if !slices.Contains(t.columns, column) {
			b.Defect(at, world.UnknownModel, "no column %s", world.Quote(column))
		}
	}
	for _, column := range t.columns {
		if !used[column] {
			b.Note(at, world.UnknownModel, "column %s is ignored: nothing names it", world.Quote(column))
		}
	}
	return models
}

// unanswered tells that a model's answers were not recorded, only whether they were right.
func (t *table) unanswered(b *world.Builder, at world.Place, column, metric string) {
	if grade.Known(metric) {
		b.Defect(at, world.MissingField, "no column %s: the metric %s needs the answers; without them the metric is %s",
			world.Quote(column+responseSuffix), metric, world.RecordedMetric)
		return
	}
	b.Note(at, world.MissingField, "the answers of %s were not recorded, only whether they were right", world.Quote(column))
}
