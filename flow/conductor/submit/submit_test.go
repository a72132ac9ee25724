package submit_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"assay/chain"
	"assay/chain/fake"
	"assay/conductor"
	"assay/conductor/admission"
	"assay/conductor/profile"
	"assay/conductor/submission"
	"assay/core/fault"
	"assay/core/sign"
	"assay/core/ss58"
	"assay/flow/conductor/submit"
)

var miner = sign.NewEd25519([32]byte{7})

const netuid = 3

// files returns a tree that admission admits; data fills the tensor.
func files(data string) map[string]string {
	header := fmt.Sprintf(`{"w":{"dtype":"U8","shape":[8],"data_offsets":[0,%d]}}`, 8)
	return map[string]string{
		"config.json": `{"model_type":"toy"}`, "tokenizer.json": "{}", "tokenizer_config.json": "{}", "README.md": "",
		"sub/1.safetensors": string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + (data + strings.Repeat("\x00", 8))[:8],
	}
}

func memory(files map[string]string) fs.FS {
	m := fstest.MapFS{}
	for path, text := range files {
		m[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// stage is one miner, one chain and the three buckets.
type stage struct {
	settings          submit.Settings
	chain             string
	dir               string
	artifacts, public *submit.Bucket
}

func bucket(t testing.TB, dir string) *submit.Bucket {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := submit.OpenBucket(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func newStage(t testing.TB) *stage {
	t.Helper()
	dir := t.TempDir()
	s := &stage{chain: filepath.Join(dir, "chain.json"), dir: filepath.Join(dir, "bucket")}
	hotkey := ss58.Encode(miner.Public())
	if err := fake.Write(s.chain, &fake.State{Seed: "x", Head: 50, Neurons: []chain.Neuron{{UID: 4, Hotkey: hotkey, Registered: 20}}}); err != nil {
		t.Fatal(err)
	}
	ref, err := admission.ReadReference(memory(files("ref")), profile.Strict)
	if err != nil {
		t.Fatal(err)
	}
	s.settings = submit.Settings{
		Tree: memory(files("mine")), Reference: ref, Profile: profile.Strict, Signer: miner, Chain: fake.New(s.chain, hotkey), Netuid: netuid,
		Bucket: bucket(t, s.dir),
	}
	s.artifacts, s.public = bucket(t, filepath.Join(dir, "store")), bucket(t, filepath.Join(dir, "public"))
	return s
}

func (s *stage) submit(t testing.TB) *submit.Receipt {
	t.Helper()
	r, err := submit.Submit(t.Context(), s.settings)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *stage) fetch(r chain.Ready) (*submit.Artifact, error) {
	return submit.Fetch(context.Background(), submit.Fetching{
		Bucket: s.settings.Bucket, Artifacts: s.artifacts, Hotkey: ss58.Encode(miner.Public()), Ready: r,
	})
}

func (s *stage) signal(t testing.TB) string {
	t.Helper()
	all, err := s.settings.Chain.Commitments(t.Context())
	if err != nil || len(all) > 1 {
		t.Fatal(all, err)
	}
	if len(all) == 0 {
		return ""
	}
	return all[0].Signal
}

// prefix is the miner's folder.
func (s *stage) prefix(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob(s.dir + "/submissions/*")
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return found[0]
}

// listing returns the objects below a folder, with what they hold.
func listing(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var b []byte
			b, err = os.ReadFile(filepath.Join(dir, p))
			out[p] = string(b)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

func is(t testing.TB, err error, want fault.Code) {
	t.Helper()
	if got := fault.Of(err); got != want {
		t.Errorf("%v, want %q", err, want.Name())
	}
}

func TestFromTheMinerToThePublic(t *testing.T) {
	s := newStage(t)
	s.settings.Name = "my-model"
	s.settings.Funding = func(chain.Digest) ([]byte, error) { return []byte("sealed"), nil }
	r := s.submit(t)
	want := files("mine")
	want["manifest.json"], want["openrouter/key.json"] = string(r.Manifest.Bytes()), "sealed"
	if diff := cmp.Diff(want, listing(t, s.prefix(t))); diff != "" {
		t.Error(diff)
	}
	if signal := s.signal(t); signal != chain.ReadySignal(r.Ready) || r.Sent != 5 || r.Skipped != 0 || r.Already {
		t.Errorf("%s, %+v", signal, r)
	}
	if got, err := submit.Funding(s.settings.Bucket, r.Ready.Registration, 100); string(got) != "sealed" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := submit.Funding(s.settings.Bucket, chain.Digest{}, 100); got != nil || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	a, err := s.fetch(r.Ready)
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(a.Tree, "config.json", "sub/1.safetensors"); err != nil || a.Manifest.ModelName() != "my-model" {
		t.Error(err)
	}
	if v, err := admission.Admit(a.Tree, s.settings.Reference, profile.Strict); err != nil || !v.Admitted() {
		t.Errorf("the owner refuses what the miner admitted: %v, %v", v.Refusal(), err)
	}
	if err := submit.Promote(t.Context(), s.artifacts, s.public, r.Ready.Manifest, nil); err != nil {
		t.Fatal(err)
	}
	delete(want, "openrouter/key.json")
	public := filepath.Join(filepath.Dir(s.dir), "public", submit.ModelPrefix(r.Ready.Manifest))
	if diff := cmp.Diff(want, listing(t, public)); diff != "" {
		t.Error(diff)
	}
}

func TestBehaviourK9_ManifestLastAndRerunSkips(t *testing.T) {
	s := newStage(t)
	full := s.settings.Tree
	stop := errors.New("the cable was pulled")
	s.settings.Funding = func(chain.Digest) ([]byte, error) { // behind the files, before the manifest
		if have := listing(t, s.prefix(t)); len(have) != 5 || have["manifest.json"] != "" {
			t.Errorf("before the manifest: %v", have)
		}
		return nil, stop
	}
	if _, err := submit.Submit(t.Context(), s.settings); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if s.signal(t) != "" {
		t.Error("committed without a manifest")
	}
	// One object was cut off and has the right size, one is gone.
	if err := os.WriteFile(s.prefix(t)+"/config.json", []byte(strings.Repeat("x", len(files("")["config.json"]))), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.prefix(t) + "/tokenizer.json"); err != nil {
		t.Fatal(err)
	}
	s.settings.Tree, s.settings.Funding = full, nil
	if r := s.submit(t); r.Sent != 2 || r.Skipped != 3 {
		t.Errorf("%d sent, %d skipped", r.Sent, r.Skipped)
	}
	first := s.signal(t)
	if r := s.submit(t); r.Sent != 0 || r.Skipped != 5 || !r.Already || s.signal(t) != first {
		t.Errorf("again: %+v", r)
	}
}

func TestAnotherTreeBeforeTheCommitmentReplacesTheFirst(t *testing.T) {
	s := newStage(t)
	if err := fake.Edit(t.Context(), s.chain, func(st *fake.State) error { st.Fail = []string{fake.Commit}; return nil }); err != nil {
		t.Fatal(err)
	}
	tree := files("first")
	tree["NOTICE"] = "only here"
	s.settings.Tree = memory(tree)
	_, err := submit.Submit(t.Context(), s.settings)
	is(t, err, chain.Unavailable)
	if err := fake.Edit(t.Context(), s.chain, func(st *fake.State) error { st.Fail = nil; return nil }); err != nil {
		t.Fatal(err)
	}
	s.settings.Tree = memory(files("second"))
	r := s.submit(t)
	if _, err := s.fetch(r.Ready); err != nil {
		t.Errorf("leftovers of the first tree: %v", err)
	}
}

func TestOneCommitmentForEver(t *testing.T) {
	s := newStage(t)
	s.submit(t)
	before, signal := listing(t, s.dir), s.signal(t)
	s.settings.Tree = memory(files("another"))
	_, err := submit.Submit(t.Context(), s.settings)
	is(t, err, submit.Committed)
	if diff := cmp.Diff(before, listing(t, s.dir)); diff != "" || s.signal(t) != signal {
		t.Error(diff)
	}
	// The same hotkey under another registration: refused before anything is hashed.
	if err := fake.Edit(t.Context(), s.chain, func(st *fake.State) error { st.Neurons[0].Registered = 40; return nil }); err != nil {
		t.Fatal(err)
	}
	s.settings.Tree = memory(files("mine"))
	s.settings.Progress = func(string, int64, int64) { t.Error("hashed") }
	_, err = submit.Submit(t.Context(), s.settings)
	is(t, err, submit.Committed)
}

func TestSubmitRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, s *stage)
		want   fault.Code
	}{
		"a tree that is not admitted": {func(_ *testing.T, s *stage) {
			tree := files("mine")
			tree["x.bin"], tree["y.py"] = "", ""
			s.settings.Tree = memory(tree)
		}, conductor.Refused},
		"a reserved name":  {func(_ *testing.T, s *stage) { s.settings.Name = "thirtyspokes-x" }, conductor.BadModelName},
		"an unknown miner": {func(_ *testing.T, s *stage) { s.settings.Signer = sign.NewEd25519([32]byte{1}) }, chain.NotRegistered},
		"a chain that is down": {func(t *testing.T, s *stage) {
			if err := os.Remove(s.chain); err != nil {
				t.Fatal(err)
			}
		}, chain.Unavailable},
		"a name that the bucket keeps": {func(_ *testing.T, s *stage) {
			tree := files("mine")
			tree["manifest.json"] = "{}"
			s.settings.Tree = memory(tree)
		}, conductor.BadPath},
		"a link in a lenient profile": {func(t *testing.T, s *stage) {
			dir := t.TempDir()
			for p, text := range files("mine") {
				if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, p)), 0o755), os.WriteFile(filepath.Join(dir, p), []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("config.json", filepath.Join(dir, "also.json")); err != nil {
				t.Fatal(err)
			}
			s.settings.Tree, s.settings.Profile = os.DirFS(dir), profile.Compat
		}, submit.Special},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			c.change(t, s)
			_, err := submit.Submit(t.Context(), s.settings)
			is(t, err, c.want)
			if have := listing(t, s.dir); len(have) != 0 {
				t.Errorf("left behind: %v", have)
			}
			var refused *submit.RefusedTree
			if errors.As(err, &refused) && len(refused.Findings) != 2 {
				t.Errorf("findings: %v", refused.Findings)
			}
		})
	}
	if _, err := submit.OpenBucket(filepath.Join(t.TempDir(), "no")); fault.Of(err) != submit.BadBucket {
		t.Error(err)
	}
}

