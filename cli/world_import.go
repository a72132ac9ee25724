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
	to, benchmark, profile string
	models                 []string
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
		Use: use, Short: short, Long: long, Example: example, Args: cobra.ExactArgs(1),
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
		`routellm reads a table (CSV with a header, or a JSON list) that has a prompt, and for each model a column that says whether its
answer was right and perhaps one with the answer. --model COLUMN=ID,IN,OUT,CONTEXT names a column's model with its list prices in
dollars per million tokens and its context length.`,
		"  assay world import routellm gsm8k_responses.csv --to ./gsm8k --benchmark GSM8K \\\n"+
			"    --model mistralai/Mixtral-8x7B-Instruct-v0.1=mistralai/mixtral-8x7b-instruct,0.24,0.24,32768 \\\n"+
			"    --model gpt-4-1106-preview=openai/gpt-4-1106-preview,10,30,128000",
		func(c *cobra.Command, file string) error {
			models, err := columns(f.models)
			if err != nil {
				return usage(c, err.Error())
			}
			text, err := readInput(env, file)
			if err != nil {
				return err
			}
			w, defects := routellm.Import(text, routellm.Options{File: file, Benchmark: f.benchmark, Metric: recordedMetric, Models: models})
			return saveWorld(env, f.to, w, defects)
		})
	c.Flags().StringVar(&f.benchmark, "benchmark", "GSM8K", "benchmark's `NAME`")
	c.Flags().StringArrayVar(&f.models, "model", nil, "`COLUMN=ID,IN,OUT,CONTEXT`")
	return c
}

// recordedMetric is the metric of tasks whose references a table does not hold: its recorded scores count.
const recordedMetric = "recorded"

// columns reads --model COLUMN=ID,IN,OUT,CONTEXT.
func columns(specs []string) (map[string]world.Model, error) {
	if len(specs) == 0 {
		return nil, errors.New("--model COLUMN=ID,IN,OUT,CONTEXT is needed for every model of the table")
	}
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
			fmt.Fprintf(env.Out, "%s: %d models, %d rows left out\n", filepath.Join(f.to, "models.json"), len(models), len(drops))
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
		printDefects(env.Err, defects)
		return world.Err(defects)
	}
	if err := saveFiles(to, world.Write(w)); err != nil {
		return err
	}
	return view.WorldOf(to, w).WriteText(env.Out)
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
