package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"assay/conductor/world"
	"assay/flow/conductor/devkit"
	"assay/flow/conductor/learn"
)

type learnFlags struct {
	window int64
	arm    string
	world  string
}

func (f *learnFlags) register(c *cobra.Command) {
	c.Flags().Int64Var(&f.window, "window", 0, "only this `NUMBER`; default all windows")
	c.Flags().StringVar(&f.arm, "arm", "", "only this `ARM`; default all arms")
	c.Flags().StringVar(&f.world, "world", "", "`DIR` of the world that a dev kit's trace file was played on; default the embedded one")
}

// open opens a publication's folder or a trace file.
func (f *learnFlags) open(c *cobra.Command, env *Env, source string) ([]*learn.Set, io.Closer, error) {
	info, err := os.Stat(source)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the traces: %w", err)
	}
	if info.IsDir() {
		fsys, root, err := openPublication(c.Context(), source)
		if err != nil {
			return nil, nil, err
		}
		sets, err := learn.Publication(fsys, f.window)
		if err != nil {
			return nil, nil, errors.Join(err, root.Close())
		}
		return sets, root, nil
	}
	var w *world.World
	if w, _, err = openWorld(c, env, f.world); err != nil {
		return nil, nil, err
	}
	set, err := learn.TraceFile(func() (io.ReadCloser, error) { return os.Open(source) }, w)
	if err != nil {
		return nil, nil, err
	}
	return []*learn.Set{set}, io.NopCloser(nil), nil
}

func newExport(env *Env) *cobra.Command {
	f := &learnFlags{}
	var format, target, out string
	keep := false
	c := &cobra.Command{
		Use:   "export DIR|TRACE",
		Short: "Turn published traces into training data",
		Long: `export writes one row for each step of the traces in a publication's folder, or in a trace file of 'assay conductor dev --trace': the prompt, what
was said, what came of it and what it cost, and the best action in hindsight: of all models that any arm of the window asked on the task the one
that adds most to the final, or STOP.

--format chat writes {"messages": [user, assistant]} lines as fine-tuning tools read them. Turns that could not be read are left out there;
--target best puts the best action in the assistant's mouth.

Exit codes: 0 written, 1 failed, 2 usage, 3 a prompt is not the one that was published.`,
		Example: "  assay conductor export ./public --format chat --target best -o train.jsonl\n  assay conductor export ./public --window 3 --arm king --format parquet -o king.parquet",
		Args:    exactArgs("DIR"),
		RunE: func(c *cobra.Command, args []string) (err error) {
			sets, closer, err := f.open(c, env, args[0])
			if err != nil {
				return err
			}
			defer closer.Close()
			o := learn.Options{Format: learn.Format(format), Target: learn.Target(target), Arm: f.arm, KeepUnreadable: keep}
			if out == "" || out == "-" {
				if o.Format == learn.Parquet {
					return usage(c, "parquet is written to a file: name it with -o")
				}
				n, err := learn.Export(env.Out, sets, o)
				return leftOut(env, n, err)
			}
			p, err := createPending(out)
			if err != nil {
				return err
			}
			defer p.Discard()
			n, err := learn.Export(p, sets, o)
			if err := leftOut(env, n, err); err != nil {
				return err
			}
			fmt.Fprintf(env.Err, "%d rows\n", n.Rows)
			return p.Commit()
		},
	}
	f.register(c)
	c.Flags().StringVar(&format, "format", "jsonl", "`jsonl`, chat or parquet")
	c.Flags().StringVar(&target, "target", "spoken", "what chat's assistant says: `spoken` or best")
	c.Flags().StringVarP(&out, "out", "o", "", "`FILE` to write; default standard output")
	c.Flags().BoolVar(&keep, "keep-unparseable", false, "keep turns that could not be read in chat")
	return c
}

func leftOut(env *Env, n learn.Exported, err error) error {
	if err == nil && n.Unreadable > 0 {
		fmt.Fprintf(env.Err, "left out %d turns that could not be read; --keep-unparseable keeps them\n", n.Unreadable)
	}
	return err
}

func newReplay(env *Env) *cobra.Command {
	f := &learnFlags{}
	who := &conductorFlags{}
	concurrency, asJSON := 1, false
	c := &cobra.Command{
		Use:   "replay DIR|TRACE --conductor SPEC",
		Short: "Ask your Conductor the prompts of published traces, at no cost",
		Long: `replay shows your Conductor the very prompts of published traces and compares its answers: how often it agrees, how often it cannot be
read, and how much less its first choice is worth than the best action in hindsight. No worker is called and nothing is paid.

Exit codes: 0 replayed, 1 failed, 2 usage, 4 the Conductor cannot be asked.`,
		Example: "  assay conductor replay ./public --window 3 --arm king --conductor exec:./my-conductor\n  assay conductor replay trace.jsonl --conductor builtin:cascade",
		Args:    exactArgs("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			if who.spec == "" {
				return usage(c, "--conductor is missing")
			}
			if err := who.check(c); err != nil {
				return err
			}
			sets, closer, err := f.open(c, env, args[0])
			if err != nil {
				return err
			}
			defer closer.Close()
			st := &devkit.Stage{Settings: devkit.Settings{Nonce: sets[0].Nonce, Profile: sets[0].Profile}, Snapshot: sets[0].Snapshot, Renderer: sets[0].Renderer}
			opened, err := who.open(c.Context(), c, env, st)
			if err != nil {
				return err
			}
			if opened.close != nil {
				defer opened.close()
			}
			r := learn.Replay{Conductor: opened.conductor, Concurrency: concurrency, Arm: f.arm}
			if env.Terminal {
				bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(env.Err), progressbar.OptionSetDescription("prompts"), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
				r.Progress = func(n int) { _ = bar.Add(n) }
				defer func() { _ = bar.Finish() }()
			}
			v, err := r.Run(c.Context(), sets)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(env.Out, v)
			}
			return v.Text(env.Out)
		},
	}
	f.register(c)
	who.register(c.Flags())
	c.Flags().IntVar(&concurrency, "concurrency", 1, "prompts asked at a time")
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return c
}
