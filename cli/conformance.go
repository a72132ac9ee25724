package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"assay/core/text"
	"assay/verify/conformance"
)

func newConformance(env *Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "conformance DIR",
		Short: "Run every conformance vector below a folder",
		Long: `conformance runs every *.jsonl file below DIR against the rules, in the compat profile. For each known group it prints
the group's name, how many lines passed and how many failed; the first failing ids go to standard error.

Exit codes: 0 every line of the known groups passed, 1 some did not, 2 usage.`,
		Example: "  assay conformance ./vectors/conductor",
		Args:    exactArgs("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			return runConformance(env, args[0], asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the groups as JSON")
	return c
}

// maxFailing is how many failing lines of a group are named.
const maxFailing = 5

func runConformance(env *Env, dir string, asJSON bool) error {
	tree, closer, err := openTree(dir)
	if err != nil {
		return hinted(fmt.Errorf("opening the vectors: %w", err), "DIR holds files such as parse.jsonl")
	}
	defer closer.Close()
	passed, failing := 0, 0
	var show func(conformance.Group)
	if !asJSON {
		show = func(g conformance.Group) { printGroup(env, g) }
	}
	groups, err := conformance.Run(tree, show)
	if err != nil {
		return err
	}
	for _, g := range groups {
		passed += g.Passed
		failing += len(g.Failed)
	}
	if asJSON {
		if err := printJSON(env.Out, groups); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(env.Out, "%d passed, %d failed\n", passed, failing)
	}
	if failing > 0 {
		return failed()
	}
	if passed == 0 { // nothing failed, but nobody should take this for a pass
		fmt.Fprintln(env.Err, "warning: no line of a known group is below this folder, so nothing was checked")
	}
	return nil
}

// maxName is how many characters of a group's name or a line's id are shown: both are foreign.
const maxName = 100

func printGroup(env *Env, g conformance.Group) {
	name := text.Clean(g.Name, maxName)
	if !g.Known {
		fmt.Fprintf(env.Out, "unknown: %s (%d lines)\n", name, g.Lines)
		return
	}
	fmt.Fprintf(env.Out, "%s %d %d\n", name, g.Passed, len(g.Failed))
	for i, f := range g.Failed {
		if i == maxFailing {
			fmt.Fprintf(env.Err, "%s: … %d more\n", name, len(g.Failed)-i)
			break
		}
		fmt.Fprintf(env.Err, "%s: %s\n", text.Clean(f.ID, maxName), text.Clean(strings.TrimSpace(f.Why), 300))
	}
}
