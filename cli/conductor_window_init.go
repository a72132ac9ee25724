package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay/cli/owner"
	"assay/conductor/profile"
	"assay/conductor/publication"
	"assay/core/canon"
	"assay/flow/conductor/window"
)

// initFlags are the settings that an owner is made with. All stand in its file afterwards.
type initFlags struct {
	config     owner.Config
	benchmarks []string
	exchange   string
	kingUID    int
	profile    string
}

func newWindowInit(env *Env) *cobra.Command {
	f := &initFlags{}
	c := &cobra.Command{
		Use:   "init OWNER --chain CHAIN --origin NAME",
		Short: "Make an owner's folder: keys, database, buckets, and a fitted season",
		Long: `init makes the folder OWNER with the owner's keys, an empty database, the buckets and the settings in owner.json. The exchange rate
and the first king are fitted on the world's recorded outcomes, or read from --exchange FILE. Everything in owner.json may be changed
by hand until the schedule is committed; afterwards what was committed counts.

Keys that lie in the folder already (owner.seed, gateway.seed, identity.age) stay.`,
		Example: `  assay conductor window init ./owner --chain fake:chain.json --origin example.com/conductor --per-benchmark 12
  assay conductor window init ./owner --chain fake:chain.json --origin example.com/conductor --world ./world --reference reference.json \
    --serve "exec:python3 serve.py {tree}" --workers https://openrouter.ai/api/v1 --worker-key key`,
		Args: exactArgs("OWNER"),
		RunE: func(c *cobra.Command, args []string) error { return runWindowInit(c, env, f, args[0]) },
	}
	l, s, flags := &f.config.Local, &f.config.Season, c.Flags()
	flags.StringVar(&l.Chain, "chain", "", "the `CHAIN`: fake:FILE")
	flags.StringVar(&s.Origin, "origin", "", "`NAME` of the publication's log, such as example.com/conductor")
	flags.StringVar(&l.World, "world", "", "`DIR` of the world; default the embedded one")
	flags.StringVar(&l.Public, "public", "public", "`DIR` of the publication")
	flags.StringVar(&l.Bucket, "bucket", "bucket", "`DIR` that miners hand their artifacts in to")
	flags.StringVar(&l.Reference, "reference", "", "inventory `FILE` that trees are admitted by; default nobody is admitted")
	flags.StringVar(&l.Repositories, "repositories", "", "`DIR` of the repositories that workers may read, one for each task that declares reads")
	flags.StringVar(&l.Serve, "serve", "", "how a submission is served: exec:`COMMAND`, {tree} standing for its folder")
	flags.StringVar(&l.Workers, "workers", owner.Recorded, "recorded, or the base `URL` of an OpenAI-compatible endpoint")
	flags.StringVar(&l.WorkerKey, "worker-key", "", "`FILE` with the owner's key for it; mode 0600")
	flags.BoolVar(&l.Idempotent, "idempotent", false, "the endpoint answers a repeated Idempotency-Key as before, unpaid")
	flags.StringVar(&f.profile, "profile", "strict", "`strict` or compat")
	flags.IntVar(&s.Netuid, "netuid", 1, "`NUMBER` of the subnet")
	flags.Int64Var(&s.Genesis, "genesis", 0, "`BLOCK` that opens window 1")
	flags.Int64Var(&s.WindowBlocks, "window-blocks", 7200, "`BLOCKS` of a window")
	flags.Int64Var(&s.Windows, "windows", 52, "`NUMBER` of windows that are scheduled")
	flags.Int64Var(&s.PerBenchmark, "per-benchmark", 125, "tasks drawn of each benchmark")
	flags.Int64Var(&s.Minimum, "minimum", 20, "benchmarks with fewer tasks are left out")
	flags.StringSliceVar(&f.benchmarks, "benchmarks", nil, "`NAMES` of the benchmarks; default all with as many tasks as the minimum")
	flags.StringVar(&f.exchange, "exchange", "", "`FILE` with king_zero, contrast and exchange, instead of the fit")
	flags.IntVar(&s.GateTasks, "gate-tasks", 60, "tasks of the power gate")
	flags.IntVar(&s.Duels, "duels", 3, "challengers of one window at most")
	flags.IntVar(&s.Concurrency, "concurrency", 16, "episodes of a batch")
	flags.StringVar(&s.Allowance, "allowance-usd", "", "`DOLLARS` that a submission's arm may spend; default no bound")
	flags.StringVar(&s.OwnerBudget, "owner-budget-usd", "", "`DOLLARS` that the owner's arms may spend in a window; default no bound")
	flags.StringVar(&s.Funding, "funding", window.OwnerPays, "who pays a submission's arm: `owner`, account or key")
	flags.IntVar(&s.BurnUID, "burn-uid", 0, "`UID` that gets what nobody can be paid")
	flags.IntVar(&f.kingUID, "king-zero-uid", -1, "`UID` paid while the first policy reigns; default that share burns")
	return c
}

