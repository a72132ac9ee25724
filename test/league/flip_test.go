package league_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"assay/chain"
	"assay/chain/fake"
	"assay/conductor/publication"
	"assay/conductor/reading"
	"assay/core/sign"
	"assay/tlog"
	"assay/verify/audit"
)

// pinned is the verifier key of every league here.
func pinned(t testing.TB) tlog.VerifierKey {
	key, err := tlog.NewVerifierKey("league.test/conductor", sign.NewEd25519([32]byte{1}).Public())
	must(t, err)
	return key
}

// lines writes values as lines of JSON.
func lines[T any](t testing.TB, path string, values ...T) {
	var b bytes.Buffer
	for _, v := range values {
		must(t, json.NewEncoder(&b).Encode(v))
	}
	must(t, os.WriteFile(path, b.Bytes(), 0o644))
}

// tiny makes a league on a made-up world of two tasks, and runs one window with the miners' Conductors.
func tiny(t testing.TB, miners ...string) *stage {
	t.Helper()
	return tinyIn(t, "strict", miners...)
}

func tinyIn(t testing.TB, profile string, miners ...string) *stage {
	t.Helper()
	return tinyWith(t, profile, object{}, object{}, nil, miners...)
}

// object is what stands on a line.
type object = map[string]any

// tinyWith makes the league with further members of each task and each cheap outcome, and further flags of init.
func tinyWith(t testing.TB, profile string, task, outcome object, flags []string, miners ...string) *stage {
	t.Helper()
	dir := t.TempDir()
	s := &stage{t: t, bin: build(t, ""), dir: dir, worldDir: filepath.Join(dir, "world")}
	must(t, os.MkdirAll(s.worldDir, 0o755))
	lines(t, filepath.Join(s.worldDir, "models.json"), []object{
		{"id": "c/c", "price_in_per_mtok": .1, "price_out_per_mtok": .4, "context_length": 9000}, {"id": "s/s", "price_in_per_mtok": 3, "price_out_per_mtok": 9, "context_length": 9000},
	})
	var tasks, outcomes []object
	for _, b := range []string{"a", "b"} {
		cheap := object{"task_id": b, "model": "c/c", "output": "3", "score": 0, "cost_usd": .001, "input_tokens": 4, "output_tokens": 1, "ok": true}
		maps.Copy(cheap, outcome)
		one := object{"task_id": b, "benchmark": b, "prompt": "1+1?", "reference": "2", "metric": "number"}
		maps.Copy(one, task)
		tasks = append(tasks, one)
		outcomes = append(outcomes, cheap,
			object{"task_id": b, "model": "s/s", "output": "2", "score": 1, "cost_usd": .01, "input_tokens": 4, "output_tokens": 1, "ok": true})
	}
	lines(t, filepath.Join(s.worldDir, "tasks.jsonl"), tasks...)
	lines(t, filepath.Join(s.worldDir, "outcomes.jsonl"), outcomes...)
	rate := object{"lam": .5, "c": .01, "flags": []string{}}
	lines(t, filepath.Join(dir, "exchange.json"), object{"king_zero": "always-cheapest", "contrast": "always-strongest", "exchange": object{"a": rate, "b": rate}})
	must(t, fake.Write(filepath.Join(dir, "chain.json"), &fake.State{Seed: "tiny", Head: 20, Parameters: chain.Parameters{WeightsRateLimit: 10, ImmunityPeriod: 200}}))
	must(t, os.MkdirAll(filepath.Join(dir, "owner"), 0o700))
	owner := s.seed("owner/owner.seed", 1)
	s.seed("owner/gateway.seed", 2)
	s.edit(func(c *fake.State) { c.Neurons = append(c.Neurons, chain.Neuron{UID: 0, Hotkey: owner, Registered: 1}) })
	s.tree("reference", "nothing")
	s.must("conductor", "reference", "build", "reference", "-o", "reference.json")
	self, err := os.Executable()
	must(t, err)
	s.must(append([]string{
		"conductor", "window", "init", "owner", "--chain", "fake:chain.json", "--origin", "league.test/conductor", "--world", "world", "--netuid", "3",
		"--genesis", "100", "--window-blocks", "50", "--windows", "1", "--per-benchmark", "1", "--minimum", "1", "--gate-tasks", "2", "--exchange", "exchange.json", "--profile", profile,
		"--reference", "reference.json", "--serve", "exec:" + self + " conductor {tree} world owner",
	}, flags...)...)
	s.must("conductor", "window", "commit", "owner")
	for i, plays := range miners {
		s.submit(i, miner{int64(30 + i), plays})
	}
	s.head(100)
	s.must("conductor", "window", "run", "owner")
	return s
}

