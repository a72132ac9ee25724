package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"assay/cli/owner"
	"assay/conductor/publication"
	"assay/core/fault"
	"assay/flow/conductor/snapshot"
	"assay/tlog"
	"assay/verify/audit"
)

type auditFlags struct {
	key      string
	window   int64
	json     bool
	requests string
	prove    string
	proof    string
	arm      string
	episode  int
	trees    string
}

func newAudit(env *Env) *cobra.Command {
	f := &auditFlags{}
	c := &cobra.Command{
		Use:   "audit DIR",
		Short: "Recompute a publication from its files alone",
		Long: `audit recomputes every slice, prompt, worker request, receipt, score, verdict, reveal and weight of the publication in folder DIR, offline
and from the rules alone, and names the first byte that is not what it should be.

Pin the owner's verifier key with --key: you have it from elsewhere. Without it the key that the folder itself names is used, and
then the audit says only that the publication agrees with itself.

--requests writes the body of every worker request below a folder. --prove writes one episode with all that is needed to check it
away from the rest, which --proof checks.

Exit codes: 0 everything follows from the rules, 1 the folder cannot be read, 2 usage, 3 something does not.`,
		Example: `  assay conductor audit ./public --key example.com/conductor+20b6a00a+AQYd…
  assay conductor audit ./public --requests ./requests --window 3
  assay conductor audit ./public --prove step.proof --window 3 --arm king --episode 17
  assay conductor audit --proof step.proof --key example.com/conductor+20b6a00a+AQYd…`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runAudit(c, env, f, args) },
	}
	flags := c.Flags()
	flags.StringVar(&f.key, "key", "", "the owner's verifier `KEY`")
	flags.Int64Var(&f.window, "window", 0, "recompute only this `NUMBER`'s arms and reveal")
	flags.BoolVar(&f.json, "json", false, "print the report as JSON")
	flags.StringVar(&f.trees, "repositories", "", "`DIR` of the repositories that workers read: make every observation again")
	flags.StringVar(&f.requests, "requests", "", "`DIR` to write every worker request's body below; it must not exist yet")
	flags.StringVar(&f.prove, "prove", "", "`FILE` to write one episode's proof to")
	flags.StringVar(&f.proof, "proof", "", "`FILE` with a proof to check")
	flags.StringVar(&f.arm, "arm", "king", "`NAME` of the arm, with --prove")
	flags.IntVar(&f.episode, "episode", 0, "`PLACE` of the episode in its arm, from 0, with --prove")
	return c
}

func runAudit(c *cobra.Command, env *Env, f *auditFlags, args []string) error {
	if f.proof != "" {
		return checkProof(c, env, f)
	}
	if len(args) == 0 {
		return usage(c, "DIR is missing")
	}
	fsys, root, err := openPublication(c.Context(), args[0])
	if err != nil {
		return err
	}
	defer root.Close()
	key, err := pinnedKey(c, env, f.key, fsys)
	if err != nil {
		return err
	}
	switch {
	case f.prove != "":
		return prove(c.Context(), env, f, fsys, key)
	case f.requests != "":
		return writeRequests(c.Context(), env, f, fsys, key)
	}
	bar := auditBar(env)
	r, err := audit.Audit(fsys, key, audit.Options{Only: f.window, Repository: f.repository(), Progress: func(n audit.Counts) {
		if bar != nil {
			_ = bar.Set64(n.Episodes)
		}
	}})
	if bar != nil {
		_ = bar.Finish()
	}
	if err != nil {
		return auditFailed(c.Context(), env, f, err)
	}
	if f.json {
		return printJSON(env.Out, r)
	}
	return auditText(env.Out, r)
}

// repository opens the repositories of tasks below the named folder; nil where none is named.
func (f *auditFlags) repository() func(id, group string) (fs.FS, error) {
	if f.trees == "" {
		return nil
	}
	return func(id, group string) (fs.FS, error) {
		path := owner.RepositoryOf(f.trees, id, group)
		if path == "" {
			return nil, nil
		}
		d, err := snapshot.Open(path)
		if err != nil {
			return nil, err
		}
		return d.FS(context.Background()), nil
	}
}

