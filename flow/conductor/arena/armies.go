package arena

import (
	"cmp"
	"slices"
	"strconv"

	"assay/conductor/score"
)

// soldiers is how many Conductors an army sends into a window.
const soldiers = 20

// soldier asks one model for each task, drawn by its number and the statement.
func soldier(m *Market, n int) *Player {
	ids := m.ranked()
	return &Player{Turn: func(v View) string {
		i := chance(len(ids), "soldier", strconv.Itoa(n), v.Text)
		return climb(ids[i:i+1], v)
	}}
}

// mutant is the king, but on one task of so many it asks a random model before the king's own choice.
func mutant(m *Market, king *Player, n, every int) *Player {
	ids := m.ranked()
	return &Player{Turn: func(v View) string {
		word := strconv.Itoa(n)
		if chance(every, "mutates", word, v.Text) > 0 {
			return king.Turn(v)
		}
		if v.Step == 1 {
			return "DELEGATE " + ids[chance(len(ids), "mutant", word, v.Text)]
		}
		v.Step--
		return king.Turn(v)
	}}
}

func army(make func(m *Market, king *Player, n int) *Player) func(*Market, *Player) []*Player {
	return func(m *Market, king *Player) []*Player {
		out := []*Player{}
		for n := range soldiers {
			out = append(out, make(m, king, n+1))
		}
		return out
	}
}

func armies() []Cheat {
	return []Cheat{
		{Name: "army of random policies", Tries: "twenty random policies in each window; the luckiest counts", Rule: "bound", Every: 4,
			Make: army(func(m *Market, _ *Player, n int) *Player { return soldier(m, n) })},
		{Name: "army of mutants", Tries: "twenty copies of the king, each with random changes to a tenth of the tasks; the luckiest counts", Rule: "bound", Every: 4,
			Make: army(func(m *Market, king *Player, n int) *Player { return mutant(m, king, n, 10) })},
	}
}

// specialist holds the answer keys of some benchmarks: there it asks the model whose answer is worth most, and stops at once
// where none is worth its price. Elsewhere it plays the given game.
func (m *Market) specialist(elsewhere func(View) string, benchmarks []string) *Player {
	key := map[string]string{}
	for at, t := range m.World.Tasks {
		if i := m.solver(at); i >= 0 && slices.Contains(benchmarks, t.Benchmark) {
			key[t.Prompt] = m.World.Models[i].ID
		}
	}
	return &Player{Turn: func(v View) string {
		if !slices.Contains(benchmarks, v.Benchmark) {
			return elsewhere(v)
		}
		if id := key[v.Text]; id != "" {
			return climb([]string{id}, v)
		}
		return "STOP"
	}}
}

// richest lists the scored benchmarks by how much their answer keys are worth against the king, the most first.
func (m *Market) richest(king *Player) []string {
	worth := map[string]float64{}
	tasks := m.group(byBenchmark)
	names := slices.Clone(m.drawn)
	for _, b := range names {
		var gain []float64
		for _, at := range tasks[b] {
			best := 0.0
			if i := m.solver(at); i >= 0 {
				best = m.worth([]int{i}, at)
			}
			gain = append(gain, best-m.kings(king, at))
		}
		worth[b] = score.Sum(gain) / float64(len(gain))
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(worth[b], worth[a]) })
	return names
}

// voider plays the second-best game and voids tasks on which the king does better: all of them, but no more than that share of the pool.
func (m *Market) voider(king *Player, share float64) *Player {
	p, plan := m.runnerUp(), m.plans(m.byCue, 1)
	behind, n := make([]bool, len(m.pinned)), 0
	for at, t := range m.pinned {
		own := m.worth(m.models(plan(View{Benchmark: t.Benchmark(), Text: t.Prompt()})), at)
		if behind[at] = own < m.kings(king, at); behind[at] {
			n++
		}
	}
	thin := int(share * float64(len(m.pinned)) / float64(max(1, n)) * 1000) // of a thousand that are behind
	p.Break = func(at, _ int) bool { return behind[at] && chance(1000, "void", strconv.Itoa(at)) < thin }
	return p
}

// kings is what the king's game is worth on a task.
func (m *Market) kings(king *Player, at int) float64 {
	e, err := m.remembered(king, m.pinned[at], 0)
	if err != nil {
		panic("arena: the king was played before: " + err.Error())
	}
	return m.price(at, e.row.Score, e.row.Spend)
}

// openDoors are the cheats for which the bar does not hold, each with the reason.
func openDoors() []Cheat {
	return []Cheat{
		{Name: "recycled tasks", Tries: "meets the very tasks that it has memorised, the king's game elsewhere", Rule: "fresh", Early: true,
			Open: "the window repeats published tasks, which its freshness record says",
			Make: one(func(_ *Market, king *Player) *Player { return memoriser(&solvers{every: 1}, king.Turn) })},
		{Name: "recycled tasks, a quarter", Tries: "meets a quarter of its tasks again", Rule: "fresh", Early: true,
			Open: "the window repeats published tasks, which its freshness record says",
			Make: one(func(_ *Market, king *Player) *Player { return memoriser(&solvers{every: 4}, king.Turn) })},
		{Name: "void where behind", Tries: "climbs the second-best ladders, and has its answer break the grader wherever the king, whose weights are public, does better", Rule: "void",
			Open: "a task that one arm voids leaves both, and nothing bounds how many may: it takes a worker or a grader that obeys the cheat",
			Make: one(func(m *Market, king *Player) *Player { return m.voider(king, 1) })},
		{Name: "void where behind, a fifth", Tries: "the same, but on no more than a fifth of the tasks: within what an arm may void", Rule: "void",
			Open: "up to the bound a cheat that owns a worker or a grader still chooses which tasks count",
			Make: one(func(m *Market, king *Player) *Player { return m.voider(king, .2) })},
		{Name: "specialist in disguise", Tries: "knows the answer keys of two benchmarks and climbs the second-best ladders elsewhere, so that luck moves them", Rule: "breadth",
			Open: "breadth and median look at point values: where a benchmark moves by luck alone they are met half of the time",
			Make: func(m *Market, king *Player) []*Player {
				rich := m.richest(king)
				if len(rich) < 5 {
					return nil
				}
				plan := m.plans(m.byCue, 1)
				return []*Player{m.specialist(func(v View) string { return climb(plan(v), v) }, rich[:2])}
			}},
		{Name: "answer keys of everything", Tries: "knows every answer: it must win, or the table would prove nothing", Rule: "margin",
			Open: "it is better: that is what the duel is for",
			Make: one(func(m *Market, king *Player) *Player { return m.specialist(king.Turn, m.drawn) })},
	}
}
