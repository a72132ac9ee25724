package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"assay/conductor/profile"
	"assay/core/fault"
	"assay/core/money"
	"assay/flow/conductor/devkit"
	"assay/llm/exec"
	"assay/run"
	"assay/worlds"
)

// devFlags are the flags of the dev kit.
type devFlags struct {
	modelTree, reference string
	conductor            conductorFlags
	world                string
	budget               string
	concurrency          int
	nonce                string
	profile              string
	perBenchmark         int
	worker, workerKey    string
	trace, journal       string
	keepPartial          bool
	decisions            string
	json                 bool
}

func newConductor(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "conductor",
		Short: "Judge routing models with the rules that decide a window",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newDev(env), newParse(env), newRender(env), newScore(env), newDuel(env), newAdmit(env), newReference(env), newHotkey(env), newSubmit(env), newWindow(env), newAudit(env), newShow(env), newPower(env), newExport(env), newReplay(env))
	return c
}

func newDev(env *Env) *cobra.Command {
	f := &devFlags{}
	c := &cobra.Command{
		Use:   "dev [flags]",
		Short: "Judge one Conductor on one world and say where it stands",
		Long: `dev plays a Conductor over a world's tasks with the scaffold, scorer and duel that decide a window, and reports failure
modes first, then scores, cost for each model, what the four duel conditions say, and every decision.

A Conductor is given as
  builtin:always-cheapest | always-strongest | cascade | random   a reference policy
  http://host:port/v1                                            a completions endpoint (any OpenAI-compatible server)
  exec:COMMAND                                                   a program: {"prompt":…,"task_id":…,"step":n} in, {"text":…} out, one line each
  my_module:attribute                                            a Python callable from prompt to text, or an object with act(prompt)
Without one, the cheapest policy stands in.

A world is a directory with models.json, tasks.jsonl and perhaps outcomes.jsonl; without --world the embedded world is used.
A world with recorded outcomes costs nothing. Without them --worker names the endpoint that is called and --budget-usd is needed;
such a run is journaled and, when it is cut off, the same command goes on without repeating a paid call.

Exit codes: 0 done, 1 failed, 2 usage, 3 the tree is refused, 4 not ready.`,
		Example: `  assay conductor dev --conductor builtin:cascade
  assay conductor dev --world ./routerarena --conductor my_serving:conductor --trace run.jsonl
  thirtyspokes-dev --model-tree ./weights --reference ./reference --conductor my_serving:conductor --budget-usd 1`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runDev(c, env, f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.modelTree, "model-tree", "", "artifact `DIR` to admit first; needs --reference")
	flags.StringVar(&f.reference, "reference", "", "`DIR` of the reference tree; its tokenizer.json measures REASON")
	f.conductor.register(flags)
	flags.StringVar(&f.world, "world", "", "world `DIR`; default the embedded world \""+worlds.Name+"\"")
	flags.StringVar(&f.budget, "budget-usd", "", "allowance of the arm in `DOLLARS`; default none on recorded worlds")
	flags.IntVar(&f.concurrency, "concurrency", 16, "episodes in flight")
	flags.StringVar(&f.nonce, "nonce", "dev", "`TEXT` that orders the tasks and seeds the duel")
	flags.StringVar(&f.profile, "profile", "strict", "`strict` or compat: how the rules are read")
	flags.IntVar(&f.perBenchmark, "per-benchmark", 0, "draw `N` tasks from each benchmark; 0 takes all")
	flags.StringVar(&f.worker, "worker", "", "`URL` of an OpenAI-compatible endpoint that workers are called at, for money")
	flags.StringVar(&f.workerKey, "worker-key-file", "", "`FILE` with the key of --worker; mode 0600")
	flags.StringVar(&f.trace, "trace", "", "write every step to `FILE`: a header, then one episode a line")
	flags.BoolVar(&f.keepPartial, "keep-partial", false, "when the run fails, keep the finished episodes in FILE.partial")
	flags.StringVar(&f.journal, "journal", "assay-dev.journal", "`FILE` that lets a paid run go on after a crash; removed when the run is done")
	flags.StringVar(&f.decisions, "decisions", "", "how many tasks' decisions to print: a `NUMBER` or all; default 20, with --json all")
	flags.BoolVar(&f.json, "json", false, "print the report as JSON")
	return c
}

func runDev(c *cobra.Command, env *Env, f *devFlags) error {
	ctx := c.Context()
	p, err := profile.Parse(f.profile)
	if err != nil {
		return usage(c, err.Error())
	}
	budget, most, err := f.check(c)
	if err != nil {
		return err
	}
	admitted, err := admitTree(c, env, f, p)
	if err != nil {
		return err
	}
	w, name, err := openWorld(c, env, f.world)
	if err != nil {
		return err
	}
	st, err := devkit.Open(devkit.Settings{World: w, Name: name, Profile: p, Nonce: f.nonce, PerBenchmark: f.perBenchmark})
	if err != nil {
		return err
	}
	arm := devkit.Arm{Budget: budget, Concurrency: f.concurrency, Decisions: most, Now: env.Now}
	closeArm, err := f.fill(ctx, c, env, st, &arm)
	defer closeArm()
	if err != nil {
		return err
	}
	var finished atomic.Int64
	draw, done := devProgress(env, len(st.Slice))
	arm.Progress = func(n int) { finished.Add(int64(n)); draw(n) }
	playing := ctx
	if arm.Journal != nil { // what is under way is paid: let it end and be recorded
		playing, arm.Drain = context.WithoutCancel(ctx), ctx.Done()
		defer context.AfterFunc(ctx, func() {
			fmt.Fprintln(env.Err, "interrupted: waiting for the calls under way; interrupt again to give them up")
		})()
	}
	report, err := f.play(playing, st, arm)
	done()
	if err != nil {
		fmt.Fprintf(env.Err, "%d of %d tasks were finished\n", finished.Load(), len(st.Slice))
		return interrupted(ctx, err, arm.Journal != nil)
	}
	report.Admission = admitted
	if f.json {
		err = printJSON(env.Out, report)
	} else {
		err = report.WriteText(env.Out)
	}
	if err == nil && arm.Journal != nil { // not before: until the report is out, the journal is all there is
		err = removeJournal(f.journal)
	}
	if n := report.Failures; err == nil && f.worker != "" && n.Calls > 0 && n.Calls == n.Failed+n.Refused {
		return &exitError{ExitNotReady, "is " + f.worker + " the base address of a server that is up, and is its key funded?", errors.New("no worker call was answered")}
	}
	return err
}

// check reads the flags that need reading, before anything is opened.
func (f *devFlags) check(c *cobra.Command) (budget *money.Pico, decisions int, err error) {
	if f.modelTree != "" && f.reference == "" {
		return nil, 0, usage(c, "--model-tree needs --reference")
	}
	if f.concurrency < 1 || f.concurrency > 1024 {
		return nil, 0, usage(c, "--concurrency is 1 to 1024")
	}
	if f.trace != "" && f.worker != "" && filepath.Clean(f.trace) == filepath.Clean(f.journal) {
		return nil, 0, usage(c, "--trace and --journal name the same file")
	}
	if f.perBenchmark < 0 {
		return nil, 0, usage(c, "--per-benchmark is not negative")
	}
	if f.budget != "" {
		b, err := money.Parse(f.budget)
		if err != nil || b < 0 {
			return nil, 0, usage(c, "--budget-usd is a number of dollars that is not negative")
		}
		budget = &b
	}
	if f.worker != "" && budget == nil {
		return nil, 0, usage(c, "--worker costs money: give --budget-usd")
	}
	decisions = -1
	switch {
	case f.decisions == "" && !f.json:
		decisions = 20
	case f.decisions != "" && f.decisions != "all":
		if decisions, err = strconv.Atoi(f.decisions); err != nil || decisions < 0 {
			return nil, 0, usage(c, "--decisions is a number or all")
		}
	}
	return budget, decisions, f.conductor.check(c)
}

// fill opens what the arm is played with. The returned function closes it and is never nil.
func (f *devFlags) fill(ctx context.Context, c *cobra.Command, env *Env, st *devkit.Stage, a *devkit.Arm) (func(), error) {
	closers := []func(){}
	closeAll := func() {
		for _, f := range closers {
			f()
		}
	}
	cond, err := f.conductor.open(ctx, c, env, st)
	if err != nil {
		return closeAll, err
	}
	a.Conductor, a.Name = cond.conductor, cond.name
	if cond.close != nil {
		closers = append(closers, cond.close)
	}
	if a.Counter, err = openCounter(f.reference); err != nil {
		return closeAll, err
	}
	if f.worker == "" {
		if !st.World.Recorded() {
			return closeAll, usage(c, "the world has no recorded outcomes: give --worker URL and --budget-usd")
		}
		return closeAll, nil
	}
	live, closeLive, err := openWorkers(f.worker, f.workerKey, st.Profile)
	if err != nil {
		return closeAll, err
	}
	closers = append(closers, closeLive)
	j, err := run.OpenJournal(f.journal)
	if err != nil {
		return closeAll, err
	}
	closers = append(closers, func() { _ = j.Close() }) // everything is synced when it is appended
	if n := len(j.Runs()); n > 1 {                      // the first is the arm itself
		fmt.Fprintf(env.Err, "going on with %s: %d tasks were begun\n", f.journal, n-1)
	}
	a.Workers, a.Journal = live, j
	return closeAll, nil
}

// play runs the arm with its trace, and gives the trace its name when the run is complete.
func (f *devFlags) play(ctx context.Context, st *devkit.Stage, a devkit.Arm) (report, error) {
	var out *pending
	if f.trace != "" {
		var err error
		if out, err = createPending(f.trace); err != nil {
			return nil, fmt.Errorf("writing the trace: %w", err)
		}
		defer out.Discard()
		a.Trace = out.File
	}
	r, err := st.Run(ctx, a)
	if err != nil && out != nil && f.keepPartial {
		out.Keep()
	}
	if err != nil {
		return nil, err
	}
	if out != nil {
		if err := out.Commit(); err != nil {
			return nil, fmt.Errorf("writing the trace: %w", err)
		}
	}
	return r, nil
}

// interrupted adds to an error what to do next.
func interrupted(ctx context.Context, err error, journaled bool) error {
	switch {
	case fault.Of(err) == run.OtherRun:
		return &exitError{ExitFailed, "the journal was begun by another command, with another Conductor, nonce, budget or slice: finish that one, name another --journal, or remove the file with what it paid for", err}
	case ctx.Err() != nil && journaled:
		return &exitError{ExitFailed, "run the same command again: nothing that was paid is bought twice", errors.New("interrupted")}
	case ctx.Err() != nil:
		return &exitError{ExitFailed, "", errors.New("interrupted; nothing was written")}
	case journaled:
		return &exitError{ExitFailed, "run the same command again: nothing that was paid is bought twice", err}
	}
	return &exitError{ExitFailed, conductorHint(err), err}
}

// conductorHint says what to do about a Conductor that failed.
func conductorHint(err error) string {
	switch fault.Of(err) {
	case exec.Reported:
		return "modules are looked for in the current folder and in PYTHONPATH; my_module:attribute names my_module.py"
	case exec.TimedOut:
		return "--conductor-timeout sets the time for one turn"
	case exec.NotJSON, exec.NoText:
		return `a program answers each line with one line {"text":"…"}; what it wants to say besides belongs on standard error`
	}
	return ""
}

// devProgress draws a bar on a terminal and is silent elsewhere.
func devProgress(env *Env, tasks int) (add func(int), done func()) {
	if !env.Terminal {
		return func(int) {}, func() {}
	}
	bar := progressbar.NewOptions(tasks,
		progressbar.OptionSetWriter(env.Err), progressbar.OptionSetDescription("episodes"), progressbar.OptionShowCount(),
		progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
	return func(n int) { _ = bar.Add(n) }, func() { _ = bar.Finish() } // a bar that cannot be drawn is no reason to stop
}

// worldName is how reports show a world.
func worldName(dir string) string {
	if dir == "" {
		return worlds.Name + " (embedded)"
	}
	return strings.TrimRight(dir, "/")
}
