package reading

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"unicode/utf8"

	"assay/conductor"
	"assay/conductor/profile"
	"assay/core/canon"
	"assay/core/fault"
)

// Snapshot is a tree's content address, and how much of it there is.
type Snapshot struct {
	Digest string // hexadecimal
	Files  int    // entries: files, links and directories
	Bytes  int64  // of files
}

// Take admits a tree (see Admit) and returns its content address: the SHA-256 of the canonical list of its entries. Directories and
// what is in them come by name, a directory before its contents:
//
//	["dir","src",""]  ["file","src/main.go","9f86d081…"]  ["link","src/old.go","main.go"]
//
// What is neither file, directory nor link, and a file that may not be read, is conductor.BadTree. progress may be nil; it is called
// after every entry, and its error ends the work.
func Take(fsys fs.FS, b Budget, progress func(Snapshot) error) (Snapshot, error) {
	if b.Bytes <= 0 {
		b.Bytes = DefaultBudget.Bytes
	}
	if b.Files <= 0 {
		b.Files = DefaultBudget.Files
	}
	if err := Admit(fsys, b); err != nil {
		return Snapshot{}, err
	}
	w := &taker{tree: tree{fsys: fsys, left: b}, sum: sha256.New(), progress: progress}
	w.line = append(w.line, '[')
	if err := w.dir("", 0); err != nil {
		return Snapshot{}, failed(err)
	}
	w.sum.Write(append(w.line, ']'))
	w.Digest = hex.EncodeToString(w.sum.Sum(nil))
	return w.Snapshot, nil
}

// taker is a snapshot in the making.
type taker struct {
	tree
	Snapshot
	sum      hash.Hash
	line     []byte // what is not hashed yet
	progress func(Snapshot) error
}

func (w *taker) dir(dir string, depth int) error {
	if depth > maxDepth {
		return conductor.InspectionTooLarge.With(fault.Int("depth", maxDepth))
	}
	entries, err := w.readDir(dir)
	if err != nil {
		return err
	}
	if entries == nil {
		return badTree(dir, "the directory may not be read")
	}
	for _, e := range entries {
		if err := w.entry(join(dir, e.Name()), e.Type(), depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *taker) entry(path string, mode fs.FileMode, depth int) (err error) {
	switch mode {
	case fs.ModeDir:
		if err := w.add("dir", path, ""); err != nil {
			return err
		}
		return w.dir(path, depth+1)
	case fs.ModeSymlink:
		target, err := w.link(path)
		if err != nil {
			return err
		}
		if !utf8.ValidString(target) {
			return badTree(path, "the link's target is not UTF-8")
		}
		return w.add("link", path, target)
	case 0:
		sum, err := w.hash(path)
		if err != nil {
			return err
		}
		return w.add("file", path, sum)
	}
	return badTree(path, "neither file, directory nor link")
}

func badTree(path, why string) error {
	return conductor.BadTree.With(fault.Str("path", path), fault.Str("why", why))
}

func (w *taker) hash(path string) (string, error) {
	f, err := w.fsys.Open(path)
	if absent(err) {
		return "", badTree(path, "the file may not be read")
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(err, badTree(path, "not a file any more"))
	}
	h := sha256.New()
	n, err := io.Copy(h, metered{f, &w.tree})
	w.Bytes += n
	return hex.EncodeToString(h.Sum(nil)), err
}

// add hashes one entry.
func (w *taker) add(kind, path, what string) error {
	if w.Files > 0 {
		w.line = append(w.line, ',')
	}
	w.line = append(w.line, '[')
	for i, s := range [...]string{kind, path, what} {
		if i > 0 {
			w.line = append(w.line, ',')
		}
		w.line = canon.AppendStringASCII(w.line, s)
	}
	w.sum.Write(append(w.line, ']'))
	w.line = w.line[:0]
	w.Files++
	if w.progress == nil {
		return nil
	}
	return w.progress(w.Snapshot)
}

// Replay runs a published observation's call again on the tree. It returns nil when the tree shows the same, and
// conductor.ObservationDiffers with the first differing byte when it does not. Any other error is one of Inspect.
func Replay(fsys fs.FS, o Observation, p profile.Profile, b Budget) error {
	output, truncated, err := Inspect(fsys, o.Call, p, b)
	if err != nil {
		return err
	}
	if output == o.Output && truncated == o.Truncated {
		return nil
	}
	at := 0
	for at < min(len(output), len(o.Output)) && output[at] == o.Output[at] {
		at++
	}
	return conductor.ObservationDiffers.With(fault.Str("call", o.Call.String()), fault.Int("byte", int64(at)))
}
