package cli

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/conductor/action"
	"assay/conductor/admission"
	"assay/conductor/policy"
	"assay/conductor/profile"
	"assay/conductor/state"
	"assay/conductor/tokens"
	"assay/conductor/world"
	"assay/core/fault"
	"assay/core/secret"
	"assay/core/text"
	"assay/flow/conductor/devkit"
	"assay/flow/conductor/play"
	"assay/llm/exec"
	"assay/llm/openai"
	"assay/view"
	"assay/worlds"
)

type report = *view.DevKit

// conductorFlags say which Conductor is judged.
type conductorFlags struct {
	spec, model, key string
	timeout          time.Duration
}

func (f *conductorFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.spec, "conductor", "", "the Conductor: builtin:`NAME`, http://…/v1, exec:COMMAND or module:attribute")
	flags.StringVar(&f.model, "conductor-model", "", "model `NAME` to ask an endpoint for; default the only one it lists")
	flags.StringVar(&f.key, "conductor-key-file", "", "`FILE` with the key of a Conductor's endpoint; mode 0600")
	flags.DurationVar(&f.timeout, "conductor-timeout", 180*time.Second, "time for one turn")
}

func (f *conductorFlags) check(c *cobra.Command) error {
	if f.timeout <= 0 {
		return usage(c, "--conductor-timeout is positive")
	}
	return nil
}

// opened is a Conductor that is ready to be asked.
type opened struct {
	conductor play.Conductor // nil: none was named
	name      string
	close     func()
}

func (f *conductorFlags) open(ctx context.Context, c *cobra.Command, env *Env, st *devkit.Stage) (opened, error) {
	switch {
	case f.spec == "":
		return opened{}, nil
	case strings.HasPrefix(f.spec, "builtin:"):
		name := strings.TrimPrefix(f.spec, "builtin:")
		p, err := policy.New(name, st.Nonce, st.Snapshot)
		if err != nil {
			return opened{}, &exitError{ExitUsage, "builtin policies: always-cheapest, always-strongest, cascade, random", err}
		}
		return opened{conductor: play.Fixed{Policy: p}, name: f.spec}, nil
	case strings.HasPrefix(f.spec, "http://"), strings.HasPrefix(f.spec, "https://"):
		return f.openServed(ctx, c)
	}
	p, err := exec.Open(f.spec, exec.Options{Stderr: env.Err, Timeout: f.timeout})
	if fault.Of(err) == exec.NotStarted {
		return opened{}, &exitError{ExitNotReady, "my_module:attribute needs a python3 on the PATH; exec:COMMAND and http://…/v1 do not", err}
	}
	if err != nil {
		return opened{}, &exitError{ExitUsage, "a Conductor is builtin:NAME, http://…/v1, exec:COMMAND or module:attribute", err}
	}
	return opened{play.Process{Prompter: p}, f.spec, func() { _ = p.Close() }}, nil // its end is not ours to judge
}

// openServed finds out what the endpoint serves before the first prompt is sent.
func (f *conductorFlags) openServed(ctx context.Context, c *cobra.Command) (opened, error) {
	key, err := readSecret(f.key)
	if err != nil {
		return opened{}, err
	}
	o := openai.Conductor(f.spec, key)
	o.Budget = f.timeout
	client, err := openai.New(o)
	if err != nil {
		return opened{}, &exitError{ExitUsage, "", err}
	}
	names, err := client.Models(ctx)
	if err != nil {
		return opened{}, &exitError{ExitNotReady, "is the server up, and is " + f.spec + " its base address?", fmt.Errorf("asking %s for its models: %w", f.spec, err)}
	}
	model := f.model
	if model == "" && len(names) > 0 {
		if len(names) > 1 {
			return opened{}, usage(c, "the endpoint lists several models: name one with --conductor-model ("+strings.Join(names, ", ")+")")
		}
		model = names[0]
	}
	if len(names) == 0 {
		return opened{}, &exitError{ExitNotReady, "", fmt.Errorf("the endpoint lists no model")}
	}
	if !slices.Contains(names, model) {
		return opened{}, &exitError{ExitNotReady, "it lists " + strings.Join(names, ", "), fmt.Errorf("the endpoint does not list the model %q", model)}
	}
	served := play.Served{Client: client, Model: model, Names: []string{model}, Instructions: state.Instructions(), Redactor: secret.NewRedactor(key)}
	return opened{served, f.spec + " (" + model + ")", func() { _ = client.Close() }}, nil
}

