// Package score turns an arm's rows into one number: quality, less what it cost at the window's exchange rate.
//
// Invariants:
//   - The denominator of every mean is the full list of rows it is given: no row is skipped because it scored nothing.
//   - Every benchmark weighs the same, whatever its number of tasks.
//   - Sums are exactly rounded, so the order of rows never changes a bit.
//   - A benchmark without a rate is refused. It is never a silent zero and never a silent one.
//
// Format: docs/spec/score.md.
package score

import (
	"cmp"
	"slices"

	"assay/conductor"
	"assay/conductor/ending"
	"assay/core/fault"
)

// Row is one episode's result in one arm.
type Row struct {
	TaskID    string
	Benchmark string
	Score     float64 // the best grade, 0 to 1
	Spend     float64 // dollars that the arm's workers cost, replays included
	Ending    ending.Ending
	Group     string // cluster of tasks that stand or fall together, for instance a repository; "" for none
}

// Task is one task of a window's slice as scoring sees it.
type Task struct {
	ID        string
	Benchmark string
	Group     string // "" for none
}

// Line is an arm's account on one benchmark.
type Line struct {
	Benchmark string
	N         int     // rows
	Quality   float64 // mean score
	Spend     float64 // mean dollars per task
	Final     float64 // quality - lambda * spend / C
}

// Exclusion is a benchmark that is left out of scoring, and why.
type Exclusion struct {
	Benchmark string
	Flags     []Flag
}

// Card is an arm's account: a line per scored benchmark in name order and their plain means.
type Card struct {
	Lines    []Line
	Quality  float64
	Final    float64
	Excluded []Exclusion // in name order
}

// N is the number of rows that the card stands on: those of benchmarks that are not excluded.
func (c Card) N() int {
	n := 0
	for _, l := range c.Lines {
		n += l.N
	}
	return n
}

// Of scores an arm. It refuses no rows, a score outside 0 to 1, a spend that is no number of dollars, a benchmark
// without a rate, and an arm of which every benchmark is excluded.
func Of(rows []Row, exchange Exchange) (Card, error) {
	if len(rows) == 0 {
		return Card{}, conductor.NoEpisodes.With()
	}
	columns, err := split(rows)
	if err != nil {
		return Card{}, err
	}
	var card Card
	for _, c := range columns {
		rate, err := exchange.Rate(c.benchmark)
		if err != nil {
			return Card{}, err
		}
		if rate.Excluded() {
			card.Excluded = append(card.Excluded, Exclusion{c.benchmark, rate.Flags})
			continue
		}
		line := Line{Benchmark: c.benchmark, N: len(c.scores), Quality: mean(c.scores), Spend: mean(c.spends)}
		line.Final = rate.Final(line.Quality, line.Spend)
		card.Lines = append(card.Lines, line)
	}
	if len(card.Lines) == 0 {
		return Card{}, conductor.AllExcluded.With()
	}
	card.Quality = meanOf(card.Lines, func(l Line) float64 { return l.Quality })
	card.Final = meanOf(card.Lines, func(l Line) float64 { return l.Final })
	return card, nil
}

// Raw is an arm's account without an exchange rate: quality and spend of every benchmark, and the plain mean of each.
// Finals are zero. It refuses what Of refuses of rows.
func Raw(rows []Row) (card Card, meanSpend float64, err error) {
	if len(rows) == 0 {
		return Card{}, 0, conductor.NoEpisodes.With()
	}
	columns, err := split(rows)
	if err != nil {
		return Card{}, 0, err
	}
	for _, c := range columns {
		card.Lines = append(card.Lines, Line{Benchmark: c.benchmark, N: len(c.scores), Quality: mean(c.scores), Spend: mean(c.spends)})
	}
	card.Quality = meanOf(card.Lines, func(l Line) float64 { return l.Quality })
	return card, meanOf(card.Lines, func(l Line) float64 { return l.Spend }), nil
}

// Oracle returns, for each place of the arms' aligned rows, the row that is worth most at the exchange rate, or an empty one
// where every row is worth less than nothing: a bound that no policy with one delegate for each task can pass.
// Where a benchmark is not scored, quality decides and then the smaller spend.
func Oracle(arms [][]Row, exchange Exchange) []Row {
	if len(arms) == 0 {
		return nil
	}
	best := slices.Clone(arms[0])
	for i := range best {
		rate := exchange[best[i].Benchmark]
		best[i].Score, best[i].Spend = 0, 0
		for _, arm := range arms {
			if better(arm[i], best[i], rate) {
				best[i] = arm[i]
			}
		}
	}
	return best
}

func better(a, b Row, rate Rate) bool {
	if !rate.Excluded() && rate.C > 0 {
		return rate.Final(a.Score, a.Spend) > rate.Final(b.Score, b.Spend)
	}
	return a.Score > b.Score || a.Score == b.Score && a.Spend < b.Spend
}

// column holds one benchmark's rows as columns.
type column struct {
	benchmark      string
	scores, spends []float64
}

// split sorts rows into columns, one for each benchmark, in name order.
func split(rows []Row) ([]column, error) {
	at := map[string]int{}
	var columns []column
	for _, r := range rows {
		if err := r.Check(); err != nil {
			return nil, err
		}
		i, ok := at[r.Benchmark]
		if !ok {
			i = len(columns)
			at[r.Benchmark] = i
			columns = append(columns, column{benchmark: r.Benchmark})
		}
		columns[i].scores = append(columns[i].scores, r.Score)
		columns[i].spends = append(columns[i].spends, r.Spend)
	}
	slices.SortFunc(columns, func(a, b column) int { return cmp.Compare(a.benchmark, b.benchmark) })
	return columns, nil
}

// Check refuses a row whose numbers are not a grade and dollars.
func (r Row) Check() error {
	if !(r.Score >= 0 && r.Score <= 1) {
		return conductor.BadGrade.With(fault.Str("task", r.TaskID), fault.Float("score", r.Score))
	}
	if !dollars(r.Spend) {
		return conductor.BadCost.With(fault.Str("task", r.TaskID), fault.Float("spend", r.Spend))
	}
	return nil
}
