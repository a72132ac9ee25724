package routellm

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/world"
)

// References are what right answers are compared with, by the number of the row or by its prompt.
type References struct {
	byRow    map[int64]string
	byPrompt map[string]string
}

// reference is one line of a file of references: {"row": 0, "reference": "18"} or {"prompt": "…", "reference": "18"}.
type reference struct {
	Row       *int64         `json:"row"`
	Prompt    *string        `json:"prompt"`
	Reference jsontext.Value `json:"reference"`
}

// ReadReferences reads a file of references, a JSON object on each line. Rows count from 0, as in the ids of the tasks; a
// reference is a string or a number. Where anything is wrong every defect is listed.
func ReadReferences(text []byte, file string) (*References, []world.Defect) {
	var b world.Builder
	refs := &References{byRow: map[int64]string{}, byPrompt: map[string]string{}}
	at := world.Place{File: file}
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		at.Line++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var r reference
		if b.Decode(at, bytes.TrimRight(line, "\r\n"), &r) {
			refs.add(&b, at, r)
		}
	}
	if len(refs.byRow)+len(refs.byPrompt) == 0 && len(b.Defects()) == 0 {
		b.Defect(world.Place{File: file}, world.Empty, "no reference")
	}
	if len(b.Defects()) > 0 {
		_, defects := b.Done()
		return nil, defects
	}
	return refs, nil
}

func (r *References) add(b *world.Builder, at world.Place, row reference) {
	kind := row.Reference.Kind()
	switch {
	case row.Reference == nil:
		b.Defect(at, world.MissingField, "no reference")
		return
	case kind != '"' && kind != '0':
		b.Defect(at, world.WrongType, "a reference must be a string or a number")
		return
	case (row.Row == nil) == (row.Prompt == nil):
		b.Defect(at, world.MissingField, "either row or prompt is needed")
		return
	}
	text := cell(row.Reference)
	if row.Row != nil {
		if _, dup := r.byRow[*row.Row]; dup {
			b.Defect(at, world.DuplicateID, "second reference for row %d", *row.Row)
		}
		r.byRow[*row.Row] = text
		return
	}
	if old, dup := r.byPrompt[*row.Prompt]; dup && old != text {
		b.Defect(at, world.DuplicateID, "another reference for the prompt %s", world.Quote(*row.Prompt))
	}
	r.byPrompt[*row.Prompt] = text
}

// find returns the reference of a row.
func (r *References) find(row int, prompt string) (string, bool) {
	if text, ok := r.byRow[int64(row)]; ok {
		return text, true
	}
	text, ok := r.byPrompt[prompt]
	return text, ok
}
