package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"assay/conductor"
	"assay/conductor/action"
	"assay/conductor/catalog"
	"assay/conductor/duel"
	"assay/conductor/ending"
	"assay/conductor/profile"
	"assay/conductor/score"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/text"
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

// stateIn is a state as render reads it.
type stateIn struct {
	Catalog      []modelIn `json:"catalog"`
	Instructions *string   `json:"instructions"`
	Task         struct {
		ID        string   `json:"task_id"`
		Benchmark string   `json:"benchmark"`
		Prompt    string   `json:"prompt"`
		Tools     []string `json:"tools"`
	} `json:"task"`
	History []struct {
		Kind        string  `json:"kind"`
		Model       string  `json:"model_id"`
		Success     bool    `json:"success"`
		Cost        float64 `json:"cost_usd"`
		ParseFailed bool    `json:"parse_failed"`
	} `json:"history"`
}

func newRender(env *Env) *cobra.Command {
	var prof string
	c := &cobra.Command{
		Use:   "render [STATE-FILE]",
		Short: "Print the prompt that a Conductor is shown for a state",
		Long: `render reads a state as JSON from a file or standard input and prints the prompt, byte for byte:
{"catalog":[{"id":…,"price_in_per_mtok":…,"price_out_per_mtok":…,"context_length":…}],
 "task":{"task_id":…,"benchmark":…,"prompt":…,"tools":[…]},
 "history":[{"kind":"delegate","model_id":…,"success":false,"cost_usd":0.01},{"parse_failed":true}],
 "instructions":"only where another window's text is wanted"}`,
		Example: "  assay conductor render state.json | sha256sum",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := profile.Parse(prof)
			if err != nil {
				return usage(c, err.Error())
			}
			b, err := readInput(env, firstArg(args))
			if err != nil {
				return err
			}
			var in stateIn
			if err := canon.Strict(b, &in); err != nil {
				return fmt.Errorf("reading the state: %w", err)
			}
			prompt, err := in.render(p)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(env.Out, prompt.String())
			return err
		},
	}
	profileFlag(c, &prof)
	return c
}

func (in *stateIn) render(p profile.Profile) (state.Prompt, error) {
	s, err := snapshotOf(in.Catalog, p)
	if err != nil {
		return state.Prompt{}, err
	}
	instructions := state.Instructions()
	if in.Instructions != nil {
		instructions = *in.Instructions
	}
	r, err := state.NewRenderer(instructions, s, p)
	if err != nil {
		return state.Prompt{}, err
	}
	slice, err := window.Slice("", []task.Spec{{ID: in.Task.ID, Benchmark: in.Task.Benchmark, Prompt: in.Task.Prompt, Tools: in.Task.Tools}})
	if err != nil {
		return state.Prompt{}, err
	}
	e := r.Episode(slice[0])
	if len(in.History) >= state.MaxSteps {
		return state.Prompt{}, fmt.Errorf("the history holds %d steps: there is no turn after %d", len(in.History), state.MaxSteps)
	}
	for i, h := range in.History {
		kinds := map[string]action.Kind{"delegate": action.Delegate, "retry": action.Retry}
		cost, err := money.FromFloat(h.Cost)
		switch {
		case h.ParseFailed:
			e.Refused()
			continue
		case kinds[h.Kind] == action.None:
			return state.Prompt{}, fmt.Errorf("history step %d: a kind is delegate or retry", i+1)
		case err != nil || cost < 0:
			return state.Prompt{}, fmt.Errorf("history step %d: a cost is a number of dollars that is not negative", i+1)
		}
		e.Delegated(kinds[h.Kind], h.Model, h.Success, cost)
	}
	return e.Prompt(), nil
}

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
