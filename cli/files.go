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
)

// printJSON writes v as one indented JSON document, the same for the same v.
func printJSON(w io.Writer, v any) error {
	err := json.MarshalWrite(w, v, json.Deterministic(true), json.FormatNilSliceAsNull(false), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n")
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

// pending is a file that takes its name only when it is complete.
type pending struct {
	*os.File
	name string
}

// createPending starts a file beside its final name.
func createPending(name string) (*pending, error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return nil, fmt.Errorf("creating %s: %w", name, unwrapPath(err))
	}
	return &pending{f, name}, nil
}

// unwrapPath drops the path of a file that the user did not name.
func unwrapPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Commit makes the file durable and gives it its name.
func (p *pending) Commit() error { return p.CommitAs(p.name) }

// CommitAs is Commit under another name.
func (p *pending) CommitAs(name string) error {
	err := p.Chmod(0o644)
	if err == nil {
		err = p.Sync()
	}
	if err = errors.Join(err, p.Close()); err == nil {
		err = os.Rename(p.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(p.Name()))
	}
	return nil
}

// Discard removes the file. It does nothing after Commit.
func (p *pending) Discard() {
	if p.Close() == nil { // else it was committed
		_ = os.Remove(p.Name()) // best effort: a leftover is hidden and harmless
	}
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