func runWindowInit(c *cobra.Command, env *Env, f *initFlags, dir string) (err error) {
	l, s := &f.config.Local, &f.config.Season
	if l.Chain == "" || s.Origin == "" {
		return usage(c, "--chain and --origin are needed")
	}
	if _, err := profile.Parse(f.profile); err != nil {
		return usage(c, err.Error())
	}
	s.V, s.Profile, s.Aliases, l.Artifacts, l.Models = 1, f.profile, map[string][]string{}, "artifacts", "models"
	if f.kingUID >= 0 {
		s.KingZeroUID = &f.kingUID
	}
	if err := absolute(&l.World, &l.Reference, &l.WorkerKey, &l.Repositories); err != nil {
		return err
	}
	if name, ok := strings.CutPrefix(l.Chain, "fake:"); ok {
		if err := absolute(&name); err != nil {
			return err
		}
		l.Chain = "fake:" + name
	}
	if *s, err = f.season(c, env, *s); err != nil {
		return err
	}
	if err := owner.Create(c.Context(), dir, f.config, owner.Env{Rand: env.Rand}); err != nil {
		return err
	}
	o, err := openOwner(c, env, dir, nil, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	st, err := o.Root()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "owner hotkey   %s\nsealed keys to %s\nverifier key   %s\nfirst king     %s, against %s\nschedule       %s\n"+
		"next: register the hotkey, then 'assay conductor window commit %s' before anybody submits\n",
		o.Hotkey, o.Recipient, o.Key(), s.KingZero, s.Contrast, st, dir)
	return err
}

// season settles who reigns first and the exchange.
func (f *initFlags) season(c *cobra.Command, env *Env, s window.Season) (window.Season, error) {
	w, _, err := owner.ReadWorld(f.config.Local.World)
	if err != nil {
		return s, hinted(err, "'assay world check DIR' lists every defect")
	}
	if f.exchange != "" {
		return readExchange(f.exchange, s)
	}
	if len(f.benchmarks) == 0 {
		n := map[string]int64{}
		for _, t := range w.Tasks {
			if n[t.Benchmark]++; n[t.Benchmark] == s.Minimum {
				f.benchmarks = append(f.benchmarks, t.Benchmark)
			}
		}
		slices.Sort(f.benchmarks)
	}
	return window.Fit(c.Context(), s, w, f.benchmarks, env.Now)
}

// readExchange reads what a fit would settle.
func readExchange(name string, s window.Season) (window.Season, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return s, fmt.Errorf("reading the exchange: %w", err)
	}
	var x struct {
		KingZero string                      `json:"king_zero"`
		Contrast string                      `json:"contrast"`
		Exchange map[string]publication.Rate `json:"exchange"`
	}
	if err := canon.Strict(text, &x); err != nil {
		return s, fmt.Errorf("reading the exchange: %w", err)
	}
	s.KingZero, s.Contrast, s.Exchange = x.KingZero, x.Contrast, x.Exchange
	return s, nil
}

// absolute makes paths independent of the folder that a command is given in.
func absolute(names ...*string) error {
	for _, n := range names {
		if *n == "" {
			continue
		}
		abs, err := filepath.Abs(*n)
		if err != nil {
			return err
		}
		*n = abs
	}
	return nil
}
