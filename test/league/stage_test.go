package league_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/chain"
	"assay/chain/fake"
	"assay/conductor/policy"
	"assay/conductor/world"
	"assay/core/sign"
	"assay/core/ss58"
)

// stage is a league in one folder.
type stage struct {
	t        testing.TB
	bin, dir string
	world    *world.World
	worldDir string
	provider *provider
}

// provider is an OpenAI-compatible endpoint that answers from a world's recorded outcomes, and bills an idempotency key once.
type provider struct {
	*httptest.Server
	mu       sync.Mutex
	prompts  map[string]int // statement to task
	asked    map[string]int // requests by idempotency key
	unnamed  int            // requests without one
	world    *world.World
	failures int
}

func newProvider(t testing.TB, w *world.World) *provider {
	p := &provider{prompts: map[string]int{}, asked: map[string]int{}, world: w}
	for i, task := range w.Tasks {
		p.prompts[task.Prompt] = i
	}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

// reset forgets what was asked.
func (p *provider) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.asked)
	p.unnamed = 0
}

// paid returns how many keys were billed, and how many requests came in beyond one a key.
func (p *provider) paid() (billed, again int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.asked {
		billed++
		again += n - 1
	}
	return billed, again
}

// ServeHTTP answers one chat completion.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Model    string
		Messages []struct{ Content string }
	}
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(text, &body)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		p.asked[key]++
	} else {
		p.unnamed++
	}
	task, ok := 0, false
	if err == nil && len(body.Messages) == 1 {
		task, ok = p.prompts[body.Messages[0].Content]
	}
	model, known := p.world.Model(body.Model)
	if !ok || !known {
		p.failures++
		http.Error(w, "no such task or model", http.StatusNotFound)
		return
	}
	o := p.world.Outcome(task, model)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"model": body.Model, "provider": "recorded",
		"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": o.Text}}},
		"usage":   map[string]any{"prompt_tokens": o.TokensIn, "completion_tokens": o.TokensOut, "cost": json.Number(string(o.Cost.AppendDollars(nil)))},
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs the program in the league's folder and returns what it printed.
func (s *stage) run(env []string, args ...string) (string, error) {
	c := exec.Command(s.bin, args...)
	c.Dir = s.dir
	c.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.String(), err
}

