package cli

import (
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"assay/chain"
	"assay/chain/fake"
	"assay/core/ss58"
	"assay/sign/file"
)

func newChain(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "chain",
		Short: "Make and move a chain in a file, for trying things out",
		Long:  "chain makes and edits a chain in one file, which windows read as --chain fake:FILE. It is for demonstrations, scripts and dry runs.",
		Example: `  assay chain new chain.json
  assay chain register chain.json 5F… --uid 1
  assay chain head chain.json 100`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newChainNew(), newChainRegister(), newChainHead(), newChainShow(env))
	return c
}

func newChainNew() *cobra.Command {
	s := fake.State{Parameters: chain.Parameters{WeightsRateLimit: 10, ImmunityPeriod: 100_000}}
	c := &cobra.Command{
		Use:   "new FILE",
		Short: "Write a new chain; one that is there stays",
		Args:  exactArgs("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := os.Stat(args[0]); err == nil {
				return fmt.Errorf("%s is there already", args[0])
			}
			return fake.Write(args[0], &s)
		},
	}
	c.Flags().StringVar(&s.Seed, "seed", "assay", "`TEXT` that block hashes derive from")
	c.Flags().Int64Var(&s.Head, "head", 0, "newest `BLOCK`")
	c.Flags().Int64Var(&s.Parameters.WeightsRateLimit, "rate-limit", s.Parameters.WeightsRateLimit, "`BLOCKS` between two changes of weights")
	c.Flags().Int64Var(&s.Parameters.ImmunityPeriod, "immunity", s.Parameters.ImmunityPeriod, "`BLOCKS` for which a registration is safe")
	return c
}

func newChainRegister() *cobra.Command {
	uid := 0
	c := &cobra.Command{
		Use:   "register FILE HOTKEY --uid N",
		Short: "Register a hotkey at the newest block",
		Args:  exactArgs("FILE", "HOTKEY"),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := ss58.Decode(args[1]); err != nil {
				return err
			}
			return fake.Edit(c.Context(), args[0], func(s *fake.State) error {
				for _, n := range s.Neurons {
					if n.UID == uid || n.Hotkey == args[1] {
						return fmt.Errorf("uid %d is registered to %s already", n.UID, n.Hotkey)
					}
				}
				s.Neurons = append(s.Neurons, chain.Neuron{UID: uid, Hotkey: args[1], Registered: max(1, s.Head)})
				return nil
			})
		},
	}
	c.Flags().IntVar(&uid, "uid", 0, "`NUMBER` that the hotkey gets")
	return c
}

func newChainHead() *cobra.Command {
	return &cobra.Command{
		Use:   "head FILE BLOCK",
		Short: "Move the chain on to a block",
		Args:  exactArgs("FILE", "BLOCK"),
		RunE: func(c *cobra.Command, args []string) error {
			block, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil {
				return usage(c, "BLOCK is a whole number")
			}
			return fake.Edit(c.Context(), args[0], func(s *fake.State) error {
				if block < s.Head {
					return fmt.Errorf("the chain is at block %d already: it only moves on", s.Head)
				}
				s.Head = block
				return nil
			})
		},
	}
}

func newChainShow(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "show FILE",
		Short: "Print a chain as JSON",
		Args:  exactArgs("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := fake.Read(args[0])
			if err != nil {
				return err
			}
			return printJSON(env.Out, s)
		},
	}
}

// newHotkey says a hotkey's address, and makes one.
func newHotkey(env *Env) *cobra.Command {
	fresh := false
	c := &cobra.Command{
		Use:     "hotkey FILE",
		Short:   "Print the address of a hotkey's file, or make a new hotkey",
		Long:    "hotkey prints the address of the ed25519 key whose seed lies in FILE. With --new it makes FILE first, with mode 0600; a file that is there stays.",
		Example: "  assay conductor hotkey my.seed --new\n  assay conductor hotkey my.seed",
		Args:    exactArgs("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			if fresh {
				if _, err := file.Create(args[0], env.Rand); err != nil {
					return fmt.Errorf("making the hotkey: %w", err)
				}
			}
			signer, err := file.Open(args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(env.Out, ss58.Encode(signer.Public()))
			return err
		},
	}
	c.Flags().BoolVar(&fresh, "new", false, "make a new hotkey in FILE")
	return c
}
