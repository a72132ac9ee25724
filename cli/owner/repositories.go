package owner

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"assay/conductor/reading"
	"assay/flow/conductor/snapshot"
	"assay/flow/conductor/window"
)

// RepositoryOf finds the repository of a task below a folder: by the task's id, or by its group, path-escaped; "" for none.
func RepositoryOf(dir, id, group string) string {
	for _, name := range []string{id, group} {
		if name == "" {
			continue
		}
		path := filepath.Join(dir, url.PathEscape(name))
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return path
		}
	}
	return ""
}

// repositories opens what workers may read. Every repository is digested: its content address is published.
func (o *Opened) repositories(ctx context.Context, dir string, d *window.Deps) error {
	if dir == "" {
		return nil
	}
	sources := map[string]snapshot.Source{}
	d.Trees = map[string]string{}
	digests := map[string]string{}
	for _, t := range d.World.Tasks {
		spec := t.Spec()
		if !slices.ContainsFunc(spec.Tools, func(v string) bool { return v == reading.Read || v == reading.List || v == reading.Find }) {
			continue
		}
		path := RepositoryOf(dir, spec.ID, spec.Group)
		if path == "" {
			return fmt.Errorf("the task %q declares reads and has no repository below %s", spec.ID, dir)
		}
		if digests[path] == "" {
			digest, err := digestOf(ctx, path)
			if err != nil {
				return fmt.Errorf("reading the repository %s: %w", path, err)
			}
			digests[path] = digest
		}
		sources[spec.ID] = snapshot.Source{Dir: path, Digest: digests[path]}
		d.Trees[spec.ID] = digests[path]
	}
	i := snapshot.NewInspector(sources, d.Season.Reading(), reading.Budget{})
	d.Inspector = i
	o.closers = append(o.closers, i.Close)
	return nil
}

func digestOf(ctx context.Context, path string) (string, error) {
	d, err := snapshot.Open(path)
	if err != nil {
		return "", err
	}
	s, err := d.Take(ctx, reading.Budget{}, nil)
	return s.Digest, errors.Join(err, d.Close())
}
