package arena

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/conductor/arm"
	"assay/conductor/episode"
	"assay/conductor/window"
)

// Cheat is a line of the table.
type Cheat struct {
	Name, Tries string
	Rule        string // what stops it: an anchor of docs/threat-model.md
	Open        string // why the bar does not hold for it; "" where it does
	// Early lets it learn the very window that it is then judged on: recycled tasks.
	Early bool
	// Every plays it in one window of so many; 0: in all.
	Every int
	// Make makes the players of one market; more than one is an army, of which the best counts.
	// king is the policy that reigns. No players: the cheat does not exist in that market.
	Make func(m *Market, king *Player) []*Player
}

func one(make func(m *Market, king *Player) *Player) func(*Market, *Player) []*Player {
	return func(m *Market, king *Player) []*Player { return []*Player{make(m, king)} }
}

// says always says the same.
func says(turn string) func(*Market, *Player) []*Player {
	return one(func(*Market, *Player) *Player { return &Player{Turn: func(View) string { return turn }} })
}

// ranked lists the catalog's ids by price, the cheapest first.
func (m *Market) ranked() []string {
	var ids []string
	for _, at := range m.Snapshot.Rank() {
		ids = append(ids, m.Snapshot.At(at).ID)
	}
	return ids
}

func (m *Market) cheapest() string { return m.ranked()[0] }
func (m *Market) dearest() string  { return m.ranked()[m.Snapshot.Len()-1] }

// constant is the single model that is worth most over all tasks.
func (m *Market) constant() string {
	all := make([]int, len(m.World.Tasks))
	for i := range all {
		all[i] = i
	}
	for _, rungs := range m.best(all) {
		if len(rungs) == 1 {
			return m.World.Models[rungs[0]].ID
		}
	}
	panic("arena: a world has models")
}

// Table lists the cheats in the order in which they are printed.
func Table() []Cheat {
	return slices.Concat(constants(), grammar(), spenders(), rememberers(), copies(), clocks(), infrastructure(), armies(), openDoors())
}

func constants() []Cheat {
	return []Cheat{
		{Name: "constant best", Tries: "asks the one model that is worth most over all tasks", Rule: "margin",
			Make: one(func(m *Market, _ *Player) *Player { return ladder(m.constant()) })},
		{Name: "constant cheapest", Tries: "asks the cheapest model and stops", Rule: "exchange",
			Make: one(func(m *Market, _ *Player) *Player { return ladder(m.cheapest()) })},
		{Name: "constant dearest", Tries: "asks the dearest model and stops", Rule: "exchange",
			Make: one(func(m *Market, _ *Player) *Player { return ladder(m.dearest()) })},
		{Name: "first row", Tries: "asks the catalog's first row", Rule: "exchange",
			Make: one(func(m *Market, _ *Player) *Player { return ladder(m.Snapshot.At(0).ID) })},
		{Name: "last row", Tries: "asks the catalog's last row", Rule: "exchange",
			Make: one(func(m *Market, _ *Player) *Player { return ladder(m.Snapshot.At(m.Snapshot.Len() - 1).ID) })},
		{Name: "two-step cascade", Tries: "climbs from the cheapest to the dearest on every task", Rule: "exchange",
			Make: one(func(m *Market, _ *Player) *Player { return ladder(m.cheapest(), m.dearest()) })},
		{Name: "price oracle", Tries: "asks the dearer models for the longer statements, by the price list", Rule: "exchange",
			Make: one(func(m *Market, _ *Player) *Player {
				ids, lengths := m.ranked(), m.lengths()
				return &Player{Turn: func(v View) string {
					longer, _ := slices.BinarySearch(lengths, len(v.Text))
					return climb(ids[longer*len(ids)/len(lengths):][:1], v)
				}}
			})},
		{Name: "random", Tries: "asks a model at random and stops", Rule: "margin", Make: one(func(m *Market, _ *Player) *Player { return soldier(m, 0) })},
	}
}

func grammar() []Cheat {
	return []Cheat{
		{Name: "silent", Tries: "says nothing at all", Rule: "grammar", Make: says("")},
		{Name: "filler", Tries: "answers the task itself", Rule: "grammar", Make: says("The answer is C.")},
		{Name: "always REASON", Tries: "reasons and never acts", Rule: "grammar", Make: says("REASON let me think about it")},
		{Name: "STOP first", Tries: "stops at once and spends nothing", Rule: "paid", Make: says("STOP")},
		{Name: "nearly silent", Tries: "asks the cheapest model on one task of fifty and stops at once on the others: it has paid", Rule: "exchange",
			Make: one(func(m *Market, _ *Player) *Player {
				ids := []string{m.cheapest()}
				return &Player{Turn: func(v View) string {
					if chance(50, "nearly silent", v.Text) > 0 {
						return "STOP"
					}
					return climb(ids, v)
				}}
			})},
		{Name: "free rider", Tries: "asks the cheapest model for short statements and stops on the long, dear ones", Rule: "exchange",
			Make: one(func(m *Market, _ *Player) *Player {
				ids, half := []string{m.cheapest()}, m.medianLength()
				return &Player{Turn: func(v View) string {
					if len(v.Text) > half {
						return "STOP"
					}
					return climb(ids, v)
				}}
			})},
		{Name: "parse spammer", Tries: "two unreadable turns, then an action, over and over", Rule: "grammar",
			Make: one(func(m *Market, _ *Player) *Player {
				id := m.cheapest()
				return &Player{Turn: func(v View) string {
					if v.Step%3 != 0 {
						return "DELEGATE nobody/nothing"
					}
					return "DELEGATE " + id
				}}
			})},
		{Name: "parse-failure feigner", Tries: "plays the king's game but fumbles before and after each of its turns", Rule: "grammar",
			Make: one(func(_ *Market, king *Player) *Player {
				return &Player{Turn: func(v View) string {
					if v.Step%2 == 1 {
						return "I cannot decide."
					}
					v.Step /= 2
					return king.Turn(v)
				}}
			})},
	}
}