// TestWriteThatIsNotKnownIsLookedUp: the chain took the commitment and did not say so.
func TestWriteThatIsNotKnownIsLookedUp(t *testing.T) {
	s := newStage(t)
	if err := fake.Edit(t.Context(), s.chain, func(st *fake.State) error { st.Fail = []string{fake.CommitWritten}; return nil }); err != nil {
		t.Fatal(err)
	}
	if r, err := submit.Submit(t.Context(), s.settings); err != nil || s.signal(t) != chain.ReadySignal(r.Ready) {
		t.Errorf("%v", err)
	}
}

func TestTwoSubmittersOfOneArtifact(t *testing.T) {
	s := newStage(t)
	s.settings.Funding = func(r chain.Digest) ([]byte, error) {
		inner := s.settings
		inner.Funding = nil
		_, err := submit.Submit(t.Context(), inner)
		is(t, err, submit.Busy)
		return []byte("x"), nil
	}
	s.submit(t)
}

func TestCancelledSubmissionGoesOn(t *testing.T) {
	s := newStage(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.settings.Progress = func(what string, _, _ int64) {
		if what == "copying" {
			cancel()
		}
	}
	if _, err := submit.Submit(ctx, s.settings); !errors.Is(err, context.Canceled) || s.signal(t) != "" {
		t.Fatal(err)
	}
	s.settings.Progress = nil
	if _, err := s.fetch(s.submit(t).Ready); err != nil {
		t.Error(err)
	}
}

func TestHashTree(t *testing.T) {
	tree := files("mine")
	tree["big.txt"] = strings.Repeat("0123456789abcdef", 200_000) // several buffers
	total := int64(0)
	for _, text := range tree {
		total += int64(len(text))
	}
	var told, of int64
	got, err := submit.HashTree(t.Context(), memory(tree), func(_ string, n, all int64) { counting.Lock(); told += n; of = all; counting.Unlock() })
	if err != nil || told != total || of != total {
		t.Fatal(err, told, of, total)
	}
	want := []submission.File{}
	for path, text := range tree {
		want = append(want, submission.File{Path: path, Size: int64(len(text)), SHA256: sum(text)})
	}
	slices.SortFunc(want, func(a, b submission.File) int { return strings.Compare(a.Path, b.Path) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	many := map[string]string{}
	for i := range submission.MaxFiles + 1 {
		many[fmt.Sprint(i)] = ""
	}
	_, err = submit.HashTree(t.Context(), memory(many), nil)
	is(t, err, submit.TooMany)
	for name, grown := range map[string]int64{"grew": -1, "shrank": 1} {
		_, err := submit.HashTree(t.Context(), lying{memory(files("mine")).(fstest.MapFS), grown}, nil)
		if is(t, err, submit.Changed); err == nil {
			t.Error(name)
		}
	}
}

// lying lists files with other sizes than they have.
type lying struct {
	fstest.MapFS
	by int64
}

func (l lying) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := l.MapFS.ReadDir(name)
	for i, d := range list {
		if !d.IsDir() {
			list[i] = lyingEntry{d, l.by}
		}
	}
	return list, err
}

type lyingEntry struct {
	fs.DirEntry
	by int64
}

func (l lyingEntry) Info() (fs.FileInfo, error) {
	info, err := l.DirEntry.Info()
	return lyingInfo{info, l.by}, err
}

type lyingInfo struct {
	fs.FileInfo
	by int64
}

func (l lyingInfo) Size() int64 { return l.FileInfo.Size() + l.by }

func TestCommitmentsForTheQueue(t *testing.T) {
	r := chain.Ready{Registration: chain.Digest{1}, Manifest: chain.Digest{2}}
	got := submit.Commitments([]chain.Commitment{
		{Hotkey: "a", Block: 1, Signal: "schedule:v1:x"}, {Hotkey: "b", Block: 2, Signal: chain.ReadySignal(r)}, {Hotkey: "c", Block: 3, Signal: chain.ReadySignal(r) + "\n"},
	})
	want := []submission.Commitment{{Hotkey: "b", Block: 2, Registration: r.Registration, Manifest: r.Manifest}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
