// Package routerarena makes a world of the public files of the RouterArena project.
//
// Invariants:
//   - A model without a price in the project's table is refused by name; nothing is ever priced at zero for want of one.
//   - Only tasks that every model answered, for the same prompt, are taken; how many were left out is noted.
//   - Scores, costs and token counts are taken as recorded, and rows are never graded again here.
//
// Specification: docs/spec/world.md.
package routerarena

import (
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/world"
	"assay/core/canon"
)

// The project's files, relative to its root.
const (
	PricesFile = "model_cost/model_cost.json"
	AnswersDir = "cached_results" // one file of lines for each model
)

// Options settle what the project's files do not say.
type Options struct {
	// Models are the models to take, by the name that the files know them by, and the ids they get in the world.
	// Nil takes every model there is, under its own name.
	Models map[string]string
	// Context is the context length in tokens of each model, by its id in the world. Others have DefaultContext.
	Context map[string]int64
}

// DefaultContext is the context length of a model of which Options say none.
const DefaultContext = 131072

// answer is one line of a model's file.
type answer struct {
	ID     string `json:"global_index"`
	Prompt string `json:"question"`
	Model  string `json:"llm_selected"`
	Text   string `json:"generated_answer"`
	Tokens struct {
		In  *int64 `json:"input_tokens"`
		Out *int64 `json:"output_tokens"`
	} `json:"token_usage"`
	Success *bool          `json:"success"`
	Error   jsontext.Value `json:"error"`
	Run     int64          `json:"run_number"`
	Result  *evaluation    `json:"evaluation_result"`
	at      world.Place
}

type evaluation struct {
	Truth  jsontext.Value `json:"ground_truth"`
	Score  *float64       `json:"score"`
	Metric string         `json:"metric"`
	Cost   *float64       `json:"inference_cost"`
}

type price struct {
	In  *float64 `json:"input_token_price_per_million"`
	Out *float64 `json:"output_token_price_per_million"`
}

// Import reads the project's files in fsys. Where anything is wrong the world is nil and every defect is listed.
func Import(fsys fs.FS, o Options) (*world.World, []world.Defect) {
	var b world.Builder
	prices := map[string]price{}
	text, at, ok := b.Document(fsys, PricesFile)
	if ok {
		b.Decode(at, text, &prices)
	}
	answers := readAnswers(&b, fsys, o)
	names := slices.Sorted(maps.Keys(answers))
	for _, name := range names {
		id, context := o.id(name), int64(DefaultContext)
		if c, ok := o.Context[id]; ok {
			context = c
		}
		p := prices[name]
		b.AddModel(at, id, p.In, p.Out, context)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Models)) {
		if answers[name] == nil {
			b.Defect(world.Place{File: AnswersDir}, world.UnknownModel, "no answers of %s", world.Quote(name))
		}
	}
	addRows(&b, o, names, answers)
	return b.Done()
}

// id returns the id that a model gets in the world.
func (o Options) id(name string) string {
	if id, ok := o.Models[name]; ok {
		return id
	}
	return name
}

// rows are one model's first answers, in file order and by task.
type rows struct {
	list []*answer
	byID map[string]*answer
}

// readAnswers reads the files of answers, by the model that the lines name.
func readAnswers(b *world.Builder, fsys fs.FS, o Options) map[string]*rows {
	out := map[string]*rows{}
	entries, err := fs.ReadDir(fsys, AnswersDir)
	if err != nil {
		b.Defect(world.Place{File: AnswersDir}, world.MissingFile, "the folder %s cannot be read", AnswersDir)
		return out
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".gz")
		if e.IsDir() || !strings.HasSuffix(name, ".jsonl") {
			continue
		}
		b.EachLine(fsys, AnswersDir+"/"+name, func(at world.Place, line []byte) {
			a := &answer{at: at}
			if !b.Decode(at, line, a) || a.Run > 1 {
				return // later runs repeat the tasks
			}
			if _, wanted := o.Models[a.Model]; o.Models != nil && !wanted {
				return
			}
			add(b, out, a)
		})
	}
	return out
}

func add(b *world.Builder, out map[string]*rows, a *answer) {
	switch {
	case a.ID == "":
		b.Defect(a.at, world.MissingField, "row without a global_index")
		return
	case a.Model == "":
		b.Defect(a.at, world.MissingField, "row %s without a model", world.Quote(a.ID))
		return
	}
	r := out[a.Model]
	if r == nil {
		r = &rows{byID: map[string]*answer{}}
		out[a.Model] = r
	}
	if r.byID[a.ID] != nil {
		b.Defect(a.at, world.DuplicateID, "second answer of %s to %s", world.Quote(a.Model), world.Quote(a.ID))
		return
	}
	r.byID[a.ID] = a
	r.list = append(r.list, a)
}

// addRows adds the tasks that all models have in common and their outcomes.
func addRows(b *world.Builder, o Options, names []string, answers map[string]*rows) {
	if len(names) == 0 {
		return
	}
	var common []*answer
	left := 0
	for _, first := range answers[names[0]].list {
		shared := first.Result != nil
		for _, name := range names[1:] {
			a := answers[name].byID[first.ID]
			shared = shared && a != nil && a.Result != nil && a.Prompt == first.Prompt
		}
		if !shared {
			left++
			continue
		}
		common = append(common, first)
		b.AddTask(first.at, world.Task{
			ID: first.ID, Benchmark: benchmarkOf(first.ID), Prompt: first.Prompt,
			Reference: canon.Text(first.Result.Truth), Metric: first.Result.Metric,
		})
	}
	if left > 0 {
		b.Note(world.Place{File: AnswersDir}, world.NoOutcome, "tasks left out: %d; not every model was scored on them with the same prompt", left)
	}
	for _, task := range common {
		for _, name := range names {
			b.AddOutcome(answers[name].byID[task.ID].recorded(o))
		}
	}
}

func (a *answer) recorded(o Options) (world.Place, world.Recorded) {
	r := world.Recorded{
		TaskID: a.ID, Model: o.id(a.Model), Text: a.Text, OK: a.Success == nil || *a.Success,
		Score: a.Result.Score, Cost: a.Result.Cost, TokensIn: a.Tokens.In, TokensOut: a.Tokens.Out,
	}
	if !r.OK {
		r.Failure, r.Text, r.Score = canon.Text(a.Error), "", nil
	}
	return a.at, r
}

// benchmarkOf returns what stands before the last underscore of a task's index.
func benchmarkOf(id string) string {
	if i := strings.LastIndexByte(id, '_'); i > 0 {
		return id[:i]
	}
	return id
}
