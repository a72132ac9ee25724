package world

import (
	"bytes"
	"compress/gzip"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Write returns a world's files by name, tasks and outcomes compressed. Models and tasks keep their order; outcomes
// follow the tasks, and within a task the models. What was estimated is left out, so that it is estimated again.
func Write(w *World) map[string][]byte {
	files := Plain(w)
	for _, name := range []string{TasksFile, OutcomesFile} {
		text, ok := files[name]
		if !ok {
			continue
		}
		var z bytes.Buffer
		g, _ := gzip.NewWriterLevel(&z, gzip.BestCompression) // the level is valid; the header has no time
		_, err := g.Write(text)
		if cerr := g.Close(); err != nil || cerr != nil {
			panic("world: a buffer refused to be written")
		}
		delete(files, name)
		files[name+".gz"] = z.Bytes()
	}
	return files
}

// Plain is Write without compression, for worlds that people read and compare.
func Plain(w *World) map[string][]byte {
	files := map[string][]byte{ModelsFile: WriteModels(w.Models)}
	var b []byte
	for i := range w.Tasks {
		b = appendTask(b, &w.Tasks[i])
	}
	files[TasksFile] = b
	if !w.Recorded() {
		return files
	}
	b = nil
	for t := range w.Tasks {
		for m := range w.Models {
			b = appendOutcome(b, w.Tasks[t].ID, w.Models[m].ID, w.Outcome(t, m))
		}
	}
	files[OutcomesFile] = b
	return files
}

// WriteModels returns the file of models. Their ids are UTF-8 and their prices finite.
func WriteModels(models []Model) []byte {
	b := []byte("[\n")
	for i, m := range models {
		b = field(append(b, " {"...), "id", m.ID)
		b = append(b, `, "price_in_per_mtok": `...)
		b = number(b, m.In)
		b = append(b, `, "price_out_per_mtok": `...)
		b = number(b, m.Out)
		b = append(b, `, "context_length": `...)
		b = append(strconv.AppendInt(b, m.Context, 10), '}')
		if i < len(models)-1 {
			b = append(b, ',')
		}
		b = append(b, '\n')
	}
	return append(b, "]\n"...)
}

func appendTask(b []byte, t *Task) []byte {
	b = field(append(b, '{'), "task_id", t.ID)
	b = field(append(b, ", "...), "benchmark", t.Benchmark)
	b = field(append(b, ", "...), "prompt", t.Prompt)
	if len(t.Tools) > 0 {
		b = append(b, `, "tools": [`...)
		for i, tool := range t.Tools {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = quoted(b, tool)
		}
		b = append(b, ']')
	}
	if t.Group != "" {
		b = field(append(b, ", "...), "group", t.Group)
	}
	b = field(append(b, ", "...), "reference", t.Reference)
	b = field(append(b, ", "...), "metric", t.Metric)
	return append(b, "}\n"...)
}

func appendOutcome(b []byte, taskID, model string, o *Outcome) []byte {
	b = field(append(b, '{'), "task_id", taskID)
	b = field(append(b, ", "...), "model", model)
	b = field(append(b, ", "...), "output", o.Text)
	if o.HasScore {
		b = number(append(b, `, "score": `...), o.Score)
	}
	if !o.Estimated {
		b = o.Cost.AppendDollars(append(b, `, "cost_usd": `...))
	}
	b = strconv.AppendInt(append(b, `, "input_tokens": `...), o.TokensIn, 10)
	b = strconv.AppendInt(append(b, `, "output_tokens": `...), o.TokensOut, 10)
	if !o.OK {
		b = append(b, `, "ok": false`...)
	}
	if o.Failure != "" {
		b = field(append(b, ", "...), "failure", o.Failure)
	}
	return append(b, "}\n"...)
}

func field(b []byte, key, value string) []byte {
	return quoted(append(quoted(b, key), ": "...), value)
}

// quoted appends a JSON string. A builder let only UTF-8 into the world.
func quoted(b []byte, s string) []byte {
	out, err := jsontext.AppendQuote(b, s)
	if err != nil {
		panic("world: text that is not UTF-8 in a world")
	}
	return out
}

// number appends the shortest decimal of f, without an exponent where people would not write one.
func number(b []byte, f float64) []byte { return strconv.AppendFloat(b, f, 'f', -1, 64) }