func auditBar(env *Env) *progressbar.ProgressBar {
	if !env.Terminal {
		return nil
	}
	return progressbar.NewOptions64(-1, progressbar.OptionSetWriter(env.Err), progressbar.OptionSetDescription("episodes"), progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
}

// pinnedKey returns the key to check under, and warns where it is the publication's own word.
func pinnedKey(c *cobra.Command, env *Env, text string, fsys fs.FS) (tlog.VerifierKey, error) {
	if text == "" {
		if fsys == nil {
			return tlog.VerifierKey{}, usage(c, "--key is missing")
		}
		b, err := fs.ReadFile(fsys, publication.KeyFile)
		if err != nil {
			return tlog.VerifierKey{}, hinted(fmt.Errorf("reading the publication's key: %w", err), "is this a publication's folder?")
		}
		text = strings.TrimSuffix(string(b), "\n")
		fmt.Fprintf(env.Err, "warning: no --key was given: the folder's own is used, so that anybody could have made it: %s\n", text)
	}
	key, err := tlog.ParseVerifierKey(text)
	if err != nil {
		return key, hinted(err, "a verifier key is name+hash+base64, as the owner gives it")
	}
	return key, nil
}

// auditFailed prints a finding. What is none is an error like any other.
func auditFailed(ctx context.Context, env *Env, f *auditFlags, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted: this says nothing about the publication")
	}
	var found *audit.Finding
	if !errors.As(err, &found) || errors.Is(err, audit.NotFound.With()) { // what was asked for is not there: no word about what is
		return err
	}
	if f.json {
		if err := printJSON(env.Out, struct {
			Holds  bool   `json:"holds"`
			File   string `json:"file"`
			Record int64  `json:"record"`
			Offset int64  `json:"offset"`
			Want   string `json:"want"`
			Got    string `json:"got"`
			Code   string `json:"code"`
			Detail string `json:"detail"`
		}{false, found.File, found.Record, found.Offset, found.Want, found.Got, fault.Of(found).Name(), found.Error()}); err != nil {
			return err
		}
		return refused()
	}
	if _, err := fmt.Fprintf(env.Out, "DOES NOT HOLD\n%s\n", found); err != nil {
		return err
	}
	return refused()
}

