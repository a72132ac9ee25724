package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"assay/cli/owner"
	"assay/conductor/round"
	"assay/core/money"
	"assay/flow/conductor/meter"
	"assay/flow/conductor/play"
	"assay/flow/conductor/window"
	"assay/store"
	"assay/view"
)

func newWindow(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "window",
		Short: "Run windows as an owner: draw, play, judge, publish",
		Long: `window runs the windows of a season from an owner's folder. A window that was cut off goes on when it is run again; nothing that
was paid is paid twice, and what is published is the same.`,
		Example: `  assay conductor window init ./owner --chain fake:chain.json --origin example.com/conductor
  assay conductor window run ./owner --window 1
  assay conductor audit ./owner/public`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newWindowInit(env), newWindowCommit(env), newWindowDraw(env), newWindowRun(env), newWindowStatus(env), newWindowPublish(env), newWindowVerify(env), newWindowCredit(env))
	return c
}

// openOwner opens an owner's folder with what this process brings along.
func openOwner(c *cobra.Command, env *Env, dir string, drain <-chan struct{}, progress func(window.Progress)) (*owner.Opened, error) {
	o, err := owner.Open(c.Context(), dir, owner.Env{
		Err: env.Err, Now: env.Now, Rand: env.Rand, Log: slog.New(slog.NewTextHandler(env.Err, nil)), Progress: progress, Drain: drain,
	})
	if errors.Is(err, owner.ErrNoOwner) {
		return nil, hinted(err, "'assay conductor window init DIR' makes one")
	}
	return o, err
}

// withOwner opens the owner's folder that the first argument names, for one command.
func withOwner(env *Env, do func(*cobra.Command, *owner.Opened) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) (err error) {
		o, err := openOwner(c, env, args[0], nil, nil)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, o.Close()) }()
		return do(c, o)
	}
}

func newWindowCommit(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "commit OWNER",
		Short: "Commit the schedule's root on the chain, before anybody submits",
		Args:  exactArgs("OWNER"),
		RunE: withOwner(env, func(c *cobra.Command, o *owner.Opened) error {
			if err := o.Commit(c.Context(), o.Hotkey); err != nil {
				return err
			}
			signal, err := o.Root()
			if err == nil {
				_, err = fmt.Fprintln(env.Out, signal)
			}
			return err
		}),
	}
}

type windowFlags struct {
	window int64
	until  int64
	json   bool
}

func (f *windowFlags) register(c *cobra.Command) {
	c.Flags().Int64Var(&f.window, "window", 0, "`NUMBER` of the window; default the first that is not finished")
	c.Flags().BoolVar(&f.json, "json", false, "print the result as JSON")
}

// number returns the window that is meant.
func (f *windowFlags) number(ctx context.Context, o *owner.Opened) (int64, error) {
	if f.window < 0 || f.until < 0 {
		return 0, &exitError{ExitUsage, "", errors.New("windows count from 1")}
	}
	if f.window > 0 {
		return f.window, nil
	}
	s, err := o.Status(ctx)
	if err != nil {
		return 0, err
	}
	for _, w := range s.Windows { // one whose last step was cut off may be published already
		if w.Phase != store.Published.String() {
			return w.Window, nil
		}
	}
	return s.Published + 1, nil
}

func newWindowDraw(env *Env) *cobra.Command {
	f := &windowFlags{}
	c := &cobra.Command{
		Use:   "draw OWNER",
		Short: "Open a window: draw its slice and publish its record",
		Long: `draw reads the block hash that opens the window, draws the slice, fixes the queue and publishes the record, before any arm runs.

Exit codes: 0 drawn, 1 failed, 2 usage, 3 refused, 4 the window's block is not there yet.`,
		Example: "  assay conductor window draw ./owner --window 3",
		Args:    exactArgs("OWNER"),
		RunE: withOwner(env, func(c *cobra.Command, o *owner.Opened) error {
			n, err := f.number(c.Context(), o)
			if err != nil {
				return err
			}
			if err := o.Launch(c.Context(), o.Hotkey); err != nil {
				return err
			}
			r, err := o.Draw(c.Context(), n)
			if err != nil {
				return err
			}
			v := view.NewDraw(r)
			if f.json {
				return printJSON(env.Out, v)
			}
			return v.Text(env.Out)
		}),
	}
	f.register(c)
	return c
}

func newWindowRun(env *Env) *cobra.Command {
	f := &windowFlags{}
	c := &cobra.Command{
		Use:   "run OWNER",
		Short: "Run a window to its publication, or go on where it was cut off",
		Long: `run draws the window unless that was done, plays the power gate, the king and the challengers, judges, sets the weights and publishes.

The first interrupt lets calls under way end and stops; run it again to go on. Kill it at any moment: no paid call is made twice, and
the publication is the same.

Exit codes: 0 published, 1 failed, 2 usage, 3 refused, 4 not ready: run it again.`,
		Example: "  assay conductor window run ./owner\n  assay conductor window run ./owner --window 1 --until 3",
		Args:    exactArgs("OWNER"),
		RunE:    func(c *cobra.Command, args []string) error { return runWindow(c, env, f, args[0]) },
	}
	f.register(c)
	c.Flags().Int64Var(&f.until, "until", 0, "run every window up to this `NUMBER`")
	return c
}

