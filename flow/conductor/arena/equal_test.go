package arena

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/profile"
	"assay/conductor/reign"
	"assay/conductor/score"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/conductor/worker"
	"assay/conductor/world"
	"assay/flow/conductor/play"
)

// seat is a player as the flow that plays real arms meets it: its clock, its workers and its graders.
type seat struct {
	m   *Market
	p   *Player
	now time.Time
}

func (s *seat) Turn(_ context.Context, a play.Ask) (play.Said, error) {
	v := read(a.Prompt)
	if s.p.Took != nil {
		s.now = s.now.Add(s.p.Took(v))
	}
	return play.Said{Text: s.p.Turn(v), Tokens: -1}, nil
}

func (s *seat) Call(ctx context.Context, r worker.Request) (episode.Event, error) {
	at, _ := s.m.World.Task(r.Task().ID())
	by, _ := s.m.World.Model(r.Model().String())
	if s.p.Swap != nil {
		by = s.p.Swap(at, by)
	}
	snapshotID, _ := s.m.Snapshot.Lookup(s.m.World.Models[by].ID)
	e, err := play.Recorded{World: s.m.World}.Call(ctx, worker.NewRequest(r.Task(), snapshotID))
	e.Served = s.m.World.Models[by].ID
	return e, err
}

func (s *seat) Grade(ctx context.Context, r worker.Request, answer string) (float64, error) {
	at, _ := s.m.World.Task(r.Task().ID())
	by, _ := s.m.World.Model(r.Model().String())
	if s.p.Break != nil && s.p.Break(at, by) {
		return 0, fmt.Errorf("the grader broke")
	}
	return play.Metrics{World: s.m.World}.Grade(ctx, r, answer)
}

// slow plays a player over a slice with play.Arm, one episode at a time, nothing remembered.
func (m *Market) slow(t *testing.T, p *Player, slice []task.Pinned) Arm {
	t.Helper()
	s := &seat{m: m, p: p, now: time.Unix(0, 0)}
	a := play.Arm{
		Conductor: s, Workers: s, Grader: s, Renderer: m.Renderer, Profile: profile.Strict, Concurrency: 1, Allowance: p.Budget, Limited: p.Limited,
		Serves: func(asked, served string) bool { return asked == served }, Now: func() time.Time { return s.now },
	}
	results, err := a.Run(t.Context(), slice)
	if err != nil {
		t.Fatal(err)
	}
	out := Arm{Rows: make([]score.Row, 0, len(slice))}
	for _, r := range results {
		out.Rows = append(out.Rows, r.Row())
		if r.Void != "" {
			out.Void = append(out.Void, r.Task.ID())
		}
	}
	return out
}

// first cuts an army short.
func first(players []*Player, n int) []*Player { return players[:min(n, len(players))] }