// lengths lists the statements' lengths in bytes, the shortest first.
func (m *Market) lengths() []int {
	var n []int
	for _, t := range m.World.Tasks {
		n = append(n, len(t.Prompt))
	}
	slices.Sort(n)
	return n
}

func (m *Market) medianLength() int { return m.lengths()[len(m.World.Tasks)/2] }

// runnerUp climbs the second-best ladder of every kind of task.
func (m *Market) runnerUp() *Player {
	plan := m.plans(m.byCue, 1)
	return &Player{Turn: func(v View) string { return climb(plan(v), v) }}
}

func spenders() []Cheat {
	return []Cheat{
		{Name: "everything", Tries: "twelve delegates over all models, solved or not", Rule: "exchange",
			Make: one(func(m *Market, _ *Player) *Player {
				ids := m.ranked()
				return &Player{Turn: func(v View) string { return "DELEGATE " + ids[(v.Step-1)%len(ids)] }}
			})},
		{Name: "history cycle", Tries: "follows the history to the next model of the catalog until one succeeds", Rule: "exchange",
			Make: one(func(m *Market, _ *Player) *Player {
				ids := m.ranked()
				return &Player{Turn: func(v View) string {
					if v.Solved {
						return "STOP"
					}
					return "DELEGATE " + ids[(v.Step-1)%len(ids)]
				}}
			})},
		{Name: "retry storm", Tries: "asks the cheapest model again until it succeeds", Rule: "exchange",
			Make: one(func(m *Market, _ *Player) *Player {
				return ladder(slices.Repeat([]string{m.cheapest()}, window.MaxSteps)...)
			})},
		{Name: "best-so-far hoarder", Tries: "plays the king's game and then goes on delegating to the end", Rule: "exchange",
			Make: one(func(m *Market, king *Player) *Player {
				id := m.cheapest()
				return &Player{Turn: func(v View) string {
					if turn := king.Turn(v); turn != "STOP" {
						return turn
					}
					return "RETRY " + id
				}}
			})},
	}
}

func rememberers() []Cheat {
	return []Cheat{
		{Name: "hash memoriser", Tries: "asks what solved the same text in the last window, else the cheapest", Rule: "fresh",
			Make: one(func(m *Market, _ *Player) *Player { return memoriser(&solvers{every: 1}, ladder(m.cheapest()).Turn) })},
		{Name: "memoriser with a crown", Tries: "the same with the king's own game as the fallback", Rule: "fresh",
			Make: one(func(_ *Market, king *Player) *Player { return memoriser(&solvers{every: 1}, king.Turn) })},
		{Name: "season memoriser", Tries: "the same with every window that was ever published", Rule: "fresh",
			Make: one(func(_ *Market, king *Player) *Player { return memoriser(&solvers{every: 1, whole: true}, king.Turn) })},
		{Name: "prefix sniffer", Tries: "asks what did best behind the same first 24 bytes in published windows, else the king's choice", Rule: "margin",
			Make: one(func(m *Market, king *Player) *Player {
				mem := &sniffer{}
				for _, x := range m.World.Models {
					mem.ids = append(mem.ids, x.ID)
				}
				mem.Forget()
				return &Player{Memory: mem, Bears: mem.knows, Turn: func(v View) string {
					if id := mem.knows(v); id != "" {
						return climb([]string{id}, v)
					}
					return king.Turn(v)
				}}
			})},
	}
}

func copies() []Cheat {
	return []Cheat{
		{Name: "copied king", Tries: "is the king", Rule: "strict", Make: one(func(_ *Market, king *Player) *Player { return &Player{Turn: king.Turn} })},
		{Name: "copied king, one change", Tries: "is the king, but asks a random model first on every task", Rule: "margin",
			Make: one(func(m *Market, king *Player) *Player { return mutant(m, king, 0, 1) })},
		{Name: "second-best king", Tries: "climbs the second-best ladder of every kind of task", Rule: "margin",
			Make: one(func(m *Market, _ *Player) *Player { return m.runnerUp() })},
		{Name: "benchmark specialist", Tries: "knows the answer key of the benchmark where that is worth most, is the king elsewhere", Rule: "breadth",
			Make: one(func(m *Market, king *Player) *Player { return m.specialist(king.Turn, m.richest(king)[:1]) })},
		{Name: "two-benchmark specialist", Tries: "knows the answer keys of the two benchmarks where that is worth most, is the king elsewhere", Rule: "median",
			Make: func(m *Market, king *Player) []*Player {
				rich := m.richest(king)
				if len(rich) < 5 {
					return nil // two are half of them
				}
				return []*Player{m.specialist(king.Turn, rich[:2])}
			}},
	}
}

