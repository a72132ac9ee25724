package arena

import (
	"fmt"
	"slices"
	"strconv"

	"assay/conductor"
	"assay/conductor/duel"
	"assay/conductor/reign"
	"assay/conductor/score"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/fault"
)

// Plan says which windows a market holds. A season cuts the pool into disjoint slices; the next one shuffles it anew, and
// everybody's memory begins empty.
type Plan struct {
	Nonce        string // begins every window's nonce
	Windows      int    // in all
	Season       int    // windows of a season
	PerBenchmark int    // tasks that a window draws from each benchmark
}

// Line is what became of one cheat against one king.
type Line struct {
	Windows int // that it entered
	Wins    int // in which its verdict won
	Crowned int // of those, in windows whose power gate let duels be held: the crown changed hands
	Duels   int // in which there was something to compare
	Sum     float64
	Max     float64
	// Why it did not win, by condition. A window counts for every condition that refused it; the lower bound is drawn only
	// where the other three are met, and eligibility asked only of an arm that met all four.
	Delta, Breadth, Median, LCB, Ineligible int
	NoDuel                                  int // nothing was left to compare: the window stands without a verdict
}

// Add sums two markets' lines up.
func (l *Line) Add(o Line) {
	if o.Duels > 0 && (l.Duels == 0 || o.Max > l.Max) {
		l.Max = o.Max
	}
	l.Windows, l.Wins, l.Duels, l.Sum = l.Windows+o.Windows, l.Wins+o.Wins, l.Duels+o.Duels, l.Sum+o.Sum
	l.Delta, l.Breadth, l.Median = l.Delta+o.Delta, l.Breadth+o.Breadth, l.Median+o.Median
	l.Crowned += o.Crowned
	l.LCB, l.Ineligible, l.NoDuel = l.LCB+o.LCB, l.Ineligible+o.Ineligible, l.NoDuel+o.NoDuel
}

// entrant is a cheat in one market.
type entrant struct {
	Cheat
	players []*Player
}

// Run holds the plan's windows with every cheat of the table against the king, each cheat in a window of its own, and returns a
// line for each, and in how many windows the power gate let duels be held. Cheats play in the others too: what the gate holds
// back is counted apart.
func (m *Market) Run(king *Player, table []Cheat) (lines []Line, separating int, err error) {
	plan := m.plan
	all := make([]entrant, len(table))
	for i, c := range table {
		all[i] = entrant{c, c.Make(m, king)}
	}
	lines = make([]Line, len(table))
	var pool []task.Spec
	for n := range plan.Windows {
		if n%plan.Season == 0 {
			pool = m.season()
			each(all, func(mem Memory) { mem.Forget() })
		}
		nonce := fmt.Sprintf("%s/%d", plan.Nonce, n)
		d, err := window.Draw(pool, nonce, strconv.Itoa(n), plan.PerBenchmark, plan.PerBenchmark)
		if err != nil {
			return nil, 0, fmt.Errorf("window %d: %w", n, err)
		}
		w, err := m.open(king, nonce, d.Tasks)
		if err != nil {
			return nil, 0, err
		}
		if w.separates {
			separating++
		}
		for i, e := range all {
			if len(e.players) == 0 || e.Every > 0 && n%e.Every != 0 {
				continue
			}
			if err := w.enter(e, &lines[i]); err != nil {
				return nil, 0, fmt.Errorf("window %d, %s: %w", n, e.Name, err)
			}
		}
		each(all, func(mem Memory) { mem.Learn(m, w.at) })
		pool = slices.DeleteFunc(pool, func(s task.Spec) bool { _, drawn := w.drawn[s.ID]; return drawn })
	}
	return lines, separating, nil
}

// each tells every memory something.
func each(all []entrant, tell func(Memory)) {
	for _, e := range all {
		for _, p := range e.players {
			if p.Memory != nil {
				tell(p.Memory)
			}
		}
	}
}

// season is the pool that a season cuts up.
func (m *Market) season() []task.Spec {
	return slices.DeleteFunc(slices.Clone(m.specs), func(s task.Spec) bool { return !slices.Contains(m.drawn, s.Benchmark) })
}

// held is one window with its king's arm.
type held struct {
	m     *Market
	in    reign.Window
	slice []task.Pinned
	at    []int // the slice's places in the world
	drawn map[string]struct{}

	separates bool // the power gate lets duels be held
}

