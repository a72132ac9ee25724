// Package arena plays degenerate and cheating Conductors over simulated windows and counts how often one takes the crown.
//
// Invariants:
//   - Nothing is decided here: slices are window.Draw's, episodes those of episode.Machine and arm.Arm, verdicts those of
//     reign.Adjudicate. Only who plays, and what a broken worker, grader or clock does to it, is made up.
//   - A Conductor sees the rendered prompt and its own memory, and nothing else of the task.
//   - The same seeds give the same table, byte for byte, whatever ran beside what.
//
// Specification: docs/cheaters.md is what it writes; docs/threat-model.md says which rule stops what.
package arena

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/conductor/catalog"
	"assay/conductor/policy"
	"assay/conductor/profile"
	"assay/conductor/score"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/conductor/world"
	"assay/core/money"
)

// Market is a world with recorded outcomes made ready for windows: catalog, prompts, first king and exchange rates.
// It is not safe for concurrent use.
type Market struct {
	Name     string
	World    *world.World
	Snapshot *catalog.Snapshot
	Renderer *state.Renderer
	Pool     score.Pool // fitted on every task of the world
	// Cue says what of a task, beside its benchmark, the learned king goes by.
	Cue func(text string) string

	plan     Plan
	refs     map[string]*Player // the reference policies by name
	contrast string             // the one that the power gate sets against the first king
	specs    []task.Spec
	drawn    []string      // benchmarks that windows draw from: scored, and large enough for a season
	pinned   []task.Pinned // by the world's index
	worths   []float64     // of every recorded answer, task by task
	known    map[cell]played
}

// cell names an episode: who plays, what of its memory bears on the task, and the task.
type cell struct {
	player *Player
	bears  string
	task   int
}

// Open makes a market. The exchange is fitted as before a season: between the cheapest policy and the first king.
func Open(name string, w *world.World, cue func(text string) string, plan Plan) (*Market, error) {
	m := &Market{Name: name, World: w, Cue: cue, plan: plan, known: map[cell]played{}}
	entries := make([]catalog.Entry, len(w.Models))
	for i, x := range w.Models {
		entries[i] = catalog.Entry{ID: x.ID, In: x.In, Out: x.Out, Context: x.Context}
	}
	var err error
	if m.Snapshot, err = catalog.New(entries, profile.Strict); err != nil {
		return nil, fmt.Errorf("freezing the catalog: %w", err)
	}
	if m.Renderer, err = state.NewRenderer(state.Instructions(), m.Snapshot, profile.Strict); err != nil {
		return nil, fmt.Errorf("freezing the catalog: %w", err)
	}
	for i, t := range w.Tasks {
		m.specs = append(m.specs, t.Spec())
		for j := range w.Models {
			s, _ := w.Worth(i, j)
			m.worths = append(m.worths, s)
		}
	}
	all, err := window.Slice("fit", m.specs)
	if err != nil {
		return nil, fmt.Errorf("pinning the pool: %w", err)
	}
	m.pinned = make([]task.Pinned, len(all))
	for _, t := range all {
		m.pinned[m.index(t)] = t
	}
	m.refs = map[string]*Player{}
	arms := map[string][]score.Row{}
	for _, name := range []string{policy.Cheapest, policy.Strongest, policy.Cascade} {
		p, err := m.reference(name)
		if err != nil {
			return nil, err
		}
		a, err := m.Play(p, all)
		if err != nil {
			return nil, err
		}
		m.refs[name], arms[name] = p, a.Rows
	}
	if m.Pool, err = score.FitPool(arms); err != nil {
		return nil, fmt.Errorf("fitting the exchange: %w", err)
	}
	if m.contrast, err = score.Contrast(arms, m.Pool.KingZero); err != nil {
		return nil, err
	}
	m.drawn = m.drawable()
	return m, nil
}

// drawable lists, by name, the benchmarks that the guards leave in scoring and that last for a season.
func (m *Market) drawable() []string {
	n := map[string]int{}
	for _, s := range m.specs {
		n[s.Benchmark]++
	}
	var out []string
	for b, rate := range m.Pool.Exchange {
		if !rate.Excluded() && n[b] >= m.plan.Season*m.plan.PerBenchmark {
			out = append(out, b)
		}
	}
	slices.Sort(out)
	return out
}

// Drawn lists, by name, the benchmarks of a window.
func (m *Market) Drawn() []string { return slices.Clone(m.drawn) }

// index returns a task's place in the world.
func (m *Market) index(t task.Pinned) int {
	i, ok := m.World.Task(t.ID())
	if !ok {
		panic("arena: a slice is drawn from its world")
	}
	return i
}

// First is the first king as a player.
func (m *Market) First() *Player { return m.refs[m.Pool.KingZero] }

// reference is a fixed policy as a player.
func (m *Market) reference(name string) (*Player, error) {
	p, err := policy.New(name, "arena", m.Snapshot)
	if err != nil {
		return nil, err
	}
	return &Player{Turn: func(v View) string { return p.Turn(v.prompt) }}, nil
}

// View is what a Conductor reads in a prompt.
type View struct {
	Benchmark string
	Text      string // of the task
	Step      int    // that is asked for, from 1
	Solved    bool   // a delegate has succeeded
	prompt    state.Prompt
}

// read takes a prompt apart, as a Conductor would that has learned its layout.
func read(p state.Prompt) View {
	v := View{prompt: p}
	v.Step, v.Solved = policy.Position(p.History())
	_, rest, _ := strings.Cut(p.String(), "\n# TASK\nbenchmark: ")
	v.Benchmark, rest, _ = strings.Cut(rest, "\n")
	_, rest, _ = strings.Cut(rest, "\n---\n")
	if i := strings.LastIndex(rest, "\n---\n\n# HISTORY\n"); i >= 0 {
		rest = rest[:i]
	}
	v.Text = rest
	return v
}

// Player is one Conductor, and what its arm meets that no honest arm would.
type Player struct {
	// Turn says what the Conductor says. It is a function of the view and of Bears.
	Turn func(View) string
	// Memory is what it carries from window to window; nil: nothing.
	Memory Memory
	// Bears is what of its memory bears on a task; nil: nothing. It reads View.Benchmark and View.Text only.
	Bears func(View) string
	// Took is how long a turn takes; nil: no time at all.
	Took func(View) time.Duration
	// Swap names the model that answers in the place of another; nil: none does.
	Swap func(task, model int) int
	// Break says that an answer breaks its grader; nil: none does.
	Break func(task, model int) bool
	// Budget is the arm's allowance, when Limited.
	Budget  money.Pico
	Limited bool
}

// Memory is what a cheat keeps of published windows.
type Memory interface {
	// Forget empties it: a season begins.
	Forget()
	// Learn takes a published window: its tasks, by their places in the world. Every model's answer to them is known.
	Learn(m *Market, tasks []int)
}
