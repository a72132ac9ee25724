// Package league_test plays a league with the real programs: an owner, miners, a provider, and a stranger who audits. In a
// small form the owner is killed at every write and must end in the same publication.
package league_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "assay/cli" // the binary is built from it: what changes there makes these tests run again
	"assay/conductor/publication"
	"assay/conductor/world"
)

// data is a world of real tasks with real models' recorded answers.
const data = "../../../shared/data/routerarena"

func TestMain(m *testing.M) {
	if len(os.Args) > 4 && os.Args[1] == "conductor" {
		os.Exit(conductor(os.Args[2], os.Args[3], os.Args[4]))
	}
	os.Exit(m.Run())
}

// conductor is a submission as it is served: it plays what its tree's config says. world is what an honest one never sees:
// the recorded outcomes. owner is the owner's folder, whose publication everybody sees.
func conductor(tree, worldDir, owner string) int {
	c, err := newPlayer(tree, worldDir, owner)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 4<<20)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var turn struct {
			Prompt string `json:"prompt"`
			TaskID string `json:"task_id"`
			Step   int    `json:"step"`
		}
		if err := json.Unmarshal(in.Bytes(), &turn); err != nil {
			return 1
		}
		text := "STOP"
		if turn.Step == 1 {
			text = "DELEGATE " + c.model(turn.Prompt, turn.TaskID)
		}
		if err := out.Encode(map[string]string{"text": text}); err != nil {
			return 1
		}
	}
	return 0
}

// player is a Conductor's mind.
type player struct {
	word, arg string
	world     *world.World
	rates     publication.Rules
	solved    map[string]string // sha256 of a statement to the model that solved it in a published window
}

func newPlayer(tree, worldDir, owner string) (*player, error) {
	text, err := os.ReadFile(filepath.Join(tree, "config.json"))
	if err != nil {
		return nil, err
	}
	var c struct{ Plays string }
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	p := &player{solved: map[string]string{}}
	p.word, p.arg, _ = strings.Cut(c.Plays, " ")
	switch p.word {
	case "oracle":
		var defects []world.Defect
		if p.world, defects = world.Read(os.DirFS(worldDir)); p.world == nil {
			return nil, world.Err(defects)
		}
		var settings struct{ Season publication.Rules }
		text, err := os.ReadFile(filepath.Join(owner, "owner.json"))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &settings); err != nil {
			return nil, err
		}
		p.rates = settings.Season
	case "memoriser":
		return p, p.memorise(filepath.Join(owner, "public"))
	}
	return p, nil
}

// memorise reads who solved what in the published windows.
func (p *player) memorise(public string) error {
	files, err := filepath.Glob(filepath.Join(public, "window", "*", "arms", "*", "0*.jsonl"))
	if err != nil {
		return err
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			var e struct {
				Statement string `json:"task_sha256"`
				Steps     []struct {
					Model   string `json:"model_id"`
					Success bool   `json:"success"`
				} `json:"steps"`
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				return err
			}
			for _, s := range e.Steps {
				if s.Success {
					p.solved[e.Statement] = s.Model
				}
			}
		}
	}
	return nil
}

func (p *player) model(prompt, task string) string {
	switch p.word {
	case "oracle":
		return p.best(task)
	case "memoriser":
		_, rest, _ := strings.Cut(prompt, "\n---\n")
		statement, _, _ := strings.Cut(rest, "\n---\n\n# HISTORY")
		if m, ok := p.solved[fmt.Sprintf("%x", sha256.Sum256([]byte(statement)))]; ok {
			return m
		}
	}
	return p.arg
}

// best is the model whose recorded answer is worth most.
func (p *player) best(task string) string {
	i, _ := p.world.Task(task)
	rates := p.rates.Rates()
	best, top := "", -1e9
	for m, model := range p.world.Models {
		worth, _ := p.world.Worth(i, m)
		if f := rates[p.world.Tasks[i].Benchmark].Final(worth, p.world.Outcome(i, m).Cost.Dollars()); f > top {
			best, top = model.ID, f
		}
	}
	return best
}

// build builds the program, with the given build tags.
func build(t testing.TB, tags string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "assay")
	c := exec.Command("go", "build", "-tags", tags, "-o", bin, "assay/cmd/assay")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}
