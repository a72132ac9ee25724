package owner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/chain"
	"assay/chain/fake"
	"assay/conductor/admission"
	"assay/conductor/publication"
	"assay/conductor/world"
	"assay/core/digest"
	"assay/core/secret"
	"assay/core/ss58"
	"assay/flow/conductor/keys"
	"assay/flow/conductor/play"
	"assay/flow/conductor/submit"
	"assay/flow/conductor/window"
	"assay/llm/exec"
	"assay/llm/openai"
	"assay/sign/file"
	"assay/store"
	"assay/store/sqlite"
	"assay/worlds"
)

// Names of the private files.
const (
	OwnerSeed    = "owner.seed"   // signs records, reveals, checkpoints; the owner's hotkey
	GatewaySeed  = "gateway.seed" // signs receipts
	IdentityFile = "identity.age" // opens miners' sealed provider keys
	StateFile    = "state.db"     // what the owner remembers
	Private      = "private"      // everything else
)

// Env is what a process brings along.
type Env struct {
	Err      io.Writer // what a served Conductor writes to its standard error
	Now      func() time.Time
	Rand     io.Reader
	Log      *slog.Logger
	Progress func(window.Progress)
	Drain    <-chan struct{}
}

// Opened is an owner that is ready. Close it.
type Opened struct {
	*window.Owner
	Hotkey    string // the owner's, on the chain
	Recipient string // what miners seal their keys for
	Config    Config
	Chain     chain.Client
	Store     store.Store
	closers   []func() error
}

// Close lets everything go, the newest first.
func (o *Opened) Close() error {
	var err error
	for i := len(o.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, o.closers[i]())
	}
	return err
}

// Open opens the owner of a folder.
func Open(ctx context.Context, dir string, env Env) (_ *Opened, err error) {
	c, err := Read(dir)
	if err != nil {
		return nil, err
	}
	o := &Opened{Config: c}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close())
		}
	}()
	d := window.Deps{
		Dir: filepath.Join(dir, Private), Public: path(dir, c.Local.Public), Season: c.Season, Netuid: c.Season.Netuid, Kept: path(dir, c.Local.Artifacts),
		Idempotent: c.Local.Idempotent || c.Local.Workers == Recorded, Now: env.Now, Log: env.Log, Progress: env.Progress, Drain: env.Drain,
	}
	for _, open := range []func() error{
		func() error { return o.keys(dir, &d) },
		func() error { return o.world(path(dir, c.Local.World), &d) },
		func() error { return o.chain(dir, c.Local.Chain, &d) },
		func() error { return o.buckets(dir, c.Local, &d) },
		func() error { return o.state(ctx, dir, &d) },
		func() error { return o.workers(dir, c, &d) },
		func() error { return o.repositories(ctx, path(dir, c.Local.Repositories), &d) },
	} {
		if err := open(); err != nil {
			return nil, err
		}
	}
	d.Serve = serve(c.Local.Serve, env)
	if o.Owner, err = window.Open(d); err != nil {
		return nil, err
	}
	o.closers = append(o.closers, o.Owner.Close)
	return o, nil
}

func (o *Opened) keys(dir string, d *window.Deps) error {
	owner, err := file.Open(filepath.Join(dir, OwnerSeed))
	if err != nil {
		return fmt.Errorf("opening the owner's key: %w", err)
	}
	gateway, err := file.Open(filepath.Join(dir, GatewaySeed))
	if err != nil {
		return fmt.Errorf("opening the gateway's key: %w", err)
	}
	identity, err := keys.Load(filepath.Join(dir, IdentityFile))
	if err != nil {
		return fmt.Errorf("opening the owner's identity: %w", err)
	}
	d.Owner, d.Gateway, d.Identity = owner, gateway, identity
	o.Hotkey, o.Recipient = ss58.Encode(owner.Public()), identity.Recipient()
	return nil
}

func (o *Opened) world(dir string, d *window.Deps) error {
	w, source, err := ReadWorld(dir)
	d.World, d.Source, d.Grader = w, source, play.Metrics{World: w}
	return err
}

