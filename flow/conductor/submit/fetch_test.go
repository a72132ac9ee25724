package submit_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/chain"
	"assay/conductor"
	"assay/conductor/submission"
	"assay/core/fault"
	"assay/core/sign"
	"assay/core/ss58"
	"assay/flow/conductor/submit"
)

func TestBehaviourK11_FetchRefuses(t *testing.T) {
	write := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := errors.Join(os.MkdirAll(filepath.Dir(dir+"/"+name), 0o755), os.WriteFile(dir+"/"+name, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	other := sign.NewEd25519([32]byte{8})
	for name, c := range map[string]struct {
		change func(*testing.T, string)
		ready  func(*testing.T, *chain.Ready, string)
		want   fault.Code
		text   string
	}{
		"other bytes":         {change: write("config.json", strings.Repeat("x", len(files("")["config.json"]))), want: submit.Mismatch, text: "hashes to"},
		"other length":        {change: write("config.json", "{}"), want: submit.Mismatch},
		"another manifest":    {change: write("manifest.json", "{}"), want: submit.Mismatch, text: "hashes to"},
		"a long manifest":     {change: write("manifest.json", strings.Repeat(" ", 1<<20+1)), want: submit.Mismatch},
		"a further object":    {change: write("sub/extra.json", "{}"), want: submit.Extra},
		"a hidden object":     {change: write(".verified", "x"), want: submit.Extra},
		"a funding record":    {change: write("openrouter/key.json", "x")},
		"more of the funding": {change: write("openrouter/a/b", "x")},
		"a file is missing":   {change: func(t *testing.T, dir string) { mustNot(t, os.Remove(dir+"/config.json")) }, want: submit.Lacking},
		"the manifest is":     {change: func(t *testing.T, dir string) { mustNot(t, os.Remove(dir+"/manifest.json")) }, want: submit.Lacking},
		"a link to the file": {change: func(t *testing.T, dir string) {
			mustNot(t, errors.Join(os.Rename(dir+"/config.json", dir+"/../c"), os.Symlink("../c", dir+"/config.json")))
		}, want: submit.Special},
		"a folder elsewhere": {change: func(t *testing.T, dir string) {
			mustNot(t, errors.Join(os.Rename(dir+"/sub", dir+"/../sub"), os.Symlink("../sub", dir+"/sub")))
		}, want: submit.Extra},
		"somebody else's manifest": {ready: func(t *testing.T, r *chain.Ready, dir string) {
			m, err := submission.Seal(submission.Draft{Registration: r.Registration, Hotkey: ss58.Encode(other.Public()), Files: []submission.File{{Path: "a"}}}, other)
			mustNot(t, err)
			write("manifest.json", string(m.Bytes()))(t, dir)
			r.Manifest = m.Digest()
		}, want: submit.Foreign},
		"no manifest at all": {ready: func(t *testing.T, r *chain.Ready, dir string) {
			write("manifest.json", "junk")(t, dir)
			r.Manifest = submission.Digest(sum("junk"))
		}, want: conductor.BadManifest},
		"nothing there": {ready: func(_ *testing.T, r *chain.Ready, _ string) { r.Registration[0] ^= 1 }, want: submit.Lacking},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			ready := s.submit(t).Ready
			if c.change != nil {
				c.change(t, s.prefix(t))
			}
			if c.ready != nil {
				c.ready(t, &ready, s.prefix(t))
			}
			a, err := s.fetch(ready)
			is(t, err, c.want)
			if c.want == (fault.Code{}) {
				return
			}
			if !submit.MinersFault(err) || a != nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v is not held against the miner", err)
			}
			_, err = submit.Kept(s.artifacts, ready.Manifest)
			is(t, err, submit.NotKept)
			is(t, submit.Promote(t.Context(), s.artifacts, s.public, ready.Manifest, nil), submit.NotKept)
		})
	}
	if submit.MinersFault(fs.ErrPermission) || submit.MinersFault(nil) || submit.MinersFault(chain.Unavailable.With()) {
		t.Error("the owner's faults are held against the miner")
	}
}