// publicationOf reads a publication into memory.
func publicationOf(t testing.TB, dir string) fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range published(t, dir) {
		files[name] = &fstest.MapFile{Data: text}
	}
	return files
}

// size counts the bytes of a publication.
func size(files fstest.MapFS) (n int) {
	for _, f := range files {
		n += len(f.Data)
	}
	return n
}

// flipped is a publication with one bit changed.
func flipped(files fstest.MapFS, name string, at int, bit uint) fstest.MapFS {
	out := make(fstest.MapFS, len(files))
	for k, f := range files {
		out[k] = f
	}
	text := bytes.Clone(files[name].Data)
	text[at] ^= 1 << bit
	out[name] = &fstest.MapFile{Data: text}
	return out
}

// refusedAt audits a publication with one bit flipped and says what is wrong with the answer, "" for nothing: it must be refused, and
// the finding must name the file and the record of the bit. A bit in a text may as well be found where the text is used.
func refusedAt(files fstest.MapFS, key tlog.VerifierKey, name string, at int, bit uint) string {
	_, err := audit.Audit(flipped(files, name, at, bit), key, audit.Options{Workers: 1})
	var f *audit.Finding
	switch {
	case err == nil:
		return "accepted"
	case !errors.As(err, &f):
		return "an error and no finding: " + err.Error()
	case f.File != name:
		return "attributed to " + f.File
	}
	if strings.HasPrefix(name, publication.LogDir+"/") || name == publication.KeyFile || name == publication.LatestFile {
		return ""
	}
	if line := int64(1 + bytes.Count(files[name].Data[:at], []byte{'\n'})); f.Record != line && f.Record != line+1 {
		return fmt.Sprintf("attributed to record %d, not %d", f.Record, line)
	}
	return ""
}

// everyBit flips the given bits of every stride-th byte.
func everyBit(t *testing.T, files fstest.MapFS, bits []uint, stride int) (flips int64) {
	key := pinned(t)
	type flip struct {
		name string
		at   int
		bit  uint
	}
	jobs := make(chan flip)
	var wg sync.WaitGroup
	var bad atomic.Int64
	for range 2 {
		wg.Go(func() {
			for j := range jobs {
				if why := refusedAt(files, key, j.name, j.at, j.bit); why != "" && bad.Add(1) <= 20 {
					t.Errorf("%s, byte %d, bit %d: %s", j.name, j.at, j.bit, why)
				}
			}
		})
	}
	n := 0
	for name, f := range files {
		for at := range f.Data {
			if n++; n%stride != 0 {
				continue
			}
			for _, bit := range bits {
				jobs <- flip{name, at, bit}
				flips++
			}
		}
	}
	close(jobs)
	wg.Wait()
	return flips
}

// Every single bit of a window of at most 8 KiB.
func TestEveryBitOfASmallWindowIsRefused(t *testing.T) {
	files := publicationOf(t, tiny(t).dir)
	if _, err := audit.Audit(files, pinned(t), audit.Options{}); err != nil {
		t.Fatal(err)
	}
	n := size(files)
	if n > 8<<10 {
		t.Errorf("the window has %d bytes", n)
	}
	stride := 1
	if testing.Short() {
		stride = 17
	}
	began := time.Now()
	t.Logf("%d flips of %d bytes refused and attributed in %v", everyBit(t, files, []uint{0, 1, 2, 3, 4, 5, 6, 7}, stride), n, time.Since(began))
}

