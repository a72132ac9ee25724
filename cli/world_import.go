package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"assay/conductor/catalog"
	"assay/conductor/grade"
	"assay/conductor/profile"
	"assay/conductor/world"
	"assay/conductor/world/openrouter"
	"assay/conductor/world/routellm"
	"assay/conductor/world/routerarena"
	"assay/core/text"
	"assay/view"
)

// importFlags are the flags of the import verbs.
type importFlags struct {
	to, benchmark, profile     string
	metric, column, references string
	models                     []string
}

func newWorldImport(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "import",
		Short: "Turn a public project's files into a world or a catalog",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newImportRouterArena(env), newImportRouteLLM(env), newImportOpenRouter(env))
	return c
}

// importVerb makes one import verb; --to is common to all.
func importVerb(f *importFlags, use, short, long, example string, run func(c *cobra.Command, path string) error) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example, Args: exactArgs(strings.Fields(use)[1:]...),
		RunE: func(c *cobra.Command, args []string) error {
			if f.to == "" {
				return usage(c, "--to is needed: the directory to write")
			}
			return run(c, args[0])
		},
	}
	c.Flags().StringVar(&f.to, "to", "", "`DIR` to write; it must not exist yet")
	return c
}

func newImportRouterArena(env *Env) *cobra.Command {
	f := &importFlags{}
	c := importVerb(f, "routerarena DIR", "Import RouterArena's tasks and recorded answers",
		`routerarena reads that project's files below DIR. --model takes only the named models, NAME=ID renames one.`,
		"  assay world import routerarena ./RouterArena --to ./routerarena --model gpt-4o-mini=openai/gpt-4o-mini",
		func(c *cobra.Command, dir string) error {
			o := routerarena.Options{}
			for _, m := range f.models {
				if o.Models == nil {
					o.Models = map[string]string{}
				}
				name, id, renamed := strings.Cut(m, "=")
				if !renamed {
					id = name
				}
				o.Models[name] = id
			}
			tree, closer, err := openTree(dir)
			if err != nil {
				return fmt.Errorf("opening the files: %w", err)
			}
			defer closer.Close()
			w, defects := routerarena.Import(tree, o)
			return saveWorld(env, f.to, w, defects)
		})
	c.Flags().StringArrayVar(&f.models, "model", nil, "`NAME[=ID]` of a model to take; default all")
	return c
}

func newImportRouteLLM(env *Env) *cobra.Command {
	f := &importFlags{}
	c := importVerb(f, "routellm FILE", "Import a table of RouteLLM's recorded answers",
		`routellm reads a table (CSV with a header, or a JSON list) that has a column called prompt, and for each model a column that says
whether its answer was right (true and false in any case, or 1 and 0) and perhaps one called COLUMN_response with the answer.
--model COLUMN=ID,IN,OUT,CONTEXT names a column's model with its list prices in dollars per million tokens and its context length;
columns that nothing names are left out. Without --model the columns found are listed.

Without --metric the recorded marks count. With --metric NAME (mcq_accuracy, final_number, number, exact_match) answers are scored
by comparing them with references: those of --reference-column, or those of a file of lines {"prompt": "…", "reference": "18"} or
{"row": 0, "reference": "18"}, whose rows count from 0. That needs the answers in the table.`,
		"  assay world import routellm gsm8k_responses.csv --to ./gsm8k --benchmark GSM8K \\\n"+
			"    --model mistralai/Mixtral-8x7B-Instruct-v0.1=mistralai/mixtral-8x7b-instruct,0.24,0.24,32768 \\\n"+
			"    --model gpt-4-1106-preview=openai/gpt-4-1106-preview,10,30,128000 \\\n"+
			"    --metric final_number --references gsm8k_references.jsonl",
		func(c *cobra.Command, file string) error { return importRouteLLM(env, c, f, file) })
	c.Flags().StringVar(&f.benchmark, "benchmark", "GSM8K", "benchmark's `NAME`")
	c.Flags().StringArrayVar(&f.models, "model", nil, "`COLUMN=ID,IN,OUT,CONTEXT` of a model to take")
	c.Flags().StringVar(&f.metric, "metric", world.RecordedMetric, "`NAME` of the metric that scores answers")
	c.Flags().StringVar(&f.column, "reference-column", "", "`COLUMN` of the references")
	c.Flags().StringVar(&f.references, "references", "", "`FILE` of the references")
	return c
}

func importRouteLLM(env *Env, c *cobra.Command, f *importFlags, file string) error {
	o := routellm.Options{File: file, Benchmark: f.benchmark, Metric: f.metric, ReferenceColumn: f.column}
	switch {
	case f.column != "" && f.references != "":
		return usage(c, "--reference-column and --references exclude each other")
	case grade.Known(f.metric) && f.column == "" && f.references == "":
		return usage(c, "--metric "+f.metric+" needs references: give --reference-column or --references")
	case f.references == "-" && file == "-":
		return usage(c, "standard input cannot be both the table and the references")
	}
	table, err := readInput(env, file)
	if err != nil {
		return err
	}
	if len(f.models) == 0 {
		return noColumns(env, c, table, file)
	}
	if o.Models, err = columns(f.models); err != nil {
		return usage(c, err.Error())
	}
	if f.references != "" {
		lines, err := readInput(env, f.references)
		if err != nil {
			return fmt.Errorf("reading the references: %w", err)
		}
		refs, defects := routellm.ReadReferences(lines, f.references)
		if len(defects) > 0 {
			return badFiles(env, defects)
		}
		o.References = refs
	}
	w, defects := routellm.Import(table, o)
	return saveWorld(env, f.to, w, defects)
}

