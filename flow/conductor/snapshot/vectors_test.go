package snapshot_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"assay/conductor/profile"
	"assay/conductor/reading"
	"assay/core/canon"
)

// folder is a folder as vectors write it.
type folder struct {
	Files  map[string]string `json:"files"`
	Base64 map[string][]byte `json:"base64"`
	Links  map[string]string `json:"links"`
	Dirs   []string          `json:"dirs"`
}

// observed is a line of the group observe.
type observed struct {
	ID string `json:"id"`
	In struct {
		Tree   folder `json:"tree"`
		Beside folder `json:"beside"`
		Call   struct {
			Name  string `json:"name"`
			Arg   string `json:"arg"`
			Start int64  `json:"start"`
		} `json:"call"`
	} `json:"in"`
	Want struct {
		Output    string `json:"output"`
		Truncated bool   `json:"truncated"`
	} `json:"want"`
}

// The vectors again, on a disk, with what must not be reached really there.
func TestEveryObservationOnDisk(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "vectors", "conductor", "observe.jsonl"))
	if err != nil {
		t.Skipf("the vectors are not beside this repository: %v", err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		var v observed
		must(t, canon.Lenient([]byte(line), &v))
		root := filepath.Join(t.TempDir(), "repo")
		must(t, os.Mkdir(root, 0o755))
		v.lay(t, root)
		c := reading.Call{Name: v.In.Call.Name, Arg: v.In.Call.Arg, Start: strconv.FormatInt(v.In.Call.Start, 10)}
		out, more, err := reading.Inspect(open(t, root).FS(t.Context()), c, profile.Compat, reading.Budget{})
		if err != nil || out != v.Want.Output || more != v.Want.Truncated {
			t.Errorf("%s: %s shows %.80q %v, %v, want %.80q %v", v.ID, c, out, more, err, v.Want.Output, v.Want.Truncated)
		}
		n++
	}
	if n < 90 {
		t.Errorf("%d lines were run", n)
	}
}

func (v observed) lay(t *testing.T, root string) {
	t.Helper()
	for dir, tree := range map[string]folder{root: v.In.Tree, filepath.Dir(root): v.In.Beside} {
		write := func(name string, data []byte) {
			path := filepath.Join(dir, name)
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must(t, os.WriteFile(path, data, 0o644))
		}
		for name, data := range tree.Files {
			write(name, []byte(data))
		}
		for name, data := range tree.Base64 {
			write(name, data)
		}
		for _, name := range tree.Dirs {
			must(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
		}
		for name, target := range tree.Links {
			path := filepath.Join(dir, name)
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must(t, os.Symlink(target, path))
		}
	}
}
