package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"assay/conductor"
	"assay/conductor/ending"
	"assay/conductor/score"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/text"
	"assay/view"
)

// rowIn is one episode's result as score and duel read it.
type rowIn struct {
	TaskID    string  `json:"task_id"`
	Benchmark string  `json:"benchmark"`
	Score     float64 `json:"score"`
	Spend     float64 `json:"spend"`
	Reason    string  `json:"reason"`
	Group     string  `json:"group"`
}

func rowsOf(in []rowIn) ([]score.Row, error) {
	rows := make([]score.Row, len(in))
	seen := map[string]bool{}
	for i, r := range in {
		if r.Reason == "" {
			r.Reason = string(ending.Stop)
		}
		rows[i] = score.Row{TaskID: r.TaskID, Benchmark: r.Benchmark, Score: r.Score, Spend: r.Spend, Ending: ending.Ending(r.Reason), Group: r.Group}
		if seen[r.TaskID] {
			return nil, conductor.DuplicateTask.With(fault.Str("task_id", r.TaskID))
		}
		seen[r.TaskID] = true
		if !slices.Contains(ending.All(), rows[i].Ending) {
			return nil, fmt.Errorf("row %d: %s is no ending", i+1, text.Quote(r.Reason, 60))
		}
	}
	return rows, nil
}

// arms reads several lists of rows.
func arms(in ...[]rowIn) ([][]score.Row, error) {
	out := make([][]score.Row, len(in))
	for i, rows := range in {
		var err error
		if out[i], err = rowsOf(rows); err != nil {
			return nil, err
		}
	}
	return out, nil
}

type rateIn struct {
	Lam   float64  `json:"lam"`
	C     float64  `json:"c"`
	Flags []string `json:"flags"`
}

func exchangeOf(in map[string]rateIn) score.Exchange {
	ex := score.Exchange{}
	for b, r := range in {
		rate := score.Rate{Lam: r.Lam, C: r.C}
		for _, f := range r.Flags {
			rate.Flags = append(rate.Flags, score.Flag(f))
		}
		ex[b] = rate
	}
	return ex
}

func newScore(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "score [FILE]",
		Short: "Score an arm's rows at an exchange rate",
		Long: `score reads {"results":[{"task_id","benchmark","score","spend"}],"exchange":{benchmark:{"lam","c","flags"}}} and prints the card.
With "cheapest" and "top" rows instead of "exchange", the rate is fitted to those two reference arms first.`,
		Example: "  assay conductor score arm.json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			b, err := readInput(env, firstArg(args))
			if err != nil {
				return err
			}
			var in struct {
				Results  []rowIn           `json:"results"`
				Exchange map[string]rateIn `json:"exchange"`
				Cheapest []rowIn           `json:"cheapest"`
				Top      []rowIn           `json:"top"`
			}
			if err := canon.Strict(b, &in); err != nil {
				return fmt.Errorf("reading the arm: %w", err)
			}
			rows, err := arms(in.Results, in.Cheapest, in.Top)
			if err != nil {
				return err
			}
			ex := exchangeOf(in.Exchange)
			if in.Exchange == nil {
				if ex, err = score.Fit(rows[1], rows[2]); err != nil {
					return err
				}
			}
			card, err := score.Of(rows[0], ex)
			if err != nil {
				return err
			}
			return printJSON(env.Out, view.CardOf(card, ex))
		},
	}
}