func (s *stage) must(args ...string) string {
	s.t.Helper()
	out, err := s.run(nil, args...)
	if err != nil {
		s.t.Fatalf("assay %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (s *stage) edit(do func(*fake.State)) {
	s.t.Helper()
	must(s.t, fake.Edit(context.Background(), filepath.Join(s.dir, "chain.json"), func(c *fake.State) error { do(c); return nil }))
}

// seed writes a key file and returns its address.
func (s *stage) seed(name string, n byte) string {
	seed := [32]byte{n}
	must(s.t, os.WriteFile(filepath.Join(s.dir, name), fmt.Appendf(nil, "%x\n", seed), 0o600))
	return ss58.Encode(sign.NewEd25519(seed).Public())
}

// tree writes a model tree whose Conductor plays as the words say.
func (s *stage) tree(name, plays string) string {
	dir := filepath.Join(s.dir, name)
	must(s.t, os.MkdirAll(dir, 0o755))
	header := `{"w":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}}`
	weights := string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + (name + strings.Repeat("\x00", 8))[:8]
	for file, text := range map[string]string{
		"config.json": fmt.Sprintf(`{"model_type":"toy","plays":%q}`, plays), "tokenizer.json": "{}", "tokenizer_config.json": "{}", "w.safetensors": weights,
	} {
		must(s.t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	}
	return dir
}

// miner is a Conductor that is handed in at a block.
type miner struct {
	block int64
	plays string
}

// form is the size of a league.
type form struct {
	perBenchmark int
	benchmarks   string // "" for all that have enough tasks
	minimum      int
	seed         string // of the chain
	kingZero     string // who reigns at first; the other of the two extremes is its contrast
}

// newStage sets a league up: chain and owner. What is left is to submit and to run the windows.
//
// The exchange is fitted on the cascade, but one of the two constant policies reigns at first: the power gate can tell them
// apart, because of the two models the cheap one is the better one on most benchmarks.
func newStage(t testing.TB, bin string, f form) *stage {
	t.Helper()
	if _, err := os.Stat(data); err != nil {
		t.Skip("the recorded outcomes of routerarena are needed beside the project, in ../shared")
	}
	worldDir, err := filepath.Abs(data)
	must(t, err)
	w, defects := world.Read(os.DirFS(worldDir))
	if w == nil {
		t.Fatal(world.Err(defects))
	}
	s := &stage{t: t, bin: bin, dir: t.TempDir(), world: w, worldDir: worldDir, provider: newProvider(t, w)}
	must(t, fake.Write(filepath.Join(s.dir, "chain.json"), &fake.State{
		Seed: f.seed, Head: 20, Parameters: chain.Parameters{WeightsRateLimit: 10, ImmunityPeriod: 200},
	}))
	must(t, os.MkdirAll(filepath.Join(s.dir, "owner"), 0o700))
	owner := s.seed("owner/owner.seed", 1)
	s.seed("owner/gateway.seed", 2)
	s.edit(func(c *fake.State) { c.Neurons = append(c.Neurons, chain.Neuron{UID: 0, Hotkey: owner, Registered: 1}) })
	s.tree("reference", "nothing")
	s.must("conductor", "reference", "build", "reference", "-o", "reference.json")
	self, err := os.Executable()
	must(t, err)
	args := []string{
		"conductor", "window", "init", "owner", "--chain", "fake:chain.json", "--origin", "league.test/conductor", "--world", worldDir, "--netuid", "3",
		"--genesis", "100", "--window-blocks", "50", "--windows", "5", "--per-benchmark", fmt.Sprint(f.perBenchmark), "--minimum", fmt.Sprint(f.minimum),
		"--reference", "reference.json", "--serve", "exec:" + self + " conductor {tree} " + worldDir + " " + filepath.Join(s.dir, "owner"),
		"--workers", s.provider.URL, "--idempotent", "--concurrency", "4",
	}
	if f.benchmarks != "" {
		args = append(args, "--benchmarks", f.benchmarks)
	}
	s.must("conductor", "window", "init", "fitted", "--chain", "fake:chain.json", "--origin", "x", "--world", worldDir, "--minimum", "10",
		"--per-benchmark", "10", "--benchmarks", strings.Join(s.benchmarks(f), ","))
	s.exchange(f.kingZero, "fitted/owner.json", "exchange.json")
	s.must(append(args, "--exchange", "exchange.json")...)
	s.must("conductor", "window", "commit", "owner")
	return s
}

// benchmarks lists the benchmarks that are played.
func (s *stage) benchmarks(f form) []string {
	if f.benchmarks != "" {
		return strings.Split(f.benchmarks, ",")
	}
	n := map[string]int{}
	for _, task := range s.world.Tasks {
		n[task.Benchmark]++
	}
	var out []string
	for b, k := range n {
		if k >= 10 {
			out = append(out, b)
		}
	}
	slices.Sort(out)
	return out
}

// exchange writes the rates of a fitted season into a file, with other reference policies.
func (s *stage) exchange(king, from, to string) {
	var c struct {
		Season struct {
			Exchange json.RawMessage `json:"exchange"`
		} `json:"season"`
	}
	text, err := os.ReadFile(filepath.Join(s.dir, from))
	must(s.t, err)
	must(s.t, json.Unmarshal(text, &c))
	contrast := map[string]string{policy.Cheapest: policy.Strongest, policy.Strongest: policy.Cheapest}[king]
	text, err = json.Marshal(map[string]any{"king_zero": king, "contrast": contrast, "exchange": c.Season.Exchange})
	must(s.t, err)
	must(s.t, os.WriteFile(filepath.Join(s.dir, to), text, 0o644))
}

// submit registers a miner and hands its Conductor in at a block.
func (s *stage) submit(i int, m miner) (hotkey string) {
	s.t.Helper()
	hotkey = s.seed(fmt.Sprintf("miner%d.seed", i), byte(10+i))
	s.edit(func(c *fake.State) {
		c.Head = m.block
		c.Neurons = append(c.Neurons, chain.Neuron{UID: 1 + i, Hotkey: hotkey, Registered: m.block})
	})
	s.tree(fmt.Sprintf("tree%d", i), m.plays)
	s.must("conductor", "submit", fmt.Sprintf("tree%d", i), "--bucket", "owner/bucket", "--hotkey", fmt.Sprintf("miner%d.seed", i),
		"--chain", "fake:chain.json", "--netuid", "3", "--reference", "reference.json")
	return hotkey
}

// head moves the chain on.
func (s *stage) head(block int64) { s.edit(func(c *fake.State) { c.Head = block }) }
