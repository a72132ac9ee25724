package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assay/core/secret"
	"assay/run"
)

// printJSON writes v as one indented JSON document, the same for the same v.
func printJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true), json.FormatNilSliceAsNull(false), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("a number of the result is not finite: %w", err) // all else in a view has a JSON form
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// maxInput is the longest input in bytes that a verb reads whole.
const maxInput = 256 << 20

// readInput reads a named file, or standard input for "-" or "".
func readInput(env *Env, name string) ([]byte, error) {
	var r io.Reader = env.In
	if name != "" && name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(b) > maxInput {
		err = fmt.Errorf("the input is longer than %d bytes", maxInput)
	}
	return b, err
}

// readSecret reads a key from a file that nobody else may read.
func readSecret(name string) (secret.Value, error) {
	if name == "" {
		return secret.Value{}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return secret.Value{}, fmt.Errorf("reading the key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return secret.Value{}, hinted(fmt.Errorf("the key file %s can be read by others", name), "chmod 600 "+name)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return secret.Value{}, fmt.Errorf("reading the key: %w", err)
	}
	key := string(trimLine(b))
	if key == "" {
		return secret.Value{}, fmt.Errorf("the key file %s is empty", name)
	}
	return secret.New(key), nil
}

// trimLine drops one line end.
func trimLine(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
	}
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1]
	}
	return b
}

// pending is a file that grows as NAME.partial and takes its name only when it is complete.
type pending struct {
	*os.File
	name string
	keep bool
}

// createPending starts NAME.partial, over one that a killed run left. NAME may be a file; anything else is refused, because
// the rename at the end would replace it.
func createPending(name string) (*pending, error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target // a link stays a link
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	f, err := os.OpenFile(name+".partial", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := run.Lock(f); err != nil { // before it is emptied: another run may be writing it
		return nil, errors.Join(fmt.Errorf("%s.partial is being written by another run: %w", name, err), f.Close())
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &pending{File: f, name: name}, nil
}

// Commit makes the file durable and gives it its name.
func (p *pending) Commit() error {
	err := p.Sync()
	if err == nil {
		err = os.Rename(p.Name(), p.name)
	}
	if err = errors.Join(err, p.Close()); err != nil {
		return errors.Join(err, os.Remove(p.name+".partial"))
	}
	return nil
}

// Keep leaves the file as NAME.partial when it is discarded.
func (p *pending) Keep() { p.keep = true }

// Discard removes the file. It does nothing after Commit.
func (p *pending) Discard() {
	if p.Sync() != nil { // it was committed, and so closed
		return
	}
	if !p.keep {
		_ = os.Remove(p.Name()) // best effort: the next run writes over a leftover
	}
	_ = p.Close()
}

// openTree opens a directory so that nothing outside it can be read through it.
func openTree(dir string) (fs.FS, io.Closer, error) {
	info, err := os.Stat(dir) // to open a pipe would wait for somebody to write
	if err != nil {
		return nil, nil, err
	}
	if !info.IsDir() {
		return nil, nil, fmt.Errorf("%s is not a directory", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	return root.FS(), root, nil
}
