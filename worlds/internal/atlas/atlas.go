// Package atlas makes the small world that comes with the program: 96 tasks of eight benchmarks and what four
// imagined models answered.
//
// Invariants:
//   - World is a function of nothing: it gives the same world on every machine and at every time.
//   - Every reference is computed from its puzzle, and every recorded score is what the task's metric gives.
//   - No model is best everywhere, and benchmark and wording tell which one to ask: a policy that reads the task
//     earns more than any that does not.
package atlas

import (
	"fmt"

	"assay/conductor/grade"
	"assay/conductor/world"
)

// perBenchmark is how many tasks a benchmark has: a third of them easy, a third medium, a third hard.
const perBenchmark = 12

// The levels of a task. The closing words of a prompt tell the level.
const (
	easy = iota
	medium
	hard
)

var closings = [...]string{easy: "Answer briefly.", medium: "Explain in one sentence.", hard: "Show your working."}

// puzzle is a task before it is numbered.
type puzzle struct {
	question string
	answer   string // the reference: for mcq_accuracy a letter
	working  string // how the answer is found, in a sentence or two
	wrong    string // a likely wrong answer of the same form
}

// benchmark is a kind of task, and which of its tasks each model solved.
type benchmark struct {
	name, metric string
	make         func(d *draw, level, i int) puzzle // i counts within the level
	solved       [4]string                          // by model, easy|medium|hard: 1 solved, 0 not, x the call failed
}

var benchmarks = []benchmark{
	{"arithmetic", grade.Number, arithmetic, [4]string{"1111|1100|0000", "1001|0100|0000", "1111|1111|0000", "1111|1110|1111"}},
	{"ciphers", grade.ExactMatch, ciphers, [4]string{"1000|0000|0000", "1111|1010|0000", "1101|1111|0110", "1111|1110|1101"}},
	{"dates", grade.ExactMatch, dates, [4]string{"1111|0010|0000", "1101|1111|0010", "1101|0100|0000", "1111|1110|1101"}},
	{"grammar", grade.MCQ, grammar, [4]string{"1101|0000|0000", "1111|1111|1111", "1011|0100|0000", "1111|1100|0110"}},
	{"ordering", grade.MCQ, ordering, [4]string{"1111|0100|0000", "1001|0110|0000", "1111|1111|1011", "1111|1101|11x1"}},
	{"sequences", grade.FinalNumber, sequences, [4]string{"1111|1000|0000", "0011|0010|0000", "1111|1111|0000", "1111|1101|1111"}},
	{"units", grade.Number, units, [4]string{"1110|0100|0000", "1101|1010|0001", "1110|1111|1100", "1111|1011|1110"}},
	{"words", grade.ExactMatch, words, [4]string{"1010|0000|000x", "1111|1111|1100", "0110|1000|0000", "1111|1101|1011"}},
}

var models = []world.Model{
	{ID: "atlas/sprint-mini", In: 0.1, Out: 0.4, Context: 32768},
	{ID: "atlas/breeze-base", In: 0.6, Out: 2.4, Context: 128000},
	{ID: "atlas/forge-pro", In: 1.5, Out: 6, Context: 128000},
	{ID: "atlas/summit-max", In: 5, Out: 25, Context: 200000},
}

// World returns the world.
func World() (*world.World, error) {
	var b world.Builder
	var at world.Place
	for _, m := range models {
		b.AddModel(at, m.ID, &m.In, &m.Out, m.Context)
	}
	var outcomes []world.Recorded
	for _, bench := range benchmarks {
		for n := range perBenchmark {
			level, i := n/(perBenchmark/3), n%(perBenchmark/3)
			id := fmt.Sprintf("%s-%02d", bench.name, n+1)
			p := bench.make(&draw{seed: id}, level, i)
			prompt := p.question + "\n" + formats[bench.metric] + " " + closings[level]
			b.AddTask(at, world.Task{ID: id, Benchmark: bench.name, Prompt: prompt, Reference: p.answer, Metric: bench.metric})
			for m := range models {
				outcomes = append(outcomes, bench.outcome(id, prompt, p, m, bench.solved[m][level*5+i]))
			}
		}
	}
	for _, o := range outcomes {
		b.AddOutcome(at, o)
	}
	w, defects := b.Done()
	return w, world.Err(defects)
}

// outcome makes what model m did with the task, and grades it.
func (bench benchmark) outcome(id, prompt string, p puzzle, m int, solved byte) world.Recorded {
	o := world.Recorded{TaskID: id, Model: models[m].ID, OK: solved != 'x', Score: new(float64), Cost: new(float64)}
	if !o.OK {
		o.Failure = "status 503 after three attempts"
		return o
	}
	o.Text = answerText(&draw{seed: id + "|" + o.Model}, bench.metric, p, m, solved == '1')
	score, ok := grade.Mark(bench.metric, p.answer, o.Text)
	if !ok || score != float64(solved-'0') {
		panic(fmt.Sprintf("atlas: %s by %s grades to %v: %s", id, o.Model, score, o.Text))
	}
	in, out := promptOverhead+world.EstimateTokens(prompt), world.EstimateTokens(o.Text)
	*o.Score, *o.Cost = score, models[m].ListPrice(in, out).Dollars()
	o.TokensIn, o.TokensOut = &in, &out
	return o
}

// promptOverhead is the tokens that a chat's frame adds to a prompt.
const promptOverhead = 7