func runWindow(c *cobra.Command, env *Env, f *windowFlags, dir string) (err error) {
	bars := &armBars{env: env}
	o, err := openOwner(c, env, dir, c.Context().Done(), bars.tell)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	n, err := f.number(c.Context(), o)
	if err != nil {
		return err
	}
	if f.until > 0 && n > f.until { // the run before was cut off after its last step
		_, err := fmt.Fprintf(env.Err, "every window up to %d is published\n", f.until)
		return err
	}
	if err := o.Launch(c.Context(), o.Hotkey); err != nil {
		return hinted(err, "'assay conductor window commit "+dir+"' commits the schedule")
	}
	for ; ; n++ {
		// The context stays alive at the first interrupt: what is under way ends, and is recorded.
		r, err := o.Run(context.WithoutCancel(c.Context()), n)
		if err := bars.close(); err != nil {
			return err
		}
		if errors.Is(err, play.ErrDrained) {
			return &exitError{ExitNotReady, "run the same command again to go on", fmt.Errorf("window %d was interrupted", n)}
		}
		if err != nil {
			return err
		}
		if err := printReveal(env, r, f.json); err != nil {
			return err
		}
		if n >= f.until {
			return nil
		}
	}
}

func printReveal(env *Env, r *round.Reveal, asJSON bool) error {
	if asJSON {
		return printJSON(env.Out, r)
	}
	return view.RevealText(env.Out, r)
}

func newWindowPublish(env *Env) *cobra.Command {
	f := &windowFlags{}
	c := &cobra.Command{
		Use:   "publish OWNER",
		Short: "Publish a window that is decided and was cut off before its reveal",
		Long: `publish goes on with a window whose history is kept already. A window that is not decided yet is refused: run it.

Exit codes: 0 published, 1 failed, 2 usage, 3 refused, 4 the window is not decided yet.`,
		Example: "  assay conductor window publish ./owner --window 3",
		Args:    exactArgs("OWNER"),
		RunE: withOwner(env, func(c *cobra.Command, o *owner.Opened) error {
			n, err := f.number(c.Context(), o)
			if err != nil {
				return err
			}
			s, err := o.Status(c.Context())
			if err != nil {
				return err
			}
			for _, w := range s.Windows {
				if w.Window == n && (w.Phase == "settled" || w.Phase == "weighed" || w.Phase == "published") {
					r, err := o.Run(c.Context(), n)
					if err != nil {
						return err
					}
					return printReveal(env, r, f.json)
				}
			}
			return &exitError{ExitNotReady, "'assay conductor window run' plays it", fmt.Errorf("window %d is not decided", n)}
		}),
	}
	f.register(c)
	return c
}

func newWindowStatus(env *Env) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:     "status OWNER",
		Short:   "Say how far the season has come",
		Example: "  assay conductor window status ./owner",
		Args:    exactArgs("OWNER"),
		RunE: withOwner(env, func(c *cobra.Command, o *owner.Opened) error {
			s, err := o.Status(c.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(env.Out, s)
			}
			return statusText(env.Out, o, s)
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the status as JSON")
	return c
}

func statusText(w io.Writer, o *owner.Opened, s *window.Status) error {
	var b strings.Builder
	fmt.Fprintf(&b, "owner hotkey   %s\nsealed keys to %s\nverifier key   %s\nschedule       %s\n", o.Hotkey, o.Recipient, s.Key, s.Root)
	reigns := s.Reigns
	if reigns == "" {
		reigns = "nobody: " + o.Config.Season.KingZero
	}
	fmt.Fprintf(&b, "chain          block %d, window %d; the next one opens at block %d\nreigns         %s\n", s.Head, s.Now, s.OpensAt, reigns)
	for _, st := range s.Windows {
		fmt.Fprintf(&b, "window %-4d    %s, drawn at block %d\n", st.Window, st.Phase, st.Block)
		for _, a := range st.Arms {
			fmt.Fprintf(&b, "               %s: %d episodes ended %s\n", a.Arm, a.Ended, a.Aborted)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func newWindowCredit(env *Env) *cobra.Command {
	var hotkey, dollars, id string
	c := &cobra.Command{
		Use:     "credit OWNER --hotkey H --usd AMOUNT --id PAYMENT",
		Short:   "Credit a miner's account; the same payment twice changes nothing",
		Example: "  assay conductor window credit ./owner --hotkey 5F… --usd 5 --id invoice-17",
		Args:    exactArgs("OWNER"),
		RunE: func(c *cobra.Command, args []string) error {
			amount, err := money.Parse(dollars)
			if err != nil || amount <= 0 || hotkey == "" || id == "" {
				return usage(c, "--hotkey, --id and --usd, a number of dollars above zero, belong together")
			}
			if _, err := owner.Read(args[0]); err != nil {
				return err
			}
			f, err := meter.OpenFunds(c.Context(), owner.Funds(args[0]), meter.AnyWindow)
			if err != nil {
				return err
			}
			if err := f.Credit(c.Context(), id, hotkey, amount); err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.Out, "%s holds %s\n", hotkey, f.Balance(hotkey))
			return err
		},
	}
	c.Flags().StringVar(&hotkey, "hotkey", "", "the miner's `HOTKEY`")
	c.Flags().StringVar(&dollars, "usd", "", "`DOLLARS` to credit")
	c.Flags().StringVar(&id, "id", "", "`NAME` of the payment")
	return c
}

// armBars draws the progress of the arm under way.
type armBars struct {
	env *Env
	mu  sync.Mutex
	arm string
	bar *progressbar.ProgressBar
}

func (b *armBars) tell(p window.Progress) {
	if !b.env.Terminal {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if name := fmt.Sprintf("window %d %s", p.Window, p.Arm); name != b.arm {
		b.arm = name
		b.bar = progressbar.NewOptions(p.All, progressbar.OptionSetWriter(b.env.Err), progressbar.OptionSetDescription(name),
			progressbar.OptionShowCount(), progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
	}
	_ = b.bar.Set(p.Done) // what cannot be drawn is nobody's failure
}

func (b *armBars) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar == nil {
		return nil
	}
	err := b.bar.Finish()
	b.bar, b.arm = nil, ""
	return err
}