func auditText(w io.Writer, r *audit.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "HOLDS under %s\n", r.Key)
	fmt.Fprintf(&b, "log          %d leaves, root %s\n", r.Size, r.Root)
	fmt.Fprintf(&b, "recomputed   %d windows, %d arms, %d episodes, %d steps, %d requests, %d receipts\n",
		len(r.Windows), r.Arms, r.Episodes, r.Steps, r.Requests, r.Receipts)
	if r.Schedule != "" {
		fmt.Fprintf(&b, "schedule     root %s: the chain must hold it since before the first submission\n", r.Schedule)
	}
	if r.Observations > 0 {
		fmt.Fprintf(&b, "read again   %d observations in the repositories\n", r.Observations)
	}
	for _, v := range r.Windows {
		switch {
		case !v.Revealed:
			fmt.Fprintf(&b, "window %-5d %d tasks drawn, not revealed yet\n", v.Window, v.Tasks)
		case v.Crowned != "":
			fmt.Fprintf(&b, "window %-5d %d tasks, %d arms, crowned %s\n", v.Window, v.Tasks, len(v.Arms), v.Crowned)
		default:
			fmt.Fprintf(&b, "window %-5d %d tasks, %d arms, the king stays\n", v.Window, v.Tasks, len(v.Arms))
		}
		fmt.Fprintf(&b, "             nonce %s: must be the hash of the chain's block %d\n", v.Nonce, v.Block)
		for _, n := range v.Notes {
			fmt.Fprintf(&b, "             %s\n", n)
		}
	}
	b.WriteString("taken at the owner's word, because nobody can recompute it:\n")
	for _, a := range r.Attested {
		fmt.Fprintf(&b, "  - %s\n", a)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeRequests writes the body of every worker request of a window, or of all.
func writeRequests(ctx context.Context, env *Env, f *auditFlags, fsys fs.FS, key tlog.VerifierKey) error {
	if _, err := os.Stat(f.requests); err == nil {
		return fmt.Errorf("%s is there already: requests are written to a new folder", f.requests)
	}
	partial := f.requests + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	n := 0
	err := audit.Requests(fsys, key, audit.Options{Only: f.window}, func(r audit.Request) error {
		name := filepath.Join(partial, fmt.Sprint(r.Window), r.Arm, fmt.Sprintf("%06d-%02d-%d.json", r.Episode, r.Step, r.Call))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		n++
		return os.WriteFile(name, r.Body, 0o644)
	})
	if err == nil {
		err = os.Rename(partial, f.requests)
	}
	if err != nil {
		return errors.Join(auditFailed(ctx, env, f, err), os.RemoveAll(partial))
	}
	_, err = fmt.Fprintf(env.Out, "%d requests below %s\n", n, f.requests)
	return err
}

func prove(ctx context.Context, env *Env, f *auditFlags, fsys fs.FS, key tlog.VerifierKey) error {
	window := f.window
	text, err := audit.Prove(fsys, key, window, f.arm, f.episode)
	if err != nil {
		return auditFailed(ctx, env, f, err)
	}
	if err := writeFile(f.prove, text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "%s proves episode %d of %s in window %d; check it with\n  assay conductor audit --proof %s --key %s\n",
		f.prove, f.episode, f.arm, window, f.prove, key)
	return err
}

func checkProof(c *cobra.Command, env *Env, f *auditFlags) error {
	key, err := pinnedKey(c, env, f.key, nil)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(f.proof)
	if err != nil {
		return fmt.Errorf("reading the proof: %w", err)
	}
	p, err := audit.CheckProof(text, key)
	if err != nil {
		var found *audit.Finding
		if errors.As(err, &found) {
			return auditFailed(c.Context(), env, f, err)
		}
		if _, werr := fmt.Fprintf(env.Out, "DOES NOT HOLD\n%s\n", err); werr != nil {
			return werr
		}
		return refused()
	}
	if f.json {
		return printJSON(env.Out, p)
	}
	return stepsText(env.Out, p)
}

// writeFile writes a whole file or none.
func writeFile(name string, text []byte) error {
	p, err := createPending(name)
	if err != nil {
		return err
	}
	defer p.Discard()
	if _, err := p.Write(text); err != nil {
		return err
	}
	return p.Commit()
}

func newShow(env *Env) *cobra.Command {
	f := &auditFlags{}
	step := 0
	c := &cobra.Command{
		Use:   "show DIR --window N --arm A --episode K",
		Short: "Open one episode of a publication: prompts, turns, requests, outcomes",
		Long: `show renders the prompts of one episode again and prints what was said, sent and paid. It opens only the files that it needs and
checks no signature: 'assay conductor audit' does. Episodes are counted from 0 in their arm, steps from 1.

Exit codes: 0 shown, 1 failed, 2 usage, 3 a prompt is not the one that was published.`,
		Example: "  assay conductor show ./public --window 3 --arm king --episode 17 --step 1",
		Args:    exactArgs("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			fsys, root, err := openPublication(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer root.Close()
			steps, err := audit.Steps(fsys, f.window, f.arm, f.episode)
			if err != nil {
				return auditFailed(c.Context(), env, f, err)
			}
			if step > len(steps) {
				return usage(c, fmt.Sprintf("the episode has %d steps", len(steps)))
			}
			if step > 0 {
				steps = steps[step-1 : step]
			}
			if f.json {
				return printJSON(env.Out, steps)
			}
			return stepsText(env.Out, steps)
		},
	}
	flags := c.Flags()
	flags.Int64Var(&f.window, "window", 1, "`NUMBER` of the window")
	flags.StringVar(&f.arm, "arm", "king", "`NAME` of the arm")
	flags.IntVar(&f.episode, "episode", 0, "`PLACE` of the episode in its arm, from 0")
	flags.IntVar(&step, "step", 0, "only this `STEP`, from 1")
	flags.BoolVar(&f.json, "json", false, "print the steps as JSON")
	return c
}

func stepsText(w io.Writer, steps []audit.Step) error {
	var b strings.Builder
	if len(steps) == 0 {
		b.WriteString("the episode was never begun\n")
	}
	for _, s := range steps {
		fmt.Fprintf(&b, "## window %d, %s, episode %d (%s), step %d\n\n%s\n", s.Window, s.Arm, s.Episode, s.Task, s.Step, s.Prompt)
		fmt.Fprintf(&b, "> %s\n\n", strings.ReplaceAll(s.Turn, "\n", "\n> "))
		switch {
		case s.Failure != "":
			fmt.Fprintf(&b, "%s %s: %s, $%s\n", s.Action, s.Model, s.Failure, s.Cost)
		default:
			fmt.Fprintf(&b, "%s %s: score %g, $%s\n", s.Action, s.Model, s.Score, s.Cost)
		}
		for _, r := range s.Requests {
			fmt.Fprintf(&b, "request %s\n", r)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
