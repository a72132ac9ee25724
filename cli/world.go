package cli

import (
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"assay/conductor/world"
	"assay/core/text"
	"assay/view"
)

func newWorld(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "world",
		Short: "Check worlds and import them from public formats",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newWorldCheck(env), newWorldImport(env))
	return c
}

func newWorldCheck(env *Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check DIR",
		Short: "List every defect of a world at once",
		Long: `check reads a world (models.json, tasks.jsonl[.gz], outcomes.jsonl[.gz]) and lists every defect with file, line and reason.
A sound world is summed up, with what a run would count of its recorded answers: the score computed here where the task's metric
is known, else the recorded one. Notes tell what was put right and what looks like a slip.

Exit codes: 0 sound, 1 defects or unreadable, 2 usage.`,
		Example: "  assay world check ./routerarena",
		Args:    exactArgs("DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			tree, closer, err := openTree(args[0])
			if err != nil {
				return hinted(fmt.Errorf("opening the world: %w", err), "a world is a directory with models.json and tasks.jsonl")
			}
			defer closer.Close()
			return checkWorld(env, tree, args[0], asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the summary or the defects as JSON")
	return c
}

func checkWorld(env *Env, tree fs.FS, name string, asJSON bool) error {
	w, defects := world.Read(tree)
	if len(defects) > 0 {
		list := view.WorldDefects{World: name}
		for _, d := range defects {
			list.Defects = append(list.Defects, view.WorldDefect{File: d.File, Line: d.Line, Code: d.Code.Name(), Detail: d.Detail})
		}
		if asJSON {
			if err := printJSON(env.Out, list); err != nil {
				return err
			}
			return failed()
		}
		for _, d := range defects {
			fmt.Fprintln(env.Out, text.Clean(d.String(), 400))
		}
		fmt.Fprintln(env.Out, view.Counted(len(defects), "defect"))
		return failed()
	}
	s := view.WorldOf(name, w)
	if asJSON {
		return printJSON(env.Out, s)
	}
	return s.WriteText(env.Out)
}
