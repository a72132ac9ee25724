package arena

import (
	"slices"

	"assay/conductor/score"
)

// climb says the next rung of a ladder of models: the first is delegated to, the others are retried, and it stops when
// something has succeeded or nothing is left.
func climb(rungs []string, v View) string {
	switch {
	case v.Solved || v.Step > len(rungs):
		return "STOP"
	case v.Step == 1:
		return "DELEGATE " + rungs[0]
	}
	return "RETRY " + rungs[v.Step-1]
}

// ladder is the player that climbs the same rungs on every task.
func ladder(rungs ...string) *Player {
	return &Player{Turn: func(v View) string { return climb(rungs, v) }}
}

// maxRungs is the longest ladder that the learned king considers.
const maxRungs = 3

// ladders lists every sequence of up to maxRungs distinct models, the empty one first.
func (m *Market) ladders() [][]int {
	out := [][]int{nil}
	for at := 0; at < len(out) && len(out[at]) < maxRungs; at++ {
		for i := range m.World.Models {
			if !slices.Contains(out[at], i) {
				out = append(out, append(slices.Clone(out[at]), i))
			}
		}
	}
	return out
}

// worth is the final of a ladder on one task: what its rungs earn and cost.
func (m *Market) worth(rungs []int, at int) float64 {
	quality, spend := 0.0, 0.0
	for _, i := range rungs {
		s := m.worths[at*len(m.World.Models)+i]
		spend += m.World.Outcome(at, i).Cost.Dollars()
		if quality = max(quality, s); quality >= 1 {
			break
		}
	}
	return m.price(at, quality, spend)
}

// price is what a task's result counts at the exchange rate; where the benchmark is not scored, quality alone.
func (m *Market) price(at int, quality, spend float64) float64 {
	rate := m.Pool.Exchange[m.World.Tasks[at].Benchmark]
	if rate.Excluded() {
		return quality
	}
	return rate.Final(quality, spend)
}

// best returns the ladders in the order of their worth over the tasks, the best first. Of equals the shorter comes first.
func (m *Market) best(tasks []int) [][]int {
	type standing struct {
		rungs []int
		worth float64
	}
	var all []standing
	for _, rungs := range m.ladders() {
		finals := make([]float64, len(tasks))
		for i, at := range tasks {
			finals[i] = m.worth(rungs, at)
		}
		all = append(all, standing{rungs, score.Sum(finals)})
	}
	slices.SortStableFunc(all, func(a, b standing) int {
		switch {
		case a.worth > b.worth:
			return -1
		case a.worth < b.worth:
			return 1
		}
		return 0
	})
	out := make([][]int, len(all))
	for i, s := range all {
		out[i] = s.rungs
	}
	return out
}

// ids names models.
func (m *Market) ids(models []int) []string {
	out := make([]string, len(models))
	for i, x := range models {
		out[i] = m.World.Models[x].ID
	}
	return out
}

// group sorts the world's tasks by a key of benchmark and text.
func (m *Market) group(key func(benchmark, text string) string) map[string][]int {
	out := map[string][]int{}
	for i, t := range m.World.Tasks {
		k := key(t.Benchmark, t.Prompt)
		out[k] = append(out[k], i)
	}
	return out
}

// byCue is what the learned king knows tasks by.
func (m *Market) byCue(benchmark, text string) string { return benchmark + "|" + m.Cue(text) }

// plans gives every kind of task the ladder at that place of the order of worth, 0 the best.
func (m *Market) plans(key func(benchmark, text string) string, place int) func(View) []string {
	plan := map[string][]string{}
	for k, tasks := range m.group(key) {
		plan[k] = m.ids(m.best(tasks)[place])
	}
	return func(v View) []string { return plan[key(v.Benchmark, v.Text)] }
}

// Learned is the honest king: for every benchmark and cue it climbs the ladder that is worth most over all tasks of the kind.
func (m *Market) Learned() *Player {
	plan := m.plans(m.byCue, 0)
	return &Player{Turn: func(v View) string { return climb(plan(v), v) }}
}

// byBenchmark knows tasks by their benchmark alone.
func byBenchmark(benchmark, _ string) string { return benchmark }

// Gap is how much more the best ladder for each benchmark is worth than an arm over the whole pool: as a mean over the drawn
// benchmarks, and at its worst on one of them. A king is sound where the worst is nothing: nobody beats it on any benchmark by
// knowing the benchmark's name alone.
func (m *Market) Gap(rows []score.Row) (mean, worst float64) {
	finals := map[string][]float64{}
	for _, r := range rows {
		at, _ := m.World.Task(r.TaskID)
		finals[r.Benchmark] = append(finals[r.Benchmark], m.price(at, r.Score, r.Spend))
	}
	n := 0
	tasks := m.group(byBenchmark)
	for _, b := range m.drawn {
		lead := make([]float64, len(tasks[b]))
		top := m.best(tasks[b])[0]
		for i, at := range tasks[b] {
			lead[i] = m.worth(top, at)
		}
		d := (score.Sum(lead) - score.Sum(finals[b])) / float64(len(lead))
		mean, worst, n = mean+d, max(worst, d), n+1
	}
	return mean / float64(n), worst
}
