package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"assay/conductor/action"
	"assay/conductor/profile"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/canon"
	"assay/core/money"
)

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