func mustNot(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFetchedIsNotFetchedAgain(t *testing.T) {
	s := newStage(t)
	ready := s.submit(t).Ready
	if _, err := s.fetch(ready); err != nil {
		t.Fatal(err)
	}
	mustNot(t, os.RemoveAll(s.prefix(t)))
	a, err := s.fetch(ready)
	if err != nil || a.Manifest.Digest() != ready.Manifest {
		t.Fatal(err)
	}
	// The store's copy of another's commitment is not given out as the asked one's.
	ready.Registration[0] ^= 1
	_, err = s.fetch(ready)
	is(t, err, submit.Foreign)
}

func TestFetchWithoutMarkerChecksAgain(t *testing.T) {
	s := newStage(t)
	ready := s.submit(t).Ready
	if _, err := s.fetch(ready); err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(filepath.Dir(s.dir), "store", "artifacts/sha256", fmt.Sprintf("%x", ready.Manifest))
	mustNot(t, errors.Join(os.Remove(store+"/.verified"), os.WriteFile(store+"/tree/config.json", []byte("cut"), 0o644)))
	if _, err := s.fetch(ready); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(store + "/tree/config.json"); string(got) != files("")["config.json"] {
		t.Errorf("%s", got)
	}
	// What the owner's own disk lost is nobody's fault, and is not judged.
	mustNot(t, os.WriteFile(store+"/manifest.json", []byte("{}"), 0o644))
	_, err := s.fetch(ready)
	is(t, err, submit.Damaged)
	if submit.MinersFault(err) {
		t.Error("held against the miner")
	}
}

func TestPublicCopyIsCheckedWhereItStands(t *testing.T) {
	s := newStage(t)
	id := s.submit(t).Ready.Manifest
	if _, err := s.fetch(chain.Ready{Registration: sumOf(t, s), Manifest: id}); err != nil {
		t.Fatal(err)
	}
	mustNot(t, submit.Promote(t.Context(), s.artifacts, s.public, id, nil))
	public := filepath.Join(filepath.Dir(s.dir), "public", submit.ModelPrefix(id))
	mustNot(t, os.WriteFile(public+"/config.json", []byte(strings.Repeat("x", len(files("")["config.json"]))), 0o644))
	_, err := submit.CheckModel(t.Context(), s.public, id, nil)
	is(t, err, submit.Mismatch)
	mustNot(t, submit.Promote(t.Context(), s.artifacts, s.public, id, nil)) // mends it
	mustNot(t, os.WriteFile(public+"/more", nil, 0o644))
	is(t, submit.Promote(t.Context(), s.artifacts, s.public, id, nil), submit.Extra)
	_, err = submit.CheckModel(t.Context(), s.public, submission.Digest{}, nil)
	is(t, err, submit.Lacking)
}

func TestStoreWithSomethingElseInItKeepsNothing(t *testing.T) {
	s := newStage(t)
	ready := s.submit(t).Ready
	store := filepath.Join(filepath.Dir(s.dir), "store", "artifacts/sha256", fmt.Sprintf("%x", ready.Manifest))
	mustNot(t, errors.Join(os.MkdirAll(store+"/tree", 0o755), os.WriteFile(store+"/tree/x.py", nil, 0o644)))
	_, err := s.fetch(ready)
	if is(t, err, submit.Damaged); submit.MinersFault(err) {
		t.Error("held against the miner")
	}
	_, err = submit.Kept(s.artifacts, ready.Manifest)
	is(t, err, submit.NotKept)
	mustNot(t, errors.Join(os.WriteFile(store+"/.verified", []byte(strings.Repeat("0", 64)+"\n"), 0o644)))
	_, err = submit.Kept(s.artifacts, ready.Manifest)
	is(t, err, submit.NotKept)
}

// sumOf returns the miner's registration.
func sumOf(t testing.TB, s *stage) chain.Digest {
	t.Helper()
	r, err := chain.ParseReady(s.signal(t))
	mustNot(t, err)
	return r.Registration
}
