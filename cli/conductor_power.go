package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"assay/cli/owner"
	"assay/conductor/power"
	"assay/conductor/publication"
	"assay/conductor/score"
	"assay/flow/conductor/window"
	"assay/view"
)

type powerFlags struct {
	world        string
	benchmarks   []string
	perBenchmark int
	delta        float64
	json         bool
}

func newPower(env *Env) *cobra.Command {
	f := &powerFlags{}
	c := &cobra.Command{
		Use:   "power",
		Short: "Say, before a window opens, the smallest difference that its slice can resolve",
		Long: `power plays the reference policies on a world's recorded outcomes, measures how much two arms' finals differ from task to task, and
simulates windows: it prints the smallest difference in final that wins nine windows of ten at the given number of tasks for each
benchmark, and how many tasks a given difference needs. All four conditions of the duel count.

With two benchmarks the breadth rule means that a policy wins only by winning both.

Exit codes: 0 printed, 1 failed, 2 usage, 3 no slice resolves the difference.`,
		Example: "  assay conductor power --per-benchmark 40\n  assay conductor power --world ./world --delta 0.07 --json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runPower(c, env, f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.world, "world", "", "`DIR` of a world with recorded outcomes; default the embedded one")
	flags.StringSliceVar(&f.benchmarks, "benchmarks", nil, "`NAMES` of the benchmarks; default all")
	flags.IntVar(&f.perBenchmark, "per-benchmark", 125, "`TASKS` of each benchmark in a window")
	flags.Float64Var(&f.delta, "delta", 0.07, "`DIFFERENCE` in final whose slice size is wanted")
	flags.BoolVar(&f.json, "json", false, "print the result as JSON")
	return c
}

func runPower(c *cobra.Command, env *Env, f *powerFlags) error {
	if f.perBenchmark < 2 || !(f.delta > 0) {
		return usage(c, "--per-benchmark is at least 2 and --delta above zero")
	}
	pairs, err := f.noise(c.Context(), env)
	if err != nil {
		return err
	}
	noise := power.Worst(pairs...)
	sizes := make([]int, len(noise))
	for i := range sizes {
		sizes[i] = f.perBenchmark
	}
	curve, err := power.Simulate(noise, sizes, power.Windows)
	if err != nil {
		return err
	}
	v := &view.Power{
		PerBenchmark: f.perBenchmark, Detectable: curve.Detectable(), Closed: power.Closed(noise, sizes), Delta: f.delta, Won: curve.Won(f.delta),
		MustWin: power.Needed(len(noise)),
	}
	for _, n := range noise {
		v.Benchmarks = append(v.Benchmarks, view.PowerLine{Benchmark: n.Benchmark, Tasks: len(n.Diffs), Deviation: n.Deviation})
	}
	if v.Size, err = power.SizeFor(noise, f.delta); err != nil {
		v.Size, v.Unresolved = 0, err.Error()
	}
	if f.json {
		return printJSON(env.Out, v)
	}
	return v.Text(env.Out)
}

// noise measures every pair of reference arms.
func (f *powerFlags) noise(ctx context.Context, env *Env) ([][]power.Noise, error) {
	w, _, err := owner.ReadWorld(f.world)
	if err != nil {
		return nil, hinted(err, "'assay world check DIR' lists every defect")
	}
	season, arms, err := window.FitArms(ctx, window.Season{Profile: "strict"}, w, f.benchmarks, env.Now)
	if err != nil {
		return nil, err
	}
	rates := publication.Rules{Exchange: season.Exchange}.Rates()
	var names []string
	var rows [][]score.Row
	for _, name := range window.References() {
		names, rows = append(names, name), append(rows, arms[name])
	}
	var out [][]power.Noise
	for i := range rows {
		for k := range i {
			n, err := power.Measure(rows[k], rows[i], rates)
			if err != nil {
				return nil, fmt.Errorf("measuring %s against %s: %w", names[i], names[k], err)
			}
			out = append(out, n)
		}
	}
	return out, nil
}