// open plays the king over a slice.
func (m *Market) open(king *Player, nonce string, slice []task.Pinned) (*held, error) {
	w := &held{m: m, slice: slice, drawn: map[string]struct{}{}}
	for _, t := range slice {
		w.at = append(w.at, m.index(t))
		w.drawn[t.ID()] = struct{}{}
		w.in.Tasks = append(w.in.Tasks, score.Task{ID: t.ID(), Benchmark: t.Benchmark(), Group: t.Group()})
	}
	arm, err := m.Play(king, slice)
	if err != nil {
		return nil, fmt.Errorf("the king's arm: %w", err)
	}
	w.in.Nonce, w.in.Exchange, w.in.King = nonce, m.Pool.Exchange, arm.Rows
	return w, w.gate()
}

// subsample is how many tasks the power gate is held on.
const subsample = 60

// gate asks whether the slice tells the first king from its contrast.
func (w *held) gate() error {
	labels := make([]task.Label, len(w.in.Tasks))
	for i, t := range w.in.Tasks {
		labels[i] = task.Label{ID: t.ID, Benchmark: t.Benchmark}
	}
	ids, err := task.Subsample(w.in.Nonce, subsample, labels)
	if err != nil {
		return err
	}
	slice := make([]task.Pinned, len(ids))
	for i, id := range ids {
		at, _ := w.m.World.Task(id)
		slice[i] = w.m.pinned[at]
	}
	arms := [2]reign.Reference{{Policy: w.m.Pool.KingZero}, {Policy: w.m.contrast}}
	for i := range arms {
		a, err := w.m.Play(w.m.refs[arms[i].Policy], slice)
		if err != nil {
			return fmt.Errorf("the power gate: %w", err)
		}
		arms[i].Rows = a.Rows
	}
	g, err := reign.PowerGate(arms[0], arms[1], nil, w.in.Nonce)
	w.separates = g.Separates
	return err
}

// enter plays a cheat in the window and notes what became of it. Of an army the member with the largest delta is noted.
func (w *held) enter(e entrant, l *Line) error {
	var best verdict
	for i, p := range e.players {
		if e.Early {
			p.Memory.Learn(w.m, w.at)
		}
		arm, err := w.m.Play(p, w.slice)
		if err != nil {
			return err
		}
		v, err := w.judge(arm)
		if err != nil {
			return err
		}
		if i == 0 || v.wins && !best.wins || v.wins == best.wins && v.delta > best.delta {
			best = v
		}
	}
	l.note(best, w.separates)
	return nil
}

// verdict is what the rules say of one arm.
type verdict struct {
	none, wins, eligible bool
	delta                float64
	met                  duel.Conditions
	full                 bool // the lower bound was drawn
}

// judge asks for the verdict on an arm. The lower bound costs a thousand resamples and can only refuse: where another condition
// has refused already, one resample stands for them all. The verdict is that of reign.Adjudicate either way.
func (w *held) judge(a Arm) (verdict, error) {
	if reign.TooVoid(len(a.Void), len(w.in.Tasks)) {
		return verdict{none: true}, nil
	}
	set := duel.Standard(w.in.Nonce)
	set.Rounds = 1
	_, quick, err := duel.Judge(w.in.King, a.Rows, a.Void, w.in.Exchange, set)
	if fault.Of(err) == conductor.Breadth {
		return verdict{none: true}, nil
	}
	if err != nil {
		return verdict{}, err
	}
	v := verdict{delta: quick.Delta, met: quick.Conditions}
	if !v.met.Delta || !v.met.Breadth || !v.met.Median {
		return v, nil
	}
	in := w.in
	in.Failed, in.Challengers = a.Void, []reign.Challenger{{Hotkey: "cheat", Block: 1, Rows: a.Rows}}
	out, err := reign.Adjudicate(in)
	if err != nil {
		return verdict{}, err
	}
	j := out.Judgements[0]
	v.full, v.met, v.eligible, v.wins = true, j.Verdict.Conditions, j.Eligible, out.Crowned != ""
	return v, nil
}

// note counts a verdict.
func (l *Line) note(v verdict, separates bool) {
	l.Windows++
	if v.none {
		l.NoDuel++
		return
	}
	if l.Duels == 0 || v.delta > l.Max {
		l.Max = v.delta
	}
	l.Duels++
	l.Sum += v.delta
	if v.wins {
		l.Wins++
		if separates {
			l.Crowned++
		}
		return
	}
	count := func(n *int, refused bool) {
		if refused {
			*n++
		}
	}
	count(&l.Delta, !v.met.Delta)
	count(&l.Breadth, !v.met.Breadth)
	count(&l.Median, !v.met.Median)
	count(&l.LCB, v.full && !v.met.LCB)
	count(&l.Ineligible, v.full && v.met.All() && !v.eligible)
}
