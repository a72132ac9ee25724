package arena

import (
	"fmt"
	"sync"

	"assay/conductor/ending"
	"assay/conductor/power"
	"assay/conductor/reign"
	"assay/conductor/score"
)

// Strength is a size that package power names, put to the test.
type Strength struct {
	Benchmarks int
	Measured   string // what the noise was measured on
	Size       int    // tasks of a benchmark that power names for Edge
	Windows    int
	Won        int     // windows won by the policy that is better by Edge
	MeanDelta  float64 // of it
	WonQuarter int     // windows of a quarter of the size
}

// Strengths measures noise on one edition of the world in which a policy is better by the margin and two points, asks what size
// of slice resolves that, and counts how many of so many windows the policy wins, each window with tasks of its own that the
// measurement never saw. A quarter of the size stands beside it.
func Strengths(benchmarks, windows, width int) ([]Strength, error) {
	const pool = 1000
	r := Level(benchmarks, pool)
	w, err := r.World(0)
	if err != nil {
		return nil, err
	}
	m, err := Open(r.Name, w, LevelOf, Plan{Season: 1, PerBenchmark: pool})
	if err != nil {
		return nil, err
	}
	said, noises, err := m.noises()
	if err != nil {
		return nil, err
	}
	var out []Strength
	for i, noise := range noises {
		s := Strength{Benchmarks: benchmarks, Measured: said[i], Windows: windows}
		if s.Size, err = power.SizeFor(noise, Edge/100.); err != nil {
			return nil, err
		}
		var sum float64
		if s.Won, sum, err = r.win(m.Pool.Exchange, s.Size, windows, width); err != nil {
			return nil, err
		}
		s.MeanDelta = sum / float64(windows)
		if s.WonQuarter, _, err = r.win(m.Pool.Exchange, s.Size/4, windows, width); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// noises measures the pairs that an owner has at hand: the power gate's two arms, the noisiest pair of all reference arms, and a
// king with a challenger of a past window.
func (m *Market) noises() (said []string, out [][]power.Noise, err error) {
	gate, err := m.noise(m.First(), m.refs[m.contrast])
	if err != nil {
		return nil, nil, err
	}
	pairs := [][]power.Noise{gate}
	for _, other := range []string{score.Cheapest, m.Pool.KingZero} {
		n, err := m.noise(m.refs[other], m.refs[score.Strongest])
		if err != nil {
			return nil, nil, err
		}
		pairs = append(pairs, n)
	}
	ids := m.ranked()
	past, err := m.noise(ladder(ids[len(ids)-2]), ladder(ids[len(ids)-1]))
	if err != nil {
		return nil, nil, err
	}
	return []string{"the power gate's two arms", "the noisiest pair of reference arms", "a past window's king and challenger"},
		[][]power.Noise{gate, power.Worst(pairs...), past}, nil
}

// noise measures two players over the whole pool.
func (m *Market) noise(a, b *Player) ([]power.Noise, error) {
	var rows [2][]score.Row
	for i, p := range []*Player{a, b} {
		arm, err := m.Play(p, m.pinned)
		if err != nil {
			return nil, err
		}
		rows[i] = arm.Rows
	}
	return power.Measure(rows[0], rows[1], m.Pool.Exchange)
}

// win counts how many windows of n tasks for each benchmark the dearest model wins against the one before it, and adds its deltas up.
func (r Recipe) win(ex score.Exchange, n, windows, width int) (won int, sum float64, err error) {
	verdicts, errs := make([]verdict, windows), make([]error, windows)
	work := make(chan int)
	var all sync.WaitGroup
	for range max(1, width) {
		all.Go(func() {
			for i := range work {
				verdicts[i], errs[i] = r.window(ex, n, i)
			}
		})
	}
	for i := range windows {
		work <- i
	}
	close(work)
	all.Wait()
	for i, v := range verdicts {
		if errs[i] != nil {
			return 0, 0, errs[i]
		}
		sum += v.delta
		if v.wins {
			won++
		}
	}
	return won, sum, nil
}

// window judges one window of the dearest model against the one before it. Either is asked once for each task, so the recorded
// outcome is the row.
func (r Recipe) window(ex score.Exchange, n, i int) (verdict, error) {
	w := held{in: reign.Window{Nonce: fmt.Sprintf("%s/%d/%d/%d", r.Name, r.Benchmarks, n, i), Exchange: ex}}
	var a Arm
	last := len(r.Prices) - 1
	for b := range r.Benchmarks {
		for t := range n {
			king := r.row(i+1, last-1, b, t)
			w.in.Tasks = append(w.in.Tasks, score.Task{ID: king.TaskID, Benchmark: king.Benchmark})
			w.in.King = append(w.in.King, king)
			a.Rows = append(a.Rows, r.row(i+1, last, b, t))
		}
	}
	return w.judge(a)
}

// row is the episode of a policy that asks one model once.
func (r Recipe) row(edition, model, benchmark, n int) score.Row {
	o := r.outcome(edition, model, benchmark, n)
	return score.Row{TaskID: o.TaskID, Benchmark: r.benchmark(benchmark), Score: *o.Score, Spend: *o.Cost, Ending: ending.Stop}
}
