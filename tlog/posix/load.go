package posix

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"assay/core/fault"
	"assay/tlog"
)

// makeFolder makes the log's own folder and those above it, and brings the names to disk.
func makeFolder(dir string) error {
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(filepath.Clean(dir))
	if err := makeFolder(above); err != nil {
		return err
	}
	if err := os.Mkdir(dir, dirPerm); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	d, err := os.Open(above)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// load reads the log as its checkpoint says it is and removes what an unfinished batch has left.
func (l *Log) load() error {
	note, err := l.root.ReadFile(tlog.CheckpointPath)
	if errors.Is(err, fs.ErrNotExist) {
		return l.begin()
	}
	if err != nil {
		return err
	}
	if l.signed, err = l.open(note); err != nil {
		return err
	}
	l.tree, err = tlog.ResumeBuilder(l.signed, func(t tlog.Tile) ([]byte, error) { return l.root.ReadFile(t.Path()) })
	if err != nil {
		return err
	}
	return l.clean()
}

// begin writes the empty log's checkpoint into an empty folder.
func (l *Log) begin() error {
	there, err := fs.ReadDir(l.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range there {
		if !strings.HasPrefix(e.Name(), tempPrefix) {
			return NotLog.With(fault.Str("file", e.Name()))
		}
		if err := l.root.Remove(e.Name()); err != nil {
			return err
		}
	}
	l.tree = new(tlog.Builder)
	w := l.newWriting()
	if l.signed, err = l.write(w, l.tree, nil); err != nil {
		return l.undo(w, err)
	}
	return w.publish()
}

// clean removes what the checkpoint does not speak of, after it has looked at everything: a foreign file is refused before anything is
// removed.
func (l *Log) clean() error {
	var gone, folders []string
	size := l.Size()
	err := fs.WalkDir(l.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			folders = append(folders, name)
			return nil
		case !d.Type().IsRegular():
			return tlog.Foreign.With(fault.Str("file", name))
		case name == tlog.CheckpointPath:
			return nil
		case strings.HasPrefix(name, tempPrefix):
			gone = append(gone, name)
			return nil
		}
		t, err := tlog.ParseTilePath(name)
		if err != nil {
			return tlog.Foreign.With(fault.Str("file", name))
		}
		old, err := l.superseded(t, size)
		if !t.In(size) || old {
			gone = append(gone, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range gone {
		if err := l.root.Remove(name); err != nil {
			return err
		}
	}
	return l.cleanFolders(folders)
}

// superseded reports whether the full tile has replaced a partial one.
func (l *Log) superseded(t tlog.Tile, size int64) (bool, error) {
	if t.Width == tlog.TileWidth || tlog.WidthIn(t.Level, t.N, size) < tlog.TileWidth {
		return false, nil
	}
	full := tlog.Tile{Level: t.Level, N: t.N, Width: tlog.TileWidth}
	if _, err := l.root.Lstat(full.Path()); err != nil {
		return false, tlog.Damaged.Because(err).With(fault.Str("file", full.Path()))
	}
	return true, nil
}

// cleanFolders removes the folders that are empty, the innermost first.
func (l *Log) cleanFolders(folders []string) error {
	for _, name := range slices.Backward(folders) {
		inside, err := fs.ReadDir(l.root.FS(), name)
		if err != nil {
			return err
		}
		if len(inside) > 0 || name == "." {
			continue
		}
		if err := l.root.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// prune removes the partial tiles that full ones have replaced since the log had size before. What it leaves, the next Open removes.
func (l *Log) prune(before int64) {
	now := l.tree.Size()
	for level := tlog.Entries; level == tlog.Entries || now>>(8*level) > 0; level++ {
		n := before >> (8 * (max(level, 0) + 1)) // the only tile of the level that was partial
		if tlog.WidthIn(level, n, before) == 0 || tlog.WidthIn(level, n, now) < tlog.TileWidth {
			continue
		}
		dir := tlog.Tile{Level: level, N: n, Width: tlog.TileWidth}.Path() + ".p"
		inside, _ := fs.ReadDir(l.root.FS(), dir)
		for _, e := range inside {
			_ = l.root.Remove(path.Join(dir, e.Name()))
		}
		_ = l.root.Remove(dir)
		_ = l.step("tlog/prune")
	}
}
