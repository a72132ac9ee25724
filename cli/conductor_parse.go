package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"assay/conductor"
	"assay/conductor/action"
	"assay/conductor/catalog"
	"assay/conductor/profile"
	"assay/core/canon"
	"assay/core/fault"
	"assay/view"
)

// modelIn is a catalog entry as worlds write it.
type modelIn struct {
	ID      string   `json:"id"`
	In      *float64 `json:"price_in_per_mtok"`
	Out     *float64 `json:"price_out_per_mtok"`
	Context int64    `json:"context_length"`
}

func snapshotOf(models []modelIn, p profile.Profile) (*catalog.Snapshot, error) {
	if len(models) == 0 {
		return nil, fmt.Errorf("the catalog is empty")
	}
	entries := make([]catalog.Entry, len(models))
	for i, m := range models {
		if m.In == nil || m.Out == nil {
			return nil, conductor.BadPrice.With(fault.Str("id", m.ID)) // a price that is missing is not zero
		}
		entries[i] = catalog.Entry{ID: m.ID, In: *m.In, Out: *m.Out, Context: m.Context}
	}
	return catalog.New(entries, p)
}

func readCatalog(env *Env, name string, p profile.Profile) (*catalog.Snapshot, error) {
	b, err := readInput(env, name)
	if err != nil {
		return nil, fmt.Errorf("reading the catalog: %w", err)
	}
	var models []modelIn
	if err := canon.Lenient(b, &models); err != nil {
		return nil, fmt.Errorf("reading the catalog %s: %w", name, err)
	}
	return snapshotOf(models, p)
}

// profileFlag adds --profile to a command.
func profileFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "profile", "strict", "`strict` or compat: how the rules are read")
}

func newParse(env *Env) *cobra.Command {
	var models, prof string
	c := &cobra.Command{
		Use:   "parse --catalog FILE [TURN-FILE]",
		Short: "Read one turn of a Conductor by the action grammar",
		Long: `parse reads a turn from a file or standard input and prints the action, or why it cannot be read, as JSON.

Exit codes: 0 an action, 2 usage, 3 the turn is unreadable, 1 anything else.`,
		Example: `  printf 'REASON cheap first\nDELEGATE acme/small' | assay conductor parse --catalog models.json`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := profile.Parse(prof)
			if err != nil {
				return usage(c, err.Error())
			}
			if models == "" {
				return usage(c, "--catalog is needed: a models.json")
			}
			s, err := readCatalog(env, models, p)
			if err != nil {
				return err
			}
			turn, err := readInput(env, firstArg(args))
			if err != nil {
				return err
			}
			return printTurn(env, string(turn), s, p)
		},
	}
	c.Flags().StringVar(&models, "catalog", "", "models.json `FILE` of the catalog")
	profileFlag(c, &prof)
	return c
}

func firstArg(args []string) string {
	if len(args) == 0 {
		return "-"
	}
	return args[0]
}

func printTurn(env *Env, turn string, s *catalog.Snapshot, p profile.Profile) error {
	m := action.MeasureTurn(turn, p, nil, -1)
	out := view.Turn{ReasonTokens: m.Tokens, ReasonSource: m.Source.String()}
	a, failure := action.Parse(turn, s, p)
	failure = action.ReasonChecked(failure, m, p)
	if failure != action.Readable {
		out.Failure, out.Sentence = failure.String(), failure.Sentence()
		if failure == action.UnknownID {
			out.Nearest = s.Nearest(action.NamedID(turn))
		}
		if err := printJSON(env.Out, out); err != nil {
			return err
		}
		return refused()
	}
	out.Kind, out.Model = a.Kind().String(), a.Model().String()
	return printJSON(env.Out, out)
}
