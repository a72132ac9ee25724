package fake_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/chain"
	"assay/chain/chaintest"
	"assay/chain/fake"
	"assay/core/fault"
)

// control arranges a chain in a file.
type control struct{ path, hotkey string }

func (c control) Hotkey() string { return c.hotkey }

func (c control) Put(t testing.TB, w chaintest.World) {
	t.Helper()
	s := &fake.State{Seed: "test", Head: w.Head, Neurons: w.Neurons, Commitments: w.Commitments, Parameters: w.Parameters}
	if err := fake.Write(c.path, s); err != nil {
		t.Fatal(err)
	}
}

func (c control) edit(t testing.TB, do func(*fake.State)) {
	t.Helper()
	if err := fake.Edit(t.Context(), c.path, func(s *fake.State) error { do(s); return nil }); err != nil {
		t.Fatal(err)
	}
}

func (c control) Advance(t testing.TB, blocks int64) {
	c.edit(t, func(s *fake.State) { s.Head += blocks })
}

func (c control) Down(t testing.TB, down bool) {
	c.edit(t, func(s *fake.State) {
		s.Fail = nil
		if down {
			s.Fail = []string{fake.Head, fake.BlockHash, fake.Metagraph, fake.Commitments, fake.Parameters, fake.Commit, fake.SetWeights}
		}
	})
}