func openWorkers(base, keyFile string, p profile.Profile) (play.Workers, func(), error) {
	key, err := readSecret(keyFile)
	if err != nil {
		return nil, nil, err
	}
	client, err := openai.New(openai.Worker(base, key))
	if err != nil {
		return nil, nil, &exitError{ExitUsage, "", err}
	}
	return play.Live{Client: client, Profile: p, Redactor: secret.NewRedactor(key)}, func() { _ = client.Close() }, nil
}

// openWorld reads a world, or the embedded one for "". Every defect is printed.
func openWorld(c *cobra.Command, env *Env, dir string) (*world.World, string, error) {
	fsys := worlds.Embedded()
	if dir != "" {
		tree, closer, err := openTree(dir)
		if err != nil {
			return nil, "", hinted(fmt.Errorf("opening the world: %w", err), "a world is a directory with models.json and tasks.jsonl")
		}
		defer closer.Close()
		fsys = tree
	}
	w, defects := world.Read(fsys)
	if len(defects) > 0 {
		printDefects(env.Err, defects)
		return nil, "", hinted(world.Err(defects), "'assay world check DIR' lists every defect")
	}
	return w, worldName(dir), nil
}

// maxShown is how many defects dev prints.
const maxShown = 20

func printDefects(w io.Writer, defects []world.Defect) {
	for i, d := range defects {
		if i == maxShown {
			fmt.Fprintf(w, "… %d more\n", len(defects)-i)
			return
		}
		fmt.Fprintln(w, text.Clean(d.String(), 400))
	}
}

// admitTree applies the admission rule where a tree is given, and returns the line that the report shows.
func admitTree(c *cobra.Command, env *Env, f *devFlags, p profile.Profile) (string, error) {
	if f.modelTree == "" {
		return "", nil
	}
	refTree, refCloser, err := openTree(f.reference)
	if err != nil {
		return "", fmt.Errorf("opening the reference: %w", err)
	}
	defer refCloser.Close()
	tree, closer, err := openTree(f.modelTree)
	if err != nil {
		return "", fmt.Errorf("opening the model tree: %w", err)
	}
	defer closer.Close()
	return admit(env, tree, refTree, p, f.json)
}

// printRefusal says why a tree is refused: the owner's refusal where scripts look for it, and every further finding beside it.
func printRefusal(env *Env, found []admission.Finding, asJSON bool) error {
	if asJSON {
		return printJSON(env.Out, struct {
			Admitted bool                `json:"admitted"`
			Refusal  admission.Finding   `json:"refusal"`
			Findings []admission.Finding `json:"findings"`
		}{false, found[0], found})
	}
	for _, f := range found[1:] {
		fmt.Fprintf(env.Err, "found besides: %s\n", text.Clean(f.Text, 400))
	}
	_, err := fmt.Fprintf(env.Out, "ADMISSION: %s\n", text.Clean(found[0].Text, 400))
	return err
}

func admit(env *Env, tree, refTree fs.FS, p profile.Profile, asJSON bool) (string, error) {
	ref, err := admission.ReadReference(refTree, p)
	if err != nil {
		return "", fmt.Errorf("reading the reference: %w", err)
	}
	found, err := admission.Findings(tree, ref, p)
	if err != nil {
		return "", fmt.Errorf("reading the model tree: %w", err)
	}
	if len(found) > 0 {
		if err := printRefusal(env, found, asJSON); err != nil {
			return "", err
		}
		return "", refused()
	}
	return "admitted", nil
}

// openCounter loads the reference's tokenizer where there is one.
func openCounter(reference string) (action.Counter, error) {
	if reference == "" {
		return nil, nil
	}
	name := filepath.Join(reference, "tokenizer.json")
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading the reference's tokenizer: %w", err)
	}
	t, err := tokens.Load(b)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return t, nil
}

func removeJournal(name string) error {
	if err := os.Remove(name); err != nil {
		return fmt.Errorf("removing the finished journal: %w", err)
	}
	return nil
}