func clocks() []Cheat {
	return []Cheat{
		{Name: "wall-clock staller", Tries: "climbs the second-best ladders so slowly that the arm's clock voids the rest of the slice for both arms", Rule: "clock",
			Make: one(func(m *Market, _ *Player) *Player {
				p := m.runnerUp()
				// About two and a half turns for each of three tasks in five.
				pace := 2 * arm.Clock / time.Duration(3*len(m.drawn)*m.plan.PerBenchmark)
				p.Took = func(View) time.Duration { return pace }
				return p
			})},
		{Name: "hard-task staller", Tries: "stalls whole tasks of the kinds that look hard, so that they end by their own clock", Rule: "clock",
			Make: one(func(m *Market, king *Player) *Player {
				long := 2 * m.medianLength()
				return &Player{Turn: king.Turn, Took: func(v View) time.Duration {
					if strings.HasSuffix(v.Text, levels[2]) || len(v.Text) > long {
						return episode.Clock
					}
					return 0
				}}
			})},
		{Name: "budget exhauster", Tries: "asks the dearest model on an allowance that lasts for a part of the slice", Rule: "paid", Every: 4,
			Make: one(func(m *Market, _ *Player) *Player {
				p := ladder(m.dearest())
				at, _ := m.World.Model(m.dearest())
				for i := range 40 {
					p.Budget = p.Budget.Plus(m.World.Outcome(i, at).Cost)
				}
				p.Limited = true
				return p
			})},
		{Name: "unfunded", Tries: "enters with no allowance at all: every row costs nothing", Rule: "paid", Every: 4,
			Make: one(func(m *Market, king *Player) *Player { return &Player{Turn: king.Turn, Limited: true} })},
	}
}

func infrastructure() []Cheat {
	half := func(word string, at int) bool { return chance(2, word, fmt.Sprint(at)) == 0 }
	return []Cheat{
		{Name: "served-model swap", Tries: "has the dearest model answer in the cheapest one's name on every call", Rule: "void",
			Make: one(func(m *Market, _ *Player) *Player {
				p, dear := ladder(m.cheapest()), m.modelIndex(m.dearest())
				p.Swap = func(int, int) int { return dear }
				return p
			})},
		{Name: "served-model swap, half", Tries: "the same on half of the tasks, taken blindly", Rule: "void",
			Make: one(func(m *Market, _ *Player) *Player {
				p, dear := ladder(m.cheapest()), m.modelIndex(m.dearest())
				p.Swap = func(at, model int) int {
					if half("swap", at) {
						return dear
					}
					return model
				}
				return p
			})},
		{Name: "served-model swap, where wrong", Tries: "asks the best single model, whose host lets another answer wherever it would be wrong", Rule: "void",
			Make: one(func(m *Market, _ *Player) *Player {
				p := ladder(m.constant())
				p.Swap = func(at, model int) int {
					if m.wrong(at, model) {
						return (model + 1) % len(m.World.Models)
					}
					return model
				}
				return p
			})},
		{Name: "grader breaker", Tries: "climbs the second-best ladders, and half of its answers break their graders, taken blindly", Rule: "void",
			Make: one(func(m *Market, _ *Player) *Player {
				p := m.runnerUp()
				p.Break = func(at, _ int) bool { return half("break", at) }
				return p
			})},
		{Name: "grader breaker, a fifth", Tries: "the same on a fifth of the tasks: within what an arm may void", Rule: "void",
			Make: one(func(m *Market, _ *Player) *Player {
				p := m.runnerUp()
				p.Break = func(at, _ int) bool { return chance(5, "break", fmt.Sprint(at)) == 0 }
				return p
			})},
		{Name: "grader breaker, where wrong", Tries: "asks the best single model, whose wrong answers break their graders", Rule: "void",
			Make: one(func(m *Market, _ *Player) *Player {
				p := ladder(m.constant())
				p.Break = m.wrong
				return p
			})},
	}
}

// wrong reports whether a model's answer earns less than everything.
func (m *Market) wrong(at, model int) bool { return m.worths[at*len(m.World.Models)+model] < 1 }

// models finds models by their ids.
func (m *Market) models(ids []string) []int {
	out := make([]int, len(ids))
	for i, id := range ids {
		out[i] = m.modelIndex(id)
	}
	return out
}

func (m *Market) modelIndex(id string) int {
	i, ok := m.World.Model(id)
	if !ok {
		panic("arena: the catalog is the world's")
	}
	return i
}