func (c control) Weights(t testing.TB) []chain.Weight {
	t.Helper()
	s, err := fake.Read(c.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range s.Weights {
		if w.Hotkey == c.hotkey {
			return w.Weights
		}
	}
	return nil
}

func open(t testing.TB) (*fake.Client, control) {
	c := control{filepath.Join(t.TempDir(), "chain.json"), chaintest.Hotkey(77)}
	return fake.New(c.path, c.hotkey), c
}

func TestContract(t *testing.T) {
	chaintest.Run(t, func(t *testing.T) (chain.Client, chaintest.Control) {
		client, c := open(t)
		return client, c
	})
}

// alone is a chain in which the hotkey holds uid 0.
func alone(t testing.TB) (*fake.Client, control) {
	client, c := open(t)
	c.Put(t, chaintest.World{Head: 10, Neurons: []chain.Neuron{{Hotkey: c.hotkey, Registered: 1}}})
	return client, c
}

func TestFileIsOneThatPeopleEdit(t *testing.T) {
	client, c := alone(t)
	if err := client.Commit(t.Context(), "schedule"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(c.path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(`{
  "seed": "test",
  "genesis": 0,
  "head": 10,
  "neurons": [
    {
      "uid": 0,
      "hotkey": "WHO",
      "registered": 1
    }
  ],
  "commitments": [
    {
      "hotkey": "WHO",
      "block": 10,
      "signal": "schedule"
    }
  ],
  "weights": [],
  "parameters": {
    "weights_rate_limit": 0,
    "immunity_period": 0
  }
}
`, "WHO", c.hotkey)
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
}

func TestHashesAreListedOrDerived(t *testing.T) {
	client, c := alone(t)
	listed := "0x" + strings.Repeat("ab", 32)
	before, err := client.BlockHash(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	// printf 'fake chain\ntest\n5\n' | sha256sum
	if want := "0xa152ab5271b7845f"; !strings.HasPrefix(before, want) {
		t.Errorf("block 5 has the hash %s, want %s…", before, want)
	}
	c.edit(t, func(s *fake.State) { s.Hashes = map[string]string{"5": listed}; s.Genesis = 3 })
	if got, err := client.BlockHash(t.Context(), 5); got != listed || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := client.BlockHash(t.Context(), 2); fault.Of(err) != chain.NoSuchBlock {
		t.Errorf("before the genesis: %v", err)
	}
}

func TestFailsAtANamedStep(t *testing.T) {
	client, c := alone(t)
	for _, step := range []string{fake.Commit, fake.SetWeights} {
		c.edit(t, func(s *fake.State) { s.Fail = []string{step} })
		err := client.Commit(t.Context(), "first")
		if step == fake.SetWeights {
			err = client.SetWeights(t.Context(), []chain.Weight{{Share: 1}})
		}
		if fault.Of(err) != chain.Unavailable {
			t.Errorf("%s: %v", step, err)
		}
	}
	if s, err := fake.Read(c.path); err != nil || len(s.Weights) != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	c.edit(t, func(s *fake.State) { s.Fail = []string{fake.CommitWritten, fake.SetWeightsWritten} })
	if err := client.Commit(t.Context(), "second"); fault.Of(err) != chain.Unconfirmed {
		t.Errorf("%v", err)
	}
	if err := client.SetWeights(t.Context(), []chain.Weight{{Share: 1}}); fault.Of(err) != chain.Unconfirmed {
		t.Errorf("%v", err)
	}
	s, err := fake.Read(c.path)
	if err != nil || len(s.Commitments) != 1 || s.Commitments[0].Signal != "second" || len(s.Weights) != 1 {
		t.Errorf("what was not confirmed does not stand: %+v, %v", s, err)
	}
}

func TestNoFileIsAChainThatCannotBeAsked(t *testing.T) {
	client, _ := open(t)
	if _, err := client.Head(t.Context()); fault.Of(err) != chain.Unavailable {
		t.Errorf("Head: %v", err)
	}
	if err := client.Commit(t.Context(), "x"); fault.Of(err) != chain.Unavailable {
		t.Errorf("Commit: %v", err)
	}
	elsewhere := fake.New(filepath.Join(t.TempDir(), "none", "chain.json"), "")
	if err := elsewhere.Commit(t.Context(), "x"); fault.Of(err) != chain.Unavailable {
		t.Errorf("Commit without a folder: %v", err)
	}
}

func TestFilesWithMistakesAreRefused(t *testing.T) {
	who, hash := chaintest.Hotkey(1), "0x"+strings.Repeat("a", 64)
	for name, text := range map[string]string{
		"no JSON": `{`, "nothing": ``, "a list": `[]`, "another member": `{"heads":1}`, "a member twice": `{"head":1,"head":2}`, "a fraction": `{"head":1.5}`,
		"a head before the genesis": `{"genesis":5,"head":4}`, "a negative genesis": `{"genesis":-1}`, "a negative limit": `{"parameters":{"weights_rate_limit":-1}}`,
		"a negative period": `{"parameters":{"immunity_period":-1}}`, "a hash of no block": `{"hashes":{"x":"` + hash + `"}}`, "a block with a zero before it": `{"hashes":{"01":"` + hash + `"}}`,
		"a short hash": `{"hashes":{"1":"0xab"}}`, "an upper-case hash": `{"hashes":{"1":"0x` + strings.Repeat("A", 64) + `"}}`,
		"a hotkey that is none": `{"neurons":[{"uid":1,"hotkey":"alice"}]}`, "a uid beyond": `{"neurons":[{"uid":65536,"hotkey":"` + who + `"}]}`,
		"a uid twice":              `{"neurons":[{"uid":1,"hotkey":"` + who + `"},{"uid":1,"hotkey":"` + chaintest.Hotkey(2) + `"}]}`,
		"a hotkey twice":           `{"neurons":[{"uid":1,"hotkey":"` + who + `"},{"uid":2,"hotkey":"` + who + `"}]}`,
		"registered in the future": `{"neurons":[{"uid":1,"hotkey":"` + who + `","registered":1}]}`,
		"committed in the future":  `{"commitments":[{"hotkey":"` + who + `","block":1,"signal":"x"}]}`,
		"a long signal":            `{"commitments":[{"hotkey":"` + who + `","signal":"` + strings.Repeat("x", 129) + `"}]}`,
		"two commitments":          `{"commitments":[{"hotkey":"` + who + `","signal":"x"},{"hotkey":"` + who + `","signal":"y"}]}`,
		"weights of half":          `{"weights":[{"hotkey":"` + who + `","weights":[{"uid":0,"share":0.5}]}]}`,
		"weights of nobody":        `{"weights":[{"hotkey":"","weights":[{"uid":0,"share":1}]}]}`,
		"no such step":             `{"fail":["comit"]}`, "a file too long": strings.Repeat(" ", 16<<20) + "{}",
	} {
		client, c := open(t)
		if err := os.WriteFile(c.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Head(t.Context()); fault.Of(err) != fake.BadFile {
			t.Errorf("%s: %v", name, err)
		}
		if err := client.Commit(t.Context(), "x"); fault.Of(err) != fake.BadFile {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(c.path); err != nil || !bytes.Equal(after, []byte(text)) {
			t.Errorf("%s: the file was changed, %v", name, err)
		}
	}
}

func TestEditThatFailsChangesNothing(t *testing.T) {
	_, c := alone(t)
	before, _ := os.ReadFile(c.path)
	sorry := errors.New("no")
	if err := fake.Edit(t.Context(), c.path, func(s *fake.State) error { s.Head++; return sorry }); !errors.Is(err, sorry) {
		t.Errorf("%v", err)
	}
	if err := fake.Edit(t.Context(), c.path, func(s *fake.State) error { s.Head = -1; return nil }); fault.Of(err) != fake.BadFile {
		t.Errorf("a mistake was written: %v", err)
	}
	after, err := os.ReadFile(c.path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("%s, %v", after, err)
	}
	names, err := filepath.Glob(c.path + "*")
	if err != nil || len(names) != 2 { // the file and its lock
		t.Errorf("left behind: %q, %v", names, err)
	}
}

func TestLockIsWaitedForUntilTheContextEnds(t *testing.T) {
	client, c := alone(t)
	held, done := make(chan struct{}), make(chan error)
	release := make(chan struct{})
	go func() {
		done <- fake.Edit(context.Background(), c.path, func(s *fake.State) error { close(held); <-release; s.Head++; return nil })
	}()
	<-held
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := client.Commit(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a writer did not wait: %v", err)
	}
	if top, err := client.Head(t.Context()); err != nil || top.Number != 10 {
		t.Errorf("a reader waited or read what is not written: %+v, %v", top, err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := client.Commit(t.Context(), "x"); err != nil {
		t.Errorf("the lock was not given back: %v", err)
	}
}

// writers is how many of each kind write at once, and how often.
const writers, times = 3, 20

// TestTwoProcessesLoseNothing runs this test's own program again, and writes at the same time as it.
func TestTwoProcessesLoseNothing(t *testing.T) {
	if path := os.Getenv("FAKE_CHAIN"); path != "" {
		addMany(t, path)
		return
	}
	_, c := alone(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTwoProcessesLoseNothing$", "-test.v")
	cmd.Env = append(os.Environ(), "FAKE_CHAIN="+c.path)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	addMany(t, c.path)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	s, err := fake.Read(c.path)
	if err != nil || s.Head != 10+2*writers*times {
		t.Errorf("%d blocks of %d are there, %v", s.Head-10, 2*writers*times, err)
	}
}

func addMany(t *testing.T, path string) {
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range times {
				if err := fake.Edit(t.Context(), path, func(s *fake.State) error { s.Head++; return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestKilledWriterLeavesAWholeFile kills a process of this test's own program in the middle of its writing, several times.
func TestKilledWriterLeavesAWholeFile(t *testing.T) {
	if path := os.Getenv("FAKE_CHAIN"); path != "" {
		for {
			err := fake.Edit(t.Context(), path, func(s *fake.State) error { s.Head++; return nil })
			s, err2 := fake.Read(path)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			fmt.Println("told", s.Head)
		}
	}
	client, c := alone(t)
	for round := range 6 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWriterLeavesAWholeFile$")
		cmd.Env = append(os.Environ(), "FAKE_CHAIN="+c.path)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		told := int64(0)
		for lines := bufio.NewScanner(out); lines.Scan(); { // until the pipe ends
			if n, err := fmt.Sscanf(lines.Text(), "told %d", &told); err != nil || n != 1 {
				t.Errorf("the writer said %q", lines.Text())
			}
			if told%int64(5+round) == 0 {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait()
		s, err := fake.Read(c.path)
		if err != nil || told == 0 || s.Head < told {
			t.Fatalf("block %d was told, and the file holds %+v, %v", told, s, err)
		}
		if err := client.Commit(t.Context(), fmt.Sprint(round)); err != nil {
			t.Errorf("the next writer: %v", err)
		}
		if names, err := filepath.Glob(c.path + "*"); err != nil || len(names) != 2 {
			t.Errorf("left behind: %q, %v", names, err)
		}
	}
}

// FuzzParse holds that what is read can be written and read again, and means the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"seed":"a","genesis":1,"head":9,"hashes":{"3":"0x` + strings.Repeat("a", 64) + `"},"fail":["head"]}`))
	f.Add(fmt.Appendf(nil, `{"head":9,"neurons":[{"uid":1,"hotkey":%q,"registered":2}],"commitments":[{"hotkey":%q,"block":3,"signal":"x"}],"weights":[{"hotkey":%q,"block":3,"weights":[{"uid":0,"share":0.25},{"uid":1,"share":0.75}]}],"parameters":{"weights_rate_limit":1,"immunity_period":2}}`,
		chaintest.Hotkey(1), chaintest.Hotkey(2), chaintest.Hotkey(1)))
	path := filepath.Join(f.TempDir(), "chain.json")
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := fake.Parse(text)
		if err != nil {
			if fault.Of(err) != fake.BadFile {
				t.Errorf("refused as %v", err)
			}
			return
		}
		if err := fake.Write(path, s); err != nil {
			t.Fatal(err)
		}
		again, err := fake.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.Fail, again.Fail); diff != "" || s.Head != again.Head || len(s.Neurons) != len(again.Neurons) || len(s.Hashes) != len(again.Hashes) {
			t.Errorf("%+v came back as %+v", s, again)
		}
	})
}
