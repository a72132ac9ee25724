package audit

import (
	"io/fs"
	"sync"
	"sync/atomic"

	"assay/conductor"
	"assay/conductor/reading"
	"assay/conductor/task"
	"assay/conductor/trace"
	"assay/core/fault"
)

// repositories are the trees of a window that were opened and found to be the published ones.
type repositories struct {
	mu    sync.Mutex
	trees map[string]fs.FS
	made  atomic.Int64 // observations that were made again
}

// observed makes every observation of an episode again, where the repository is at hand.
func (p *armAudit) observed(t task.Pinned, e trace.Episode) error {
	if p.Repository == nil {
		return nil
	}
	for i := range e.Steps {
		for _, o := range e.Steps[i].Observations {
			tree, err := p.tree(t)
			if err != nil || tree == nil {
				return err
			}
			output, cut, err := reading.Inspect(tree, o.Call, p.w.profile, reading.Budget{})
			if err != nil {
				return err
			}
			if output != o.Output || cut != o.Truncated {
				return conductor.ObservationDiffers.With(fault.Str("call", o.Call.String()))
			}
			p.w.opened.made.Add(1)
		}
	}
	return nil
}

// tree opens a task's repository, which must be the one whose content address is published.
func (p *armAudit) tree(t task.Pinned) (fs.FS, error) {
	r := &p.w.opened
	r.mu.Lock()
	defer r.mu.Unlock()
	if tree, ok := r.trees[t.ID()]; ok {
		return tree, nil
	}
	tree, err := p.Repository(t.ID(), t.Group())
	if err != nil || tree == nil {
		return nil, err
	}
	got, err := reading.Take(tree, reading.Budget{}, nil)
	if err != nil {
		return nil, err
	}
	if got.Digest != p.w.trees[t.ID()] {
		return nil, conductor.SnapshotChanged.With(fault.Str("task_id", t.ID()), fault.Str("published", p.w.trees[t.ID()]), fault.Str("here", got.Digest))
	}
	if r.trees == nil {
		r.trees = map[string]fs.FS{}
	}
	r.trees[t.ID()] = tree
	return tree, nil
}
