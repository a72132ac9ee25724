package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"assay/conductor/admission"
	"assay/conductor/profile"
)

func newReference(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "reference",
		Short: "Write down what an admitted artifact must equal",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newReferenceBuild(env))
	return c
}

func newReferenceBuild(env *Env) *cobra.Command {
	var output, profileName string
	c := &cobra.Command{
		Use:   "build TREE",
		Short: "Take the inventory of a reference tree",
		Long: `build writes the inventory of the reference tree in folder TREE: the fields of its config that fix the architecture, the names,
kinds and shapes of its tensors, and the digest of its tokenizer. It is a small file that replaces the tree wherever an artifact
is admitted. A tree that the rules refuse is no reference.

Exit codes: 0 done, 1 failed, 2 usage, 3 the tree is refused.`,
		Example: `  assay conductor reference build ./reference -o reference.json
  assay conductor admit ./weights --reference reference.json`,
		Args: exactArgs("TREE"),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := profile.Parse(profileName)
			if err != nil {
				return usage(c, err.Error())
			}
			tree, closer, err := openTree(args[0])
			if err != nil {
				return fmt.Errorf("opening the reference: %w", err)
			}
			defer closer.Close()
			ref, err := admission.ReadReference(tree, p)
			if err != nil {
				return fmt.Errorf("reading the reference: %w", err)
			}
			text, err := ref.Encode()
			if err != nil {
				return err
			}
			return writeOutput(env, output, append(text, '\n'))
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write; default standard output")
	c.Flags().StringVar(&profileName, "profile", "strict", "`strict` or compat: how the rules are read")
	return c
}

// writeOutput writes a whole file at once, or to standard output where none is named.
func writeOutput(env *Env, name string, text []byte) error {
	if name == "" || name == "-" {
		_, err := env.Out.Write(text)
		return err
	}
	out, err := createPending(name)
	if err != nil {
		return err
	}
	defer out.Discard()
	if _, err := out.Write(text); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return out.Commit()
}