// A window with duels: one bit of every byte.
func TestABitOfEveryByteOfAWindowWithDuelsIsRefused(t *testing.T) {
	s := tiny(t, "constant s/s", "constant c/c")
	if r := s.reveal("1"); r.Crowned == "" {
		t.Fatalf("nobody was crowned: %+v", r)
	}
	files := publicationOf(t, s.dir)
	if _, err := audit.Audit(files, pinned(t), audit.Options{}); err != nil {
		t.Fatal(err)
	}
	stride := 1
	if testing.Short() {
		stride = 17
	}
	began := time.Now()
	t.Logf("%d flips of %d bytes refused and attributed in %v", everyBit(t, files, []uint{uint(rand.IntN(8))}, stride), size(files), time.Since(began))
}

// leavesOf reads the leaves of a publication's log.
func leavesOf(t testing.TB, files fs.FS) map[string]bool {
	t.Helper()
	sub, err := fs.Sub(files, publication.LogDir)
	must(t, err)
	leaves := map[string]bool{}
	_, err = tlog.Check(sub, pinned(t), tlog.CheckOptions{Each: func(_ int64, leaf []byte) error { leaves[string(leaf)] = true; return nil }})
	must(t, err)
	return leaves
}

// everyByte flips one bit of every byte of every published line and holds the line against the log, as the audit does.
func everyByte(t *testing.T, files fstest.MapFS) (flips int) {
	t.Helper()
	leaves := leavesOf(t, files)
	for name, f := range files {
		if strings.HasPrefix(name, publication.LogDir+"/") || name == publication.KeyFile || name == publication.LatestFile {
			continue
		}
		for i, line := range bytes.Split(bytes.TrimSuffix(f.Data, []byte{'\n'}), []byte{'\n'}) {
			if !leaves[string(publication.Leaf(nil, name, i+1, line))] {
				t.Fatalf("%s, line %d is not in the log", name, i+1)
			}
			text := bytes.Clone(line)
			for at := range text {
				bit := byte(1) << (flips % 8)
				text[at] ^= bit
				if leaves[string(publication.Leaf(nil, name, i+1, text))] {
					t.Fatalf("%s, line %d, byte %d: the log holds the changed line", name, i+1, at)
				}
				text[at] ^= bit
				flips++
			}
		}
	}
	return flips
}

// A window of the reference's reading of the rules is audited as well; its pool is published with all statements.
func TestACompatWindowIsAudited(t *testing.T) {
	files := publicationOf(t, tinyIn(t, "compat", "constant s/s").dir)
	if _, err := audit.Audit(files, pinned(t), audit.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d flips", everyBit(t, files, []uint{2}, 37))
}

// A worker reads the repository of its task; what it saw is published, and whoever has the repository sees it again.
func TestObservationsAreMadeAgain(t *testing.T) {
	repositories := t.TempDir()
	for _, task := range []string{"a", "b"} {
		must(t, os.MkdirAll(filepath.Join(repositories, task), 0o755))
		must(t, os.WriteFile(filepath.Join(repositories, task, "x.py"), []byte("print(2)\n"), 0o644))
	}
	verbs := []string{"READ", "LIST", "FIND"}
	s := tinyWith(t, "strict", object{"tools": verbs, "prompt": "1+1?" + reading.Invitation(verbs)}, object{"output": "READ x.py"},
		[]string{"--repositories", repositories}, "constant s/s")
	key := pinned(t).String()
	out := s.must("conductor", "audit", "owner/public", "--key", key, "--repositories", repositories)
	if !strings.Contains(out, "read again   12 observations") { // two tasks, three reads, the king's arm and the gate's
		t.Error(out)
	}
	show := s.must("conductor", "show", "owner/public", "--arm", "king", "--step", "1")
	if !strings.Contains(show, `$ READ x.py 1\n     1\tprint(2)`) || strings.Count(show, "\nrequest ") != 4 {
		t.Error(show)
	}
	must(t, os.WriteFile(filepath.Join(repositories, "b", "x.py"), []byte("print(3)\n"), 0o644))
	out, err := s.run(nil, "conductor", "audit", "owner/public", "--key", key, "--repositories", repositories)
	if err == nil || !strings.Contains(out, "DOES NOT HOLD") || !strings.Contains(out, "not the one whose digest is recorded") {
		t.Error(out)
	}
}
