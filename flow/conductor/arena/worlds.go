package arena

import (
	"fmt"
	"strings"

	"assay/conductor/grade"
	"assay/conductor/world"
	"assay/core/digest"
)

// Recipe is a made-up world. Answers are drawn by hash: a model solves a task when a number that half belongs to the task and half
// to the model's attempt falls below the model's chance at tasks of that benchmark and level.
type Recipe struct {
	Name       string
	Says       string // what the world is like
	Benchmarks int
	Tasks      int // of each benchmark
	// Chance is a model's chance in percent at a benchmark's tasks of a level, 0 (easy) to 2.
	Chance func(model, benchmark, level int) int
	Prices []int // what a call of each model costs in millionths of a dollar, give or take two fifths by the task's length
}

// Edge is by how many points Level's best model is better than the next: the margin and two points.
const Edge = 7

// Level is a world of four models, of which the two dearest cost the same and one is better than the other by Edge points on
// every benchmark.
func Level(benchmarks, tasks int) Recipe {
	return Recipe{
		Name: "level", Says: "two models of equal cost, one of them better by seven points everywhere", Benchmarks: benchmarks, Tasks: tasks,
		Prices: []int{40, 110, 400, 400},
		Chance: func(model, benchmark, level int) int {
			return [...]int{42, 50, 60, 60 + Edge}[model] - 8*level - benchmark%3
		},
	}
}

// levels close a statement, so that who reads the task can tell what it will take.
var levels = [3]string{"Answer briefly.", "Explain in one sentence.", "Show your working."}

// five are the prices of five models.
var five = []int{40, 110, 320, 900, 2600}

// LevelOf reads the level's closing words.
func LevelOf(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// Ladder is a world in which price buys quality and the statement tells how much is needed.
func Ladder(tasks int) Recipe {
	return Recipe{
		Name: "ladder", Says: "six benchmarks in which price buys quality", Benchmarks: 6, Tasks: tasks, Prices: five,
		Chance: func(model, benchmark, level int) int {
			return min(97, max(3, 72+8*model-(24-4*model)*level-3*(benchmark%3)))
		},
	}
}

// Niches is a world in which each model has benchmarks of its own.
func Niches(tasks int) Recipe {
	return Recipe{
		Name: "niches", Says: "eight benchmarks, each with a model that is good at it beyond its price", Benchmarks: 8, Tasks: tasks, Prices: five,
		Chance: func(model, benchmark, level int) int {
			p := 55 + 7*model - (16-2*model)*level
			if model == benchmark%4 {
				p += 22
			}
			return min(96, max(3, p))
		},
	}
}

// Pair is a world of two benchmarks.
func Pair(tasks int) Recipe {
	r := Ladder(tasks)
	r.Name, r.Says, r.Benchmarks = "pair", "two benchmarks in which price buys quality", 2
	return r
}

// World makes an edition of the world.
func (r Recipe) World(edition int) (*world.World, error) {
	var b world.Builder
	var at world.Place
	for i, p := range r.Prices {
		in, out := float64(p)/1000, float64(p)/250
		b.AddModel(at, modelID(i), &in, &out, 65536)
	}
	type key struct{ benchmark, n int }
	var keys []key
	for j := range r.Benchmarks {
		for n := range r.Tasks {
			id := r.taskID(edition, j, n)
			b.AddTask(at, world.Task{
				ID: id, Benchmark: r.benchmark(j), Metric: grade.MCQ, Reference: "C",
				Prompt: fmt.Sprintf("Choose, in subject number %d.\nCase %s: which option holds?\n%s", j+1, digest.HexOfBytes([]byte(id))[:16], levels[n%3]),
			})
			keys = append(keys, key{j, n})
		}
	}
	b.Recorded(r.Name)
	for _, k := range keys {
		for i := range r.Prices {
			b.AddOutcome(at, r.outcome(edition, i, k.benchmark, k.n))
		}
	}
	w, defects := b.Done()
	return w, world.Err(defects)
}

func (r Recipe) taskID(edition, benchmark, n int) string {
	return fmt.Sprintf("%s-%d-%d-%d", r.Name, edition, benchmark+1, n)
}

func (r Recipe) benchmark(i int) string { return fmt.Sprintf("%s-%d", r.Name, i+1) }

func modelID(i int) string { return [...]string{"m/ant", "m/bee", "m/crow", "m/deer", "m/elk"}[i] }

// outcome draws what a model did with a task.
func (r Recipe) outcome(edition, model, benchmark, n int) world.Recorded {
	id := r.taskID(edition, benchmark, n)
	own := chance(10000, "attempt", id, modelID(model))
	if chance(2, "shared", id, modelID(model)) == 0 {
		own = chance(10000, "task", id)
	}
	o := world.Recorded{TaskID: id, Model: modelID(model), OK: true, Text: "Answer: A", Score: new(float64), Cost: new(float64)}
	if own < 100*r.Chance(model, benchmark, n%3) {
		o.Text, *o.Score = "Answer: C", 1
	}
	*o.Cost = float64(r.Prices[model]) * float64(600+chance(800, "length", id)) / 1e9
	in, out := int64(100), int64(100)
	o.TokensIn, o.TokensOut = &in, &out
	return o
}

// Families returns the world with every benchmark named by what stands before its first '_' or '-', so that the parts of one
// benchmark are one benchmark.
func Families(w *world.World) *world.World {
	out := *w
	out.Tasks = append([]world.Task(nil), w.Tasks...)
	for i := range out.Tasks {
		if j := strings.IndexAny(out.Tasks[i].Benchmark, "_-"); j > 0 {
			out.Tasks[i].Benchmark = out.Tasks[i].Benchmark[:j]
		}
	}
	return &out
}
