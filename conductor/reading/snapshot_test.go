package reading_test

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"assay/conductor"
	"assay/conductor/profile"
	"assay/conductor/reading"
	"assay/core/digest"
	"assay/core/fault"
)

func TestASnapshotIsTheDigestOfItsList(t *testing.T) {
	tree := repo(map[string]string{"a/b": "x", "a-c": "", "empty/": "", "l -> a/b": ""})
	list := `[["dir","a",""],["file","a/b","` + digest.HexOfBytes([]byte("x")) + `"],["file","a-c","` + digest.HexOfBytes(nil) + `"],["dir","empty",""],["link","l","a/b"]]`
	var told []reading.Snapshot
	s, err := reading.Take(tree, reading.Budget{}, func(s reading.Snapshot) error {
		told = append(told, s)
		return nil
	})
	if err != nil || s.Digest != digest.HexOfBytes([]byte(list)) || s.Files != 5 || s.Bytes != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if len(told) != 5 || told[4].Files != 5 || told[4].Bytes != 1 {
		t.Errorf("told %+v", told)
	}
	if s, err := reading.Take(fstest.MapFS{}, reading.Budget{}, nil); err != nil || s.Digest != digest.HexOfBytes([]byte("[]")) {
		t.Errorf("an empty tree: %+v, %v", s, err)
	}
}

func TestTreesWithoutASnapshot(t *testing.T) {
	fine := map[string]string{"a": "xxxx", "d/b": "xxxx"}
	stop := errors.New("stopped")
	disk := errors.New("input/output error")
	odd := repo(fine)
	odd["pipe"] = &fstest.MapFile{Mode: fs.ModeNamedPipe}
	for _, c := range []struct {
		name     string
		tree     fs.FS
		budget   reading.Budget
		progress func(reading.Snapshot) error
		want     fault.Code
	}{
		{"history", repo(map[string]string{".git": "x"}), reading.Budget{}, nil, conductor.VCSData},
		{"a pipe", odd, reading.Budget{}, nil, conductor.BadTree},
		{"a target that is no text", repo(map[string]string{"l -> \xff": ""}), reading.Budget{}, nil, conductor.BadTree},
		{"too many entries", repo(fine), reading.Budget{Files: 2}, nil, conductor.InspectionTooLarge},
		{"too many bytes", repo(fine), reading.Budget{Bytes: 5}, nil, conductor.InspectionTooLarge},
		{"a failing disk", broken{repo(fine), disk}, reading.Budget{}, nil, conductor.InspectionFailed},
		{"a file that may not be read", denied{repo(fine)}, reading.Budget{}, nil, conductor.BadTree},
		{"stopped", repo(fine), reading.Budget{}, func(reading.Snapshot) error { return stop }, conductor.InspectionFailed},
	} {
		if s, err := reading.Take(c.tree, c.budget, c.progress); fault.Of(err) != c.want || s != (reading.Snapshot{}) {
			t.Errorf("%s: %+v, %v", c.name, s, err)
		}
	}
}

// denied lets folders be read and files not.
type denied struct{ fstest.MapFS }

func (d denied) Open(name string) (fs.File, error) {
	if f := d.MapFS[name]; f != nil && f.Mode.IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.MapFS.Open(name)
}

func TestObservationsAreReplayed(t *testing.T) {
	tree := python()
	for _, line := range []string{"READ pkg/mod.py 4", "LIST .", "FIND def", "READ escape"} {
		c := call(t, line)
		for _, p := range both {
			out, more := inspect(t, tree, line, p)
			if err := reading.Replay(tree, reading.Observation{Call: c, Output: out, Truncated: more}, p, reading.Budget{}); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			for _, o := range []reading.Observation{{Call: c, Output: out + "x", Truncated: more}, {Call: c, Output: out, Truncated: !more}, {Call: c}} {
				if err := reading.Replay(tree, o, p, reading.Budget{}); fault.Of(err) != conductor.ObservationDiffers {
					t.Errorf("%s: %+v: %v", line, o, err)
				}
			}
		}
	}
	o := reading.Observation{Call: call(t, "FIND x")}
	if err := reading.Replay(tree, o, profile.Strict, reading.Budget{Files: 1}); fault.Of(err) != conductor.InspectionTooLarge {
		t.Errorf("what cannot be run again is no difference: %v", err)
	}
}