// ReadWorld reads a world, the embedded one for "", and says what its catalog was made from.
func ReadWorld(dir string) (*world.World, publication.Source, error) {
	fsys, name := worlds.Embedded(), worlds.Name
	if dir != "" {
		fsys, name = os.DirFS(dir), filepath.Base(dir)
	}
	w, defects := world.Read(fsys)
	if err := world.Err(defects); err != nil {
		return nil, publication.Source{}, fmt.Errorf("reading the world: %w", err)
	}
	models, err := fs.ReadFile(fsys, world.ModelsFile)
	if err != nil {
		return nil, publication.Source{}, fmt.Errorf("reading the world: %w", err)
	}
	return w, publication.Source{Name: name, Payload: digest.HexOfBytes(models), Rows: len(w.Models)}, nil
}

func (o *Opened) chain(dir, spec string, d *window.Deps) error {
	name, ok := strings.CutPrefix(spec, "fake:")
	if !ok {
		return fmt.Errorf("the chain %q is none that is known here: fake:FILE", spec)
	}
	o.Chain = fake.New(path(dir, name), o.Hotkey)
	d.Chain = o.Chain
	return nil
}

func (o *Opened) buckets(dir string, l Local, d *window.Deps) error {
	for _, b := range []struct {
		name string
		to   **submit.Bucket
	}{{l.Bucket, &d.Bucket}, {l.Artifacts, &d.Artifacts}, {l.Models, &d.Models}} {
		opened, err := submit.OpenBucket(path(dir, b.name))
		if err != nil {
			return fmt.Errorf("opening the bucket %s: %w", b.name, err)
		}
		*b.to = opened
		o.closers = append(o.closers, opened.Close)
	}
	if l.Reference == "" {
		return nil
	}
	text, err := os.ReadFile(path(dir, l.Reference))
	if err != nil {
		return fmt.Errorf("reading the reference: %w", err)
	}
	d.Reference, err = admission.ParseReference(bytes.TrimSpace(text))
	return err
}

func (o *Opened) state(ctx context.Context, dir string, d *window.Deps) error {
	st, err := sqlite.Open(ctx, filepath.Join(dir, StateFile))
	if err != nil {
		return fmt.Errorf("opening the owner's memory: %w", err)
	}
	o.Store, d.Store = st, st
	o.closers = append(o.closers, st.Close)
	return nil
}

// Recorded names workers that answer from the world's recorded outcomes.
const Recorded = "recorded"

func (o *Opened) workers(dir string, c Config, d *window.Deps) error {
	if c.Local.Workers == Recorded {
		if !d.World.Recorded() {
			return errors.New("the workers are recorded, and the world has no recorded outcomes")
		}
		d.Workers = window.RecordedWorkers(play.Recorded{World: d.World})
		return nil
	}
	own, err := readKey(path(dir, c.Local.WorkerKey))
	if err != nil {
		return err
	}
	d.Workers = func(key secret.Value) (play.Workers, *secret.Redactor, error) {
		if key.IsZero() {
			key = own
		}
		client, err := openai.New(openai.Worker(c.Local.Workers, key))
		if err != nil {
			return nil, nil, err
		}
		redactor := secret.NewRedactor(key)
		live := play.Live{Client: client, Profile: d.Season.Reading(), Redactor: redactor}
		if c.Local.Idempotent {
			return play.Keyed{Live: live}, redactor, nil
		}
		return live, redactor, nil
	}
	return nil
}

// readKey reads a provider's key from a file that nobody else may read.
func readKey(name string) (secret.Value, error) {
	if name == "" {
		return secret.Value{}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return secret.Value{}, fmt.Errorf("reading the workers' key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return secret.Value{}, fmt.Errorf("the key file %s can be read by others: chmod 600 it", name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return secret.Value{}, fmt.Errorf("reading the workers' key: %w", err)
	}
	return secret.New(strings.TrimSpace(string(text))), nil
}

// serve makes submissions answer by a program that is told their folder.
func serve(spec string, env Env) func(context.Context, window.Serving) (play.Conductor, func() error, error) {
	return func(_ context.Context, s window.Serving) (play.Conductor, func() error, error) {
		command, ok := strings.CutPrefix(spec, "exec:")
		if !ok {
			return nil, nil, fmt.Errorf("submissions are served by exec:COMMAND, not by %q", spec)
		}
		argv := strings.Fields(command)
		if len(argv) == 0 {
			return nil, nil, errors.New("exec: names no program")
		}
		for i, a := range argv {
			argv[i] = strings.NewReplacer("{tree}", s.Tree, "{name}", s.Name).Replace(a)
		}
		p := exec.Command(argv, exec.Options{Stderr: env.Err, Timeout: 180 * time.Second})
		return play.Process{Prompter: p}, p.Close, nil
	}
}