func markets(t *testing.T) []*Market {
	t.Helper()
	var out []*Market
	for _, r := range []Recipe{Ladder(20)} {
		w, err := r.World(3)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Open(r.Name, w, LevelOf, Plan{Nonce: r.Name, Windows: 2, Season: 2, PerBenchmark: 10})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	const data = "../../../../shared/data/routerarena"
	if _, err := os.Stat(data); err != nil {
		return out // the made-up worlds hold both ways together all the same
	}
	w, defects := world.Read(os.DirFS(data))
	if err := world.Err(defects); err != nil {
		t.Fatal(err)
	}
	g := Recorded(w, LearnedKing, 1, 2, 2, 14, nil)
	w, err := g.Make(0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(g.World, w, g.Cue, g.Plan)
	if err != nil {
		t.Fatal(err)
	}
	return append(out, m)
}

// Two windows with every player of the table, twice: as the table plays them, with remembered episodes, and by play.Arm, to which
// the recorded answers are real workers. Every row and every void task agrees, in the second window with what was learned of the first.
func TestTheTablePlaysAsRealArmsArePlayed(t *testing.T) {
	for _, m := range markets(t) {
		t.Run(m.Name, func(t *testing.T) {
			var all []entrant
			king := m.Learned()
			for _, c := range Table() {
				e := entrant{c, c.Make(m, king)}
				all = append(all, entrant{c, first(e.players, 2)})
			}
			pool := m.season()
			for n := range 2 {
				nonce := fmt.Sprintf("equal/%d", n)
				d, err := window.Draw(pool, nonce, fmt.Sprint(n), m.plan.PerBenchmark, m.plan.PerBenchmark)
				if err != nil {
					t.Fatal(err)
				}
				w, err := m.open(king, nonce, d.Tasks)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range all {
					for _, p := range e.players {
						if e.Early {
							p.Memory.Learn(m, w.at)
						}
						fast, err := m.Play(p, d.Tasks)
						if err != nil {
							t.Fatal(err)
						}
						if diff := cmp.Diff(m.slow(t, p, d.Tasks), fast); diff != "" {
							t.Fatalf("%s, window %d: %s", e.Name, n, diff)
						}
					}
				}
				each(all, func(mem Memory) { mem.Learn(m, w.at) })
			}
		})
	}
}

// The shortened judge gives the verdict of the whole adjudication.
func TestTheShortJudgeAgreesWithTheWholeOne(t *testing.T) {
	won := 0
	for _, m := range markets(t) {
		king := m.Learned()
		for n := range 1 {
			d, err := window.Draw(m.season(), fmt.Sprintf("judge/%d", n), "0", m.plan.PerBenchmark, m.plan.PerBenchmark)
			if err != nil {
				t.Fatal(err)
			}
			for _, reigning := range []*Player{king, m.First()} {
				w, err := m.open(reigning, fmt.Sprintf("judge/%d", n), d.Tasks)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range Table() {
					for _, p := range first(c.Make(m, reigning), 1) {
						a, err := m.Play(p, d.Tasks)
						if err != nil {
							t.Fatal(err)
						}
						short, err := w.judge(a)
						if err != nil {
							t.Fatal(err)
						}
						if short.none {
							continue
						}
						in := w.in
						in.Failed, in.Challengers = a.Void, []reign.Challenger{{Hotkey: "cheat", Block: 1, Rows: a.Rows}}
						whole, err := reign.Adjudicate(in)
						if err != nil {
							t.Fatal(err)
						}
						if short.wins != (whole.Crowned != "") || short.delta != whole.Judgements[0].Verdict.Delta {
							t.Fatalf("%s: short %+v, whole %+v", c.Name, short, whole.Judgements[0])
						}
						if short.wins {
							won++
						}
					}
				}
			}
		}
	}
	if won == 0 {
		t.Error("nobody wins, so the two could not have differed")
	}
}

// A memory of the last window's texts is worth nothing on a fresh slice, where it is its fallback row by row, and much on a
// slice that it has seen.
func TestFault13_AMemoriserIsItsFallbackOnFreshTasks(t *testing.T) {
	for _, m := range markets(t) {
		mem := &solvers{every: 1}
		p, fallback := memoriser(mem, ladder(m.cheapest()).Turn), ladder(m.cheapest())
		pool := m.season()
		d, err := window.Draw(pool, "seen", "0", m.plan.PerBenchmark, m.plan.PerBenchmark)
		if err != nil {
			t.Fatal(err)
		}
		seen, err := m.open(fallback, "seen", d.Tasks)
		if err != nil {
			t.Fatal(err)
		}
		mem.Learn(m, seen.at)
		var fresh []task.Spec
		for _, s := range pool {
			if _, drawn := seen.drawn[s.ID]; !drawn {
				fresh = append(fresh, s)
			}
		}
		next, err := window.Draw(fresh, "fresh", "1", m.plan.PerBenchmark, m.plan.PerBenchmark)
		if err != nil {
			t.Fatal(err)
		}
		w, err := m.open(fallback, "fresh", next.Tasks)
		if err != nil {
			t.Fatal(err)
		}
		a, err := m.Play(p, next.Tasks)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w.in.King, a.Rows); diff != "" {
			t.Errorf("%s: it is not its fallback: %s", m.Name, diff)
		}
		if v, err := w.judge(a); err != nil || v.wins || v.delta != 0 {
			t.Errorf("%s: on fresh tasks %+v, %v", m.Name, v, err)
		}
		again, err := m.Play(p, d.Tasks)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := seen.judge(again); err != nil || !(v.delta > 0) {
			t.Errorf("%s: on tasks that it has seen %+v, %v", m.Name, v, err)
		}
	}
}

// What no rule stops: where the reference arms cost nearly the same and one is better, lambda is so steep that every answer is
// worth less than none, and an arm that stops at once nearly everywhere beats the first king. It has paid, so it is eligible.
func TestNearlyEqualReferencesMakeSilenceTheBestPolicy(t *testing.T) {
	var cheap, dear, silent []score.Row
	var tasks []score.Task
	for _, b := range []string{"a", "b"} {
		for i := range 100 {
			r := score.Row{TaskID: fmt.Sprintf("%s-%d", b, i), Benchmark: b, Ending: ending.Stop}
			low, high, none := r, r, r
			low.Spend, high.Spend = .010, .011 // a tenth apart: over the guard's twentieth
			if i%10 < 5 {
				low.Score = 1
			}
			if i%10 < 7 {
				high.Score = 1
			}
			if i == 0 {
				none = low
			}
			cheap, dear, silent = append(cheap, low), append(dear, high), append(silent, none)
			tasks = append(tasks, score.Task{ID: r.TaskID, Benchmark: b})
		}
	}
	pool, err := score.FitPool(map[string][]score.Row{score.Cheapest: cheap, score.Strongest: dear})
	if err != nil {
		t.Fatal(err)
	}
	out, err := reign.Adjudicate(reign.Window{
		Nonce: "steep", Tasks: tasks, Exchange: pool.Exchange, King: dear, Challengers: []reign.Challenger{{Hotkey: "silent", Block: 1, Rows: silent}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out.Crowned != "silent" || out.KingCard.Final > 0 {
		t.Errorf("crowned %q against a final of %v: the threat model says otherwise", out.Crowned, out.KingCard.Final)
	}
}
