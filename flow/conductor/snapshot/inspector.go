package snapshot

import (
	"context"
	"errors"
	"sync"
	"time"

	"assay/conductor"
	"assay/conductor/profile"
	"assay/conductor/reading"
	"assay/conductor/task"
	"assay/core/fault"
)

// Timeout is how long one inspection may take.
const Timeout = 90 * time.Second

// Source is where a task's repository lies, and what it must be.
type Source struct {
	Dir    string
	Digest string // hexadecimal content address, see reading.Take
}

// Inspector runs the reads of an arm. It is safe for concurrent use.
type Inspector struct {
	sources map[string]Source
	profile profile.Profile
	budget  reading.Budget

	mu     sync.Mutex
	served map[Source]*repository
	closed bool
}

// repository is one source, checked once.
type repository struct {
	mu     sync.Mutex // held while it is checked
	dir    *Dir       // nil until it is known to be the recorded one
	closed bool
}

// NewInspector returns an inspector over sources, by task id. Tasks may share one. budget may be zero.
func NewInspector(sources map[string]Source, p profile.Profile, budget reading.Budget) *Inspector {
	return &Inspector{sources: sources, profile: p, budget: budget, served: make(map[Source]*repository)}
}

// Inspect runs a call on the task's repository, which is checked the first time that it is asked for. A task without one is
// conductor.NoSnapshot; one whose digest is another conductor.SnapshotChanged: then nothing is shown.
func (i *Inspector) Inspect(ctx context.Context, t task.Pinned, c reading.Call) (output string, truncated bool, err error) {
	s, ok := i.sources[t.ID()]
	if !ok {
		return "", false, conductor.NoSnapshot.With(fault.Str("task_id", t.ID()))
	}
	dir, err := i.open(ctx, s, nil)
	if err != nil {
		return "", false, err
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	return reading.Inspect(dir.FS(ctx), c, i.profile, i.budget)
}

// Prepare checks every repository of the tasks before an arm starts. A task that declares a verb and has no repository, or the
// reverse, is conductor.VerbsWithoutEnvironment. progress may be nil; it is told the directory that is read.
func (i *Inspector) Prepare(ctx context.Context, tasks []task.Pinned, progress func(dir string, s reading.Snapshot)) error {
	for _, t := range tasks {
		s, ok := i.sources[t.ID()]
		if ok != (reading.Invitation(t.Tools()) != "") {
			return conductor.VerbsWithoutEnvironment.With(fault.Str("task_id", t.ID()))
		}
		if !ok {
			continue
		}
		var tell func(reading.Snapshot)
		if progress != nil {
			tell = func(now reading.Snapshot) { progress(s.Dir, now) }
		}
		if _, err := i.open(ctx, s, tell); err != nil {
			return err
		}
	}
	return nil
}

var errClosed = errors.New("the inspector is closed")

// open returns the source's directory once its digest is known to be the recorded one. A check that failed is made again by the next.
func (i *Inspector) open(ctx context.Context, s Source, progress func(reading.Snapshot)) (*Dir, error) {
	i.mu.Lock()
	if i.closed {
		i.mu.Unlock()
		return nil, conductor.NoSnapshot.Because(errClosed)
	}
	r := i.served[s]
	if r == nil {
		r = &repository{}
		i.served[s] = r
	}
	i.mu.Unlock()

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, conductor.NoSnapshot.Because(errClosed)
	}
	if r.dir != nil {
		return r.dir, nil
	}
	dir, err := Open(s.Dir)
	if err != nil {
		return nil, conductor.NoSnapshot.Because(err)
	}
	if err := dir.Is(ctx, s.Digest, i.budget, progress); err != nil {
		dir.Close()
		return nil, err
	}
	r.dir = dir
	return dir, nil
}

// Close gives the directories back. An inspection that is under way fails.
func (i *Inspector) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	var errs []error
	for _, r := range i.served {
		r.mu.Lock()
		if r.closed = true; r.dir != nil {
			errs = append(errs, r.dir.Close())
		}
		r.mu.Unlock()
	}
	return errors.Join(errs...)
}
