package arena

import (
	"fmt"
	"sync"

	"assay/conductor/world"
)

// The kings.
const (
	LearnedKing = "learned"
	FirstKing   = "first"
)

// Ground is a world in several editions, a king, and the windows that each edition holds.
type Ground struct {
	World, Says string
	King        string
	Editions    int
	Plan        Plan
	Cue         func(text string) string
	Make        func(edition int) (*world.World, error)
	Table       []Cheat
}

// Stand is what became of a ground.
type Stand struct {
	Ground
	Windows    int
	Separating int // windows whose power gate let duels be held
	Tasks      int // of a window
	Drawn      []string
	Policy     string  // the first king's policy, in the first edition
	Gap, Worst float64 // see Market.Gap: the mean over editions, and the worst of them
	Lines      []Line  // beside Table
}

// slack is how far a sum of finals may be off by rounding.
const slack = 1e-9

// Sound reports whether nobody beats the king on any benchmark by knowing the benchmark's name alone.
func (s *Stand) Sound() bool { return s.Worst < slack }

// edition plays one edition of a ground.
func (g *Ground) edition(n int) (Stand, error) {
	w, err := g.Make(n)
	if err != nil {
		return Stand{}, err
	}
	plan := g.Plan
	plan.Nonce = fmt.Sprintf("%s/%d", g.World, n)
	m, err := Open(g.World, w, g.Cue, plan)
	if err != nil {
		return Stand{}, err
	}
	king := m.First()
	if g.King == LearnedKing {
		king = m.Learned()
	}
	all, err := m.Play(king, m.pinned)
	if err != nil {
		return Stand{}, err
	}
	s := Stand{Ground: *g, Windows: plan.Windows, Tasks: len(m.drawn) * plan.PerBenchmark, Drawn: m.Drawn(), Policy: m.Pool.KingZero}
	s.Gap, s.Worst = m.Gap(all.Rows)
	s.Lines, s.Separating, err = m.Run(king, g.Table)
	return s, err
}

// add takes another edition in.
func (s *Stand) add(o Stand) {
	if s.Lines == nil {
		*s = o
		return
	}
	s.Windows, s.Separating = s.Windows+o.Windows, s.Separating+o.Separating
	s.Gap, s.Worst = s.Gap+o.Gap, max(s.Worst, o.Worst)
	for i := range s.Lines {
		s.Lines[i].Add(o.Lines[i])
	}
}

// Hold plays the grounds, so many editions at a time, and returns what became of each. What comes out does not depend on width.
// done, when set, is told of every edition that has ended.
func Hold(grounds []Ground, width int, done func()) ([]Stand, error) {
	type unit struct{ ground, edition int }
	var units []unit
	for i, g := range grounds {
		for n := range g.Editions {
			units = append(units, unit{i, n})
		}
	}
	parts, errs := make([]Stand, len(units)), make([]error, len(units))
	work := make(chan int)
	var all sync.WaitGroup
	for range max(1, width) {
		all.Go(func() {
			for i := range work {
				parts[i], errs[i] = grounds[units[i].ground].edition(units[i].edition)
				if done != nil {
					done()
				}
			}
		})
	}
	for i := range units {
		work <- i
	}
	close(work)
	all.Wait()
	out := make([]Stand, len(grounds))
	for i, u := range units {
		if errs[i] != nil {
			return nil, fmt.Errorf("world %s, edition %d: %w", grounds[u.ground].World, u.edition, errs[i])
		}
		out[u.ground].add(parts[i])
	}
	for i := range out {
		out[i].Gap /= float64(max(1, grounds[i].Editions))
	}
	return out, nil
}

// Made is the ground of a made-up world.
func Made(r Recipe, king string, editions, windows, season, perBenchmark int, table []Cheat) Ground {
	return Ground{
		World: r.Name, Says: r.Says, King: king, Editions: editions, Cue: LevelOf, Make: r.World, Table: table,
		Plan: Plan{Windows: windows, Season: season, PerBenchmark: perBenchmark},
	}
}

// Recorded is the ground of a world of real answers. Every edition has the same tasks and shuffles them anew.
func Recorded(w *world.World, king string, editions, windows, season, perBenchmark int, table []Cheat) Ground {
	w = Families(w)
	return Ground{
		World: "routerarena", Says: "real tasks and the recorded answers of two models", King: king, Editions: editions, Table: table,
		Cue:  func(text string) string { return fmt.Sprint(len(text) / 300) },
		Make: func(int) (*world.World, error) { return w, nil },
		Plan: Plan{Windows: windows, Season: season, PerBenchmark: perBenchmark},
	}
}
