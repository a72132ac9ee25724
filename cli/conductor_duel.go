package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"assay/conductor/duel"
	"assay/conductor/score"
	"assay/core/canon"
	"assay/view"
)

func newDuel(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "duel [FILE]",
		Short: "Judge a challenger's rows against a king's",
		Long: `duel reads {"nonce","king":[rows],"challenger":[rows],"failed":[task ids],"exchange":{…}} and prints the verdict with its four conditions.
Rows are those of score.

Exit codes: 0 a verdict, whoever wins; 1 there is none; 2 usage.`,
		Example: "  assay conductor duel duel.json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			b, err := readInput(env, firstArg(args))
			if err != nil {
				return err
			}
			var in struct {
				Nonce      string            `json:"nonce"`
				King       []rowIn           `json:"king"`
				Challenger []rowIn           `json:"challenger"`
				Failed     []string          `json:"failed"`
				Exchange   map[string]rateIn `json:"exchange"`
			}
			if err := canon.Strict(b, &in); err != nil {
				return fmt.Errorf("reading the duel: %w", err)
			}
			rows, err := arms(in.King, in.Challenger)
			if err != nil {
				return err
			}
			v, err := judge(in.Nonce, rows[0], rows[1], in.Failed, exchangeOf(in.Exchange))
			if err != nil {
				return err
			}
			return printJSON(env.Out, v)
		},
	}
}

func judge(nonce string, king, challenger []score.Row, failed []string, ex score.Exchange) (view.Verdict, error) {
	kept, r, err := duel.Judge(king, challenger, failed, ex, duel.Standard(nonce))
	if err != nil {
		return view.Verdict{}, fmt.Errorf("judging the duel: %w", err)
	}
	return view.VerdictOf(r, kept.Excluded), nil
}