// noColumns lists a table's columns for somebody who has named none.
func noColumns(env *Env, c *cobra.Command, table []byte, file string) error {
	list, defects := routellm.Columns(table, file)
	if len(defects) > 0 {
		return badFiles(env, defects)
	}
	for _, col := range list {
		said := ""
		if col.Marks {
			said = ": true or false, perhaps a model's"
		}
		if col.Answers {
			said += ", whose answers are there"
		}
		fmt.Fprintf(env.Err, "column %s%s\n", text.Quote(col.Name, 200), said)
	}
	return usage(c, "--model COLUMN=ID,IN,OUT,CONTEXT is needed for each model to take")
}

// columns reads --model COLUMN=ID,IN,OUT,CONTEXT.
func columns(specs []string) (map[string]world.Model, error) {
	out := map[string]world.Model{}
	for _, s := range specs {
		column, rest, _ := strings.Cut(s, "=")
		parts := strings.Split(rest, ",")
		if len(parts) != 4 {
			return nil, fmt.Errorf("--model %q is not COLUMN=ID,IN,OUT,CONTEXT", s)
		}
		in, err1 := strconv.ParseFloat(parts[1], 64)
		price, err2 := strconv.ParseFloat(parts[2], 64)
		context, err3 := strconv.ParseInt(parts[3], 10, 64)
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, fmt.Errorf("--model %q: %w", s, err)
		}
		if _, twice := out[column]; twice {
			return nil, fmt.Errorf("--model names the column %q twice", column)
		}
		out[column] = world.Model{ID: parts[0], In: in, Out: price, Context: context}
	}
	return out, nil
}

func newImportOpenRouter(env *Env) *cobra.Command {
	f := &importFlags{}
	c := importVerb(f, "openrouter FILE", "Turn a saved OpenRouter model listing into a catalog",
		`openrouter reads a saved model listing ({"data":[…]}), applies the admission rule for catalogs and writes models.json. Every row
that is left out is listed with its reason. --model narrows the catalog to the named models.`,
		"  assay world import openrouter models.json --to ./myworld --model openai/gpt-4o-mini --model anthropic/claude-3-haiku",
		func(c *cobra.Command, file string) error {
			p, err := profile.Parse(f.profile)
			if err != nil {
				return usage(c, err.Error())
			}
			text, err := readInput(env, file)
			if err != nil {
				return err
			}
			models, drops, err := openrouter.Models(text, p, f.models...)
			if err != nil {
				return err
			}
			printDrops(env, drops)
			if err := saveFiles(f.to, map[string][]byte{"models.json": world.WriteModels(models)}); err != nil {
				return err
			}
			fmt.Fprintf(env.Out, "%s: %s, %s left out\n", filepath.Join(f.to, "models.json"), view.Counted(len(models), "model"), view.Counted(len(drops), "row"))
			return nil
		})
	c.Flags().StringArrayVar(&f.models, "model", nil, "`ID` of a model to keep; default all that are usable")
	profileFlag(c, &f.profile)
	return c
}

func printDrops(env *Env, drops []catalog.Drop) {
	for _, d := range drops {
		detail := ""
		if d.Detail != "" {
			detail = " (" + d.Detail + ")"
		}
		fmt.Fprintf(env.Err, "row %d %s: %s%s\n", d.Row, text.Clean(d.ID, 100), d.Reason, detail)
	}
}

func saveWorld(env *Env, to string, w *world.World, defects []world.Defect) error {
	if len(defects) > 0 {
		return badFiles(env, defects)
	}
	if err := saveFiles(to, world.Write(w)); err != nil {
		return err
	}
	s := view.WorldOf(to, w)
	notes := s.Notes
	s.Notes = nil // here they are warnings
	for i, n := range notes {
		if i == maxShown {
			fmt.Fprintf(env.Err, "… %d more\n", len(notes)-i)
			break
		}
		fmt.Fprintf(env.Err, "note: %s\n", text.Clean(n, 400))
	}
	return s.WriteText(env.Out)
}

// badFiles prints the defects of what was to be imported.
func badFiles(env *Env, defects []world.Defect) error {
	printDefects(env.Err, defects)
	return hinted(world.Err(defects), "nothing was written")
}

// saveFiles writes a new directory: all of it or nothing.
func saveFiles(to string, files map[string][]byte) error {
	if _, err := os.Lstat(to); err == nil {
		return hinted(fmt.Errorf("%s exists already", to), "choose another directory: nothing is overwritten")
	}
	parent := filepath.Dir(filepath.Clean(to))
	tmp, err := os.MkdirTemp(parent, ".assay-import-*")
	if err != nil {
		return err
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(tmp, name), b, 0o644); err != nil {
			return errors.Join(err, os.RemoveAll(tmp))
		}
	}
	err = os.Chmod(tmp, 0o755)
	if err == nil {
		err = os.Rename(tmp, to)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	return nil
}
