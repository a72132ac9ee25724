//go:build crash

package submit_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/chain"
	"assay/chain/fake"
	"assay/conductor/admission"
	"assay/conductor/profile"
	"assay/core/ss58"
	"assay/flow/conductor/submit"
)

// child makes a test binary carry an artifact all the way in a folder instead of testing.
const child = "ASSAY_TEST_SUBMIT_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(child); dir != "" {
		if err := allTheWay(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func allTheWay(dir string) error {
	hotkey := ss58.Encode(miner.Public())
	ref, err := admission.ReadReference(memory(files("ref")), profile.Strict)
	if err != nil {
		return err
	}
	var buckets []*submit.Bucket
	for _, name := range []string{"bucket", "store", "public"} {
		b, err := submit.OpenBucket(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		buckets = append(buckets, b)
	}
	ctx := context.Background()
	r, err := submit.Submit(ctx, submit.Settings{
		Tree: memory(files("mine")), Reference: ref, Profile: profile.Strict, Signer: miner, Chain: fake.New(filepath.Join(dir, "chain.json"), hotkey),
		Netuid: netuid, Bucket: buckets[0],
	})
	if err != nil {
		return err
	}
	if _, err := submit.Fetch(ctx, submit.Fetching{Bucket: buckets[0], Artifacts: buckets[1], Hotkey: hotkey, Ready: r.Ready}); err != nil {
		return err
	}
	return submit.Promote(ctx, buckets[1], buckets[2], r.Ready.Manifest, nil)
}

// TestKilledAtEveryPoint kills the walk at its first point, its second, and so on until it gets to its end. After every kill what is
// seen is whole; the same walk, run again, ends as if nothing had happened.
func TestKilledAtEveryPoint(t *testing.T) {
	want := ""
	for at := 0; ; at++ {
		if at > 200 {
			t.Fatal("the walk never ends")
		}
		s := newStage(t)
		dir := filepath.Dir(s.dir)
		walk := func(at int) error {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), child+"="+dir, fmt.Sprint("ASSAY_CRASH_AT=", at))
			out, err := c.CombinedOutput()
			if err != nil && !strings.Contains(string(out), "ended at point") {
				t.Fatalf("at %d: %v\n%s", at, err, out)
			}
			return err
		}
		killed := walk(at) // at 0: never
		whole(t, s, at)
		if killed != nil {
			if err := walk(0); err != nil {
				t.Fatal(err)
			}
		}
		got := fmt.Sprint(listing(t, s.dir+"/submissions"), listing(t, dir+"/store/artifacts"), listing(t, dir+"/public/models"), s.signal(t))
		switch {
		case at == 0:
			want = got
		case got != want:
			t.Fatalf("killed at %d it ends as\n%s\nand not as\n%s", at, got, want)
		case killed == nil:
			t.Logf("%d points", at-1)
			return
		}
	}
}

// whole looks at what a killed walk left as a reader would.
func whole(t *testing.T, s *stage, at int) {
	t.Helper()
	tree := files("mine")
	dir := filepath.Dir(s.dir)
	for _, part := range []string{s.dir + "/submissions", dir + "/store/artifacts", dir + "/public/models"} {
		for path, text := range listing(t, part) {
			for name, good := range tree {
				if strings.HasSuffix(path, "/"+name) && text != good {
					t.Errorf("killed at %d: %s is half-written", at, path)
				}
			}
		}
	}
	signal := s.signal(t)
	if signal == "" {
		return
	}
	r, err := chain.ParseReady(signal)
	if err == nil {
		other := bucket(t, t.TempDir())
		_, err = submit.Fetch(t.Context(), submit.Fetching{Bucket: s.settings.Bucket, Artifacts: other, Hotkey: ss58.Encode(miner.Public()), Ready: r})
	}
	if err != nil {
		t.Errorf("killed at %d: committed and not whole: %v", at, err)
	}
	if _, err := os.Stat(dir + "/store/artifacts/sha256/" + hex.EncodeToString(r.Manifest[:]) + "/.verified"); !errors.Is(err, os.ErrNotExist) {
		if _, err := submit.Kept(s.artifacts, r.Manifest); err != nil {
			t.Errorf("killed at %d: marked and not kept: %v", at, err)
		}
	}
}
