// Package vector reads files of vectors, has each line answered, and judges the answer.
//
// Invariants:
//   - A line passes only when the rule itself gave the wanted value or refused for the wanted reason.
//   - Floats agree within 1e-12·max(1, |want|); strings, integers, orders, booleans and reasons exactly.
//   - A line that follows a rule instead of the reference says so in its own members; nothing is skipped.
package vector

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/profile"
	"assay/core/canon"
)

// Runner answers one line of a group by the rules of p: the value for op on in, or a refusal.
type Runner func(p profile.Profile, op string, in jsontext.Value) (any, error)

// Group is the outcome of one vector file.
type Group struct {
	Name   string
	Known  bool
	Lines  int
	Passed int
	Failed []Failure // in file order
}

// Failure is one line that did not pass.
type Failure struct{ ID, Why string }

// Run runs every *.jsonl file below the root of vectors, in path order, by the group that is known under the file's name.
func Run(p profile.Profile, known map[string]Runner, vectors fs.FS, progress func(Group)) ([]Group, error) {
	var files []string
	err := fs.WalkDir(vectors, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".jsonl") {
			return err
		}
		files = append(files, file)
		info, err := fs.Stat(vectors, file)
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s is not a regular file", strconv.Quote(file)) // a pipe would be waited for
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing the vectors: %w", err)
	}
	if len(files) == 0 {
		return nil, errors.New("no vector file (*.jsonl) below this folder")
	}
	var out []Group
	for _, f := range files {
		text, err := fs.ReadFile(vectors, f)
		if err != nil {
			return nil, fmt.Errorf("reading the vectors: %w", err)
		}
		name := strings.TrimSuffix(path.Base(f), ".jsonl")
		g := runGroup(p, name, known[name], text)
		if progress != nil {
			progress(g)
		}
		out = append(out, g)
	}
	return out, nil
}

func runGroup(p profile.Profile, name string, run Runner, text []byte) Group {
	g := Group{Name: name, Known: run != nil}
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		g.Lines++
		if run == nil {
			continue
		}
		if f := runLine(p, run, line); f.Why != "" {
			g.Failed = append(g.Failed, f)
		} else {
			g.Passed++
		}
	}
	return g
}

// line is one line.
type line struct {
	ID        string         `json:"id"`
	Op        string         `json:"op"`
	In        jsontext.Value `json:"in"`
	Want      jsontext.Value `json:"want"`
	WantError jsontext.Value `json:"want_error"` // a word, or {status, kind} in the Proof groups
}

func runLine(p profile.Profile, run Runner, text []byte) (f Failure) {
	var v line
	if err := canon.Lenient(text, &v); err != nil {
		return Failure{"?", "unreadable line: " + err.Error()}
	}
	f.ID = v.ID
	defer func() {
		if r := recover(); r != nil {
			f.Why = fmt.Sprintf("panic: %v", r)
		}
	}()
	got, err := run(p, v.Op, v.In)
	f.Why = v.judge(got, err)
	return f
}

// UnknownOp is the refusal of a line whose op is not known in its group.
func UnknownOp(op string) error { return fmt.Errorf("unknown op %q", op) }

// Read decodes a line's input.
func Read[T any](in jsontext.Value) (T, error) {
	var v T
	err := canon.Lenient(in, &v)
	return v, err
}

// OrNull gives null for the empty string.
func OrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
