package reading

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"assay/conductor"
	"assay/core/fault"
)

// The bounds of a tree's form. What lies beyond them is no file to an inspection.
const (
	maxLinks = 255  // followed in one resolution
	maxName  = 255  // bytes of a name
	maxPath  = 4096 // bytes of a path
	maxDepth = 500  // directories below one another
)

// tree is a repository with what may still be looked at.
type tree struct {
	fsys fs.FS
	left Budget
}

// kind is what a path leads to.
type kind uint8

const (
	nothing kind = iota // missing, unreadable, a loop of links, or neither file nor directory
	file
	directory
)

// place is a path with all links resolved.
type place struct {
	path    string // below the root, "" for the root itself
	kind    kind
	outside bool
}

// hidden reports whether the path leads into what is not shown.
func (p place) hidden() bool { return slices.Contains(strings.Split(p.path, "/"), Hidden) }

// resolve follows every link of a path. It goes on by the names alone behind what is missing, so that a link out of the root is
// found whatever lies behind it. A link that climbs above the root, or begins at a file system's own root, is outside.
func (t *tree) resolve(name string) (place, error) {
	rest := strings.Split(name, "/")
	var at []string
	blocked, end := -1, directory // blocked: how many names lead to the first that is no directory; end: what it is
	for links := 0; len(rest) > 0; {
		c := rest[0]
		rest = rest[1:]
		switch {
		case c == "" || c == ".":
			continue
		case c == ".." && len(at) == 0:
			return place{outside: true}, nil
		case c == "..":
			if at = at[:len(at)-1]; len(at) < blocked {
				blocked = -1
			}
			continue
		case blocked >= 0:
			at = append(at, c)
			continue
		}
		mode, err := t.mode(strings.Join(append(at, c), "/"))
		if err != nil {
			return place{}, err
		}
		if mode == fs.ModeSymlink {
			if links++; links > maxLinks {
				return place{path: strings.Join(append(append(at, c), rest...), "/")}, nil
			}
			target, err := t.link(strings.Join(append(at, c), "/"))
			if err != nil {
				return place{}, err
			}
			if strings.HasPrefix(target, "/") {
				return place{outside: true}, nil
			}
			rest = append(strings.Split(target, "/"), rest...)
			continue
		}
		at = append(at, c)
		if mode != fs.ModeDir {
			blocked, end = len(at), nothing
			if mode == 0 {
				end = file
			}
		}
	}
	p := place{path: strings.Join(at, "/"), kind: directory}
	switch {
	case blocked == len(at):
		p.kind = end
	case blocked >= 0:
		p.kind = nothing
	}
	return p, nil
}

// mode returns the type of a path without following it: 0 for a file, and fs.ModeIrregular for what is not there or may not be seen.
func (t *tree) mode(path string) (fs.FileMode, error) {
	if len(path) > maxPath || len(path)-strings.LastIndexByte(path, '/')-1 > maxName {
		return fs.ModeIrregular, nil
	}
	info, err := fs.Lstat(t.fsys, path)
	if absent(err) {
		return fs.ModeIrregular, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Mode().Type(), nil
}

func (t *tree) link(path string) (string, error) {
	target, err := fs.ReadLink(t.fsys, path)
	if err == nil && len(target) > maxPath {
		return "", conductor.InspectionTooLarge.With(fault.Int("link_bytes", int64(len(target))))
	}
	return target, err
}

// absent reports whether an error says that there is nothing to see, as opposed to one of the machine.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrInvalid)
}

// readDir returns a directory's entries by name; nil when it may not be read.
func (t *tree) readDir(dir string) ([]fs.DirEntry, error) {
	f, err := t.fsys.Open(cmp.Or(dir, "."))
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, errors.New("not a directory any more: " + dir)
	}
	entries := []fs.DirEntry{}
	for {
		some, err := d.ReadDir(1024)
		entries = append(entries, some...)
		if t.left.Files -= len(some); t.left.Files < 0 {
			return nil, conductor.InspectionTooLarge.With(fault.Str("bound", "files"))
		}
		if err == io.EOF || err == nil && len(some) == 0 {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// open opens a file that was resolved; nil when it may not be read or is none.
func (t *tree) open(path string) (*lineReader, error) {
	f, err := t.fsys.Open(path)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, err
	}
	return newLineReader(f, t), nil
}

// metered counts what is read of a file.
type metered struct {
	fs.File
	t *tree
}

func (m metered) Read(b []byte) (int, error) {
	if m.t.left.Bytes < 0 {
		return 0, conductor.InspectionTooLarge.With(fault.Str("bound", "bytes"))
	}
	n, err := m.File.Read(b)
	m.t.left.Bytes -= int64(n)
	return n, err
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
