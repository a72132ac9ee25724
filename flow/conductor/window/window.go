// Package window runs the windows of a season: it draws them, plays their arms, and publishes what was decided.
//
// Invariants:
//   - What a window begins with is written down before anything of it is published, and never read from the chain again.
//   - The window's record is published before any arm runs.
//   - Killed at any moment and run again, a window ends in the same publication, and no paid call is made twice.
//   - One process owns the folder.
//
// Specification: docs/operate/windows.md.
package window

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"assay/chain"
	"assay/conductor/action"
	"assay/conductor/admission"
	"assay/conductor/publication"
	"assay/conductor/world"
	"assay/core/fault"
	"assay/core/secret"
	"assay/core/sign"
	"assay/flow/conductor/keys"
	"assay/flow/conductor/meter"
	"assay/flow/conductor/play"
	"assay/flow/conductor/publish"
	"assay/flow/conductor/submit"
	"assay/run"
	"assay/store"
)

// The refusals of this room.
var (
	NotOpen     = fault.NewCode("window.not_open", fault.Unready, "the window's first block is not there yet")
	NotNext     = fault.NewCode("window.not_next", fault.Conflict, "an earlier window is not published yet: run it first")
	Over        = fault.NewCode("window.over", fault.NotAllowed, "the season's schedule holds no such window")
	Taken       = fault.NewCode("window.taken", fault.Conflict, "another process owns this folder")
	OtherSetup  = fault.NewCode("window.other_setup", fault.Conflict, "the window was begun under another season: neither it nor what it published is changed")
	NotPinned   = fault.NewCode("window.root_not_committed", fault.NotAllowed, "the chain does not hold the root of this season's schedule: commit it before anybody submits")
	BadLaunch   = fault.NewCode("window.launch", fault.NotAllowed, "the season does not fit the chain's settings")
	NoReference = fault.NewCode("window.no_reference", fault.NotAllowed, "submissions wait and there is no reference to admit them by")
)

// Serving is a submission that is to be played.
type Serving struct {
	Tree string // folder of its files
	Name string // v3-<hotkey>@<manifest>
}

// Deps are what an owner works with.
type Deps struct {
	Dir       string // the owner's private folder
	Public    string // the publication's folder, on the same disk
	Season    Season
	World     *world.World
	Source    publication.Source    // where the catalog came from
	Dropped   []publication.Dropped // rows of the listing that are no models
	Chain     chain.Client
	Netuid    int
	Store     store.Store
	Bucket    *submit.Bucket       // the miners'; nil: nobody submits
	Artifacts *submit.Bucket       // the owner's copies
	Kept      string               // folder of Artifacts
	Models    *submit.Bucket       // promoted artifacts, public
	Reference *admission.Reference // nil: nobody can be admitted
	Owner     sign.Signer          // signs records, reveals and checkpoints
	Gateway   sign.Signer          // signs receipts
	Identity  *keys.Identity       // opens sealed provider keys; nil where none are taken
	// Workers returns the workers that an arm is played with: paid with the given key, or the owner's when it is zero.
	Workers func(key secret.Value) (play.Workers, *secret.Redactor, error)
	// Serve makes a submission answer prompts. The second result ends it.
	Serve  func(ctx context.Context, s Serving) (play.Conductor, func() error, error)
	Grader play.Grader
	// Idempotent says that Workers may be asked again under the same id and are not paid again.
	Idempotent bool
	Inspector  play.Inspector    // nil: reads are answers
	Trees      map[string]string // content addresses of the repositories that Inspector looks into, by task
	Counter    action.Counter
	Now        func() time.Time
	Log        *slog.Logger
	Progress   func(Progress) // may be nil; called from several goroutines
	Drain      <-chan struct{}
}

// Progress says how far an arm has come.
type Progress struct {
	Window    int64
	Arm       string
	Done, All int
}

// Owner is the process that owns a season. Make it with Open and close it.
type Owner struct {
	Deps
	*stage
	lock   *os.File
	public *publish.Dir
	funds  *meter.Funds
}

// Open takes the owner's folder, makes the season ready and opens the publication. A folder that another process owns is
// Taken.
func Open(d Deps) (*Owner, error) {
	reference := ""
	if d.Reference != nil {
		text, err := d.Reference.Encode()
		if err != nil {
			return nil, fmt.Errorf("reading the reference: %w", err)
		}
		reference = hexOf(text)
	}
	st, err := newStage(d.Season, d.World, d.Gateway.Public().String(), reference)
	if err != nil {
		return nil, err
	}
	lock, err := takeDir(d.Dir)
	if err != nil {
		return nil, err
	}
	o := &Owner{Deps: d, stage: st, lock: lock}
	if o.public, err = publish.Open(d.Public, filepath.Join(d.Dir, "stage"), d.Owner, d.Season.Origin); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return o, nil
}

func takeDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening the owner's folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the owner's folder: %w", err)
	}
	if err := run.Lock(f); err != nil {
		if fault.Of(err) == run.Locked {
			err = Taken.With(fault.Str("dir", dir))
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close lets the folder and the publication go.
func (o *Owner) Close() error { return errors.Join(o.public.Close(), o.lock.Close()) }

// Key returns the publication's verifier key, which strangers pin.
func (o *Owner) Key() string { return o.public.Key().String() }

// Root returns the signal that commits the schedule on the chain.
func (o *Owner) Root() (string, error) {
	root, err := parseRoot(o.manifest.Root)
	if err != nil {
		return "", err
	}
	return chain.ScheduleSignal(root), nil
}

// work returns the folder of a window's private files.
func (o *Owner) work(window int64, more ...string) string {
	return filepath.Join(append([]string{o.Dir, "window", strconv.FormatInt(window, 10)}, more...)...)
}
