package league_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"assay/chain"
	"assay/chain/fake"
)

// BenchmarkLargeWindow plays a window of LEAGUE_LARGE tasks, kills it 1000 episodes before the end of the king's arm, goes on,
// audits it, and opens one step of it. It prints figures of one run; "make large" asks for 200,000.
func BenchmarkLargeWindow(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("LEAGUE_LARGE"))
	if err != nil {
		b.Skip("a large window takes minutes: set LEAGUE_LARGE to a number of tasks, or run make large")
	}
	for range b.N {
		large(b, n)
	}
}

func large(b *testing.B, n int) {
	dir, err := os.MkdirTemp(os.Getenv("LEAGUE_DIR"), "league")
	must(b, err)
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &stage{t: b, bin: build(b, ""), dir: dir, worldDir: filepath.Join(dir, "world")}
	must(b, os.MkdirAll(s.worldDir, 0o755))
	lines(b, filepath.Join(s.worldDir, "models.json"), []object{
		{"id": "c/c", "price_in_per_mtok": .1, "price_out_per_mtok": .4, "context_length": 9000}, {"id": "s/s", "price_in_per_mtok": 3, "price_out_per_mtok": 9, "context_length": 9000},
	})
	var tasks, outcomes []object
	for i := range n {
		id, bench := fmt.Sprintf("t-%06d", i), []string{"a", "b"}[i%2]
		tasks = append(tasks, object{"task_id": id, "benchmark": bench, "prompt": fmt.Sprintf("What is %d+%d?", i, i), "reference": "2", "metric": "number"})
		outcomes = append(outcomes, object{"task_id": id, "model": "c/c", "output": "3", "score": 0, "cost_usd": .001, "input_tokens": 4, "output_tokens": 1, "ok": true},
			object{"task_id": id, "model": "s/s", "output": "2", "score": 1, "cost_usd": .01, "input_tokens": 4, "output_tokens": 1, "ok": true})
	}
	lines(b, filepath.Join(s.worldDir, "tasks.jsonl"), tasks...)
	lines(b, filepath.Join(s.worldDir, "outcomes.jsonl"), outcomes...)
	rate := object{"lam": .5, "c": .01, "flags": []string{}}
	lines(b, filepath.Join(dir, "exchange.json"), object{"king_zero": "cascade", "contrast": "always-cheapest", "exchange": object{"a": rate, "b": rate}})
	must(b, fake.Write(filepath.Join(dir, "chain.json"), &fake.State{Seed: "large", Head: 20, Parameters: chain.Parameters{WeightsRateLimit: 10, ImmunityPeriod: 200}}))
	must(b, os.MkdirAll(filepath.Join(dir, "owner"), 0o700))
	owner := s.seed("owner/owner.seed", 1)
	s.seed("owner/gateway.seed", 2)
	s.edit(func(c *fake.State) { c.Neurons = append(c.Neurons, chain.Neuron{UID: 0, Hotkey: owner, Registered: 1}) })
	s.tree("reference", "nothing")
	s.must("conductor", "reference", "build", "reference", "-o", "reference.json")
	self, err := os.Executable()
	must(b, err)
	s.must("conductor", "window", "init", "owner", "--chain", "fake:chain.json", "--origin", "league.test/conductor", "--world", "world", "--netuid", "3",
		"--genesis", "100", "--window-blocks", "50", "--windows", "1", "--per-benchmark", fmt.Sprint(n), "--minimum", "1", "--exchange", "exchange.json",
		"--reference", "reference.json", "--serve", "exec:"+self+" conductor {tree} world owner")
	s.must("conductor", "window", "commit", "owner")
	s.submit(0, miner{30, "constant c/c"})
	s.head(100)

	king := filepath.Join(dir, "owner", "private", "window", "1", "arms", "king", "episodes")
	began := time.Now()
	c := exec.Command(s.bin, "conductor", "window", "run", "owner")
	c.Dir = dir
	must(b, c.Start())
	for ended(king) < n-1000 {
		time.Sleep(time.Duration(1+n/1000) * time.Millisecond)
	}
	must(b, c.Process.Kill())
	_ = c.Wait()
	cut := ended(king)
	b.Logf("%d of %d episodes of the king's arm after %v", cut, n, time.Since(began).Round(time.Second))

	if keep := os.Getenv("LEAGUE_KEEP"); keep != "" { // to look at a cut window by hand
		must(b, os.Rename(dir, keep))
		b.Skip("kept in ", keep)
	}
	began = time.Now()
	var out bytes.Buffer
	c = exec.Command(s.bin, "conductor", "window", "run", "owner")
	c.Dir, c.Stdout, c.Stderr = dir, &out, &out
	must(b, c.Start())
	for ended(king) == cut {
		time.Sleep(5 * time.Millisecond)
	}
	resumed := time.Since(began)
	if err := c.Wait(); err != nil {
		b.Fatalf("%v\n%s", err, &out)
	}
	b.Logf("going on after the cut: first episode after %v, published after %v", resumed.Round(time.Millisecond), time.Since(began).Round(time.Second))
	b.ReportMetric(resumed.Seconds(), "resume-s")

	began = time.Now()
	report := s.must("conductor", "audit", "owner/public", "--key", pinned(b).String(), "--json")
	took := time.Since(began)
	var counts struct{ Episodes, Steps, Receipts int64 }
	must(b, unmarshal(report, &counts))
	b.Logf("audit: %d episodes, %d steps, %d receipts in %v", counts.Episodes, counts.Steps, counts.Receipts, took.Round(time.Millisecond))
	b.ReportMetric(float64(counts.Steps)/took.Seconds(), "audit-steps/s")

	step := []string{"conductor", "show", "owner/public", "--arm", "king", "--episode", strconv.Itoa(n * 61 / 100), "--step", "3"}
	began = time.Now()
	s.must(step...)
	took = time.Since(began)
	_, kib := memoryOf(b, dir, s.bin, step...)
	b.Logf("one step opened by the program in %v, %d KiB of memory", took.Round(time.Millisecond), kib)
	b.ReportMetric(took.Seconds()*1000, "show-ms")
}

// ended counts the lines of an arm's checkpoint without its header.
func ended(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	return max(0, bytes.Count(text, []byte{'\n'})-1)
}
