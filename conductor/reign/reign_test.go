package reign_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"assay/conductor"
	"assay/conductor/ending"
	"assay/conductor/reign"
	"assay/conductor/score"
	"assay/core/fault"
)

// slice is the tasks of two benchmarks of 20, x-00 … y-19.
func slice(benchmarks ...string) (tasks []score.Task) {
	for _, b := range benchmarks {
		for i := range 20 {
			tasks = append(tasks, score.Task{ID: fmt.Sprintf("%s-%02d", b, i), Benchmark: b})
		}
	}
	return tasks
}

// flat answers every task with one quality for a dime.
func flat(tasks []score.Task, quality float64) (rows []score.Row) {
	for _, t := range tasks {
		rows = append(rows, score.Row{TaskID: t.ID, Benchmark: t.Benchmark, Score: quality, Spend: 0.1, Ending: ending.Stop})
	}
	return rows
}

// cut ends the rows from the given place on in each benchmark with a score of zero.
func cut(rows []score.Row, from int, how ending.Ending) []score.Row {
	in := map[string]int{}
	for i, r := range rows {
		if in[r.Benchmark]++; in[r.Benchmark] > from {
			rows[i].Score, rows[i].Ending = 0, how
			if how != ending.WallClock {
				rows[i].Spend = 0
			}
		}
	}
	return rows
}

func freeExchange(benchmarks ...string) score.Exchange {
	e := score.Exchange{}
	for _, b := range benchmarks {
		e[b] = score.Rate{Lam: 0, C: 1}
	}
	return e
}

// window has a king of .50 on x and y, unless told otherwise.
func window(challengers ...reign.Challenger) reign.Window {
	tasks := slice("x", "y")
	return reign.Window{Nonce: "n1", Tasks: tasks, Exchange: freeExchange("x", "y"), King: flat(tasks, 0.5), Challengers: challengers}
}

func arm(hotkey string, block int64, rows []score.Row) reign.Challenger {
	return reign.Challenger{Hotkey: hotkey, Block: block, Rows: rows}
}

func settle(t *testing.T, w reign.Window) reign.Outcome {
	t.Helper()
	out, err := reign.Adjudicate(w)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func says(t *testing.T, j reign.Judgement, fragments ...string) {
	t.Helper()
	for _, f := range fragments {
		if !strings.Contains(j.Detail(), f) {
			t.Errorf("%s: detail %q does not say %q", j.Hotkey, j.Detail(), f)
		}
	}
}

func refuses(t *testing.T, err error, want fault.Code) {
	t.Helper()
	if got := fault.Of(err); got != want {
		t.Errorf("refused as %q, want %q (%v)", got.Name(), want.Name(), err)
	}
}

func TestBehaviourJ1_SeniorityHoldsWithinTheMargin(t *testing.T) {
	all := slice("x", "y")
	out := settle(t, window(arm("early", 1, cut(flat(all, 0.7), 14, ending.DuelWallClock)), arm("late", 2, flat(all, 0.72))))
	early, late := out.Judgements[0], out.Judgements[1]
	if out.Crowned != "early" || early.Verdict.NTasks != 28 || !near(early.Verdict.Delta, 0.2) || early.Clocked != 12 {
		t.Errorf("crowned %q, early %+v", out.Crowned, early)
	}
	if late.Rematch == nil || late.Rematch.Clears() || !near(late.Rematch.Verdict.Delta, 0.02) || late.Rematch.Incumbent != "early" {
		t.Errorf("rematch %+v", late.Rematch)
	}
	says(t, early, "clears eps, the bootstrap lower bound, breadth and the median", "judged on the 28 tasks both arms answered")
	says(t, late, "but early committed earlier and holds the crown ahead of it", "delta does not clear eps")
}

func TestBehaviourJ2_LaterWinnerTakesTheCrown(t *testing.T) {
	all := slice("x", "y")
	out := settle(t, window(arm("late", 2, flat(all, 0.8)), arm("early", 1, flat(all, 0.6))))
	if out.Crowned != "late" || out.Judgements[1].HeldUntil != "late" || !out.Judgements[0].Rematch.Clears() {
		t.Errorf("%+v", out)
	}
	says(t, out.Judgements[1], "held the crown until late")
	says(t, out.Judgements[0], "takes the crown from early")
}

func TestBehaviourJ3_CrownWithheldBelowHalf(t *testing.T) {
	out := settle(t, window(arm("thin", 1, cut(flat(slice("x", "y"), 0.9), 8, ending.DuelWallClock))))
	j := out.Judgements[0]
	if out.Crowned != "" || !j.Verdict.Wins() || j.Eligible || j.Reached != 16 {
		t.Errorf("%+v", j)
	}
	says(t, j, "but the crown is withheld", "only 16 of its 40 tasks")
	half := settle(t, window(arm("half", 1, cut(flat(slice("x", "y"), 0.9), 10, ending.DuelWallClock))))
	if half.Crowned != "half" {
		t.Errorf("exactly half is enough: %+v", half.Judgements[0])
	}
}

func TestBehaviourJ4_EpisodeClockRowsStayAndCountZero(t *testing.T) {
	out := settle(t, window(arm("slow", 1, cut(flat(slice("x", "y"), 0.9), 14, ending.WallClock))))
	j := out.Judgements[0]
	if j.Verdict.NTasks != 40 || !near(j.Verdict.Delta, 0.9*14/20-0.5) || j.Clocked != 0 || j.Reached != 40 {
		t.Errorf("%+v %+v", j, j.Verdict)
	}
}

func TestBehaviourJ5_KingCutShort(t *testing.T) {
	w := window(arm("a", 1, flat(slice("x", "y"), 0.6)), arm("b", 2, flat(slice("x", "y"), 0.4)))
	w.King = cut(w.King, 16, ending.DuelWallClock)
	out := settle(t, w)
	if out.Judgements[0].Verdict.NTasks != 32 || out.Judgements[1].Verdict.NTasks != 32 || len(out.KingRows) != 32 || out.KingCard.N() != 32 || !near(out.KingCard.Final, 0.5) {
		t.Errorf("king %d rows, duels over %d and %d", len(out.KingRows), out.Judgements[0].Verdict.NTasks, out.Judgements[1].Verdict.NTasks)
	}
	says(t, out.Judgements[1], "does not survive dropping x", "; ", "judged on the 32 tasks")
}

func TestBehaviourJ6_KingTooThin(t *testing.T) {
	for _, tt := range []struct {
		from int
		want bool
	}{{8, true}, {9, true}, {10, false}, {20, false}} {
		rows := cut(flat(slice("x", "y"), 0.5), tt.from, ending.DuelWallClock)
		if got := reign.KingTooThin(rows); got != tt.want {
			t.Errorf("%d of 40 inside the clock: too thin %v", 2*tt.from, got)
		}
		rows = cut(flat(slice("x", "y"), 0.5), tt.from, ending.BudgetExhausted)
		if got := reign.KingUnfunded(rows); got != tt.want || reign.KingTooThin(rows) {
			t.Errorf("%d of 40 inside the allowance: unfunded %v", 2*tt.from, got)
		}
	}
	if reign.KingTooThin(nil) || reign.KingUnfunded(nil) {
		t.Error("an empty arm is thin")
	}
}

func TestBehaviourJ7_ClockTookOneBenchmark(t *testing.T) {
	rows := flat(slice("x", "y"), 0.9)
	for i := range rows {
		if rows[i].Benchmark == "y" {
			rows[i].Score, rows[i].Ending = 0, ending.DuelWallClock
		}
	}
	out := settle(t, window(arm("one-sided", 1, rows)))
	j := out.Judgements[0]
	if out.Crowned != "" || j.Verdict != nil || j.Card != nil || j.Reached != 20 {
		t.Errorf("%+v", j)
	}
	says(t, j, "no verdict")
}

func TestBehaviourJ8_OneBenchmarkCorpusIsRefused(t *testing.T) {
	tasks := slice("x")
	w := reign.Window{Nonce: "n1", Tasks: tasks, Exchange: freeExchange("x"), King: flat(tasks, 0.5), Challengers: []reign.Challenger{arm("a", 1, flat(tasks, 0.9))}}
	_, err := reign.Adjudicate(w)
	refuses(t, err, conductor.Breadth)

	two := window(arm("a", 1, flat(slice("x", "y"), 0.9)))
	two.Exchange["y"] = score.Rate{C: 1, Flags: []score.Flag{score.Dominator}}
	_, err = reign.Adjudicate(two)
	refuses(t, err, conductor.Breadth)
	delete(two.Exchange, "y")
	_, err = reign.Adjudicate(two)
	refuses(t, err, conductor.NoRate)
}

func TestBehaviourJ9_NothingSpentNothingWon(t *testing.T) {
	rows := flat(slice("x", "y"), 0.9)
	for i := range rows {
		rows[i].Spend = 0
	}
	out := settle(t, window(arm("free", 1, rows)))
	if out.Crowned != "" || out.Judgements[0].Eligible || !out.Judgements[0].Verdict.Wins() {
		t.Errorf("%+v", out.Judgements[0])
	}
	says(t, out.Judgements[0], "crown is withheld", "spent nothing")
}

func TestBehaviourJ10_CrownWalksInCommitOrder(t *testing.T) {
	all := slice("x", "y")
	out := settle(t, window(arm("c", 5, flat(all, 0.9)), arm("b", 2, flat(all, 0.7)), arm("a", 2, flat(all, 0.6))))
	var walk []string
	for _, j := range out.Judgements {
		incumbent := ""
		if j.Rematch != nil {
			incumbent = j.Rematch.Incumbent
		}
		walk = append(walk, incumbent+">"+j.Hotkey+">"+j.HeldUntil)
	}
	if want := []string{"b>c>", "a>b>c", ">a>b"}; out.Crowned != "c" || !slices.Equal(walk, want) {
		t.Errorf("crowned %q, walk %v, want %v", out.Crowned, walk, want)
	}
	// A margin that nobody clears leaves the crown with the eldest, whatever the deltas against the king.
	close := settle(t, window(arm("c", 5, flat(all, 0.64)), arm("b", 2, flat(all, 0.62)), arm("a", 2, flat(all, 0.6))))
	if close.Crowned != "a" {
		t.Errorf("crowned %q", close.Crowned)
	}
}

func TestFault73_TiesGoToTheEarlierCommitment(t *testing.T) {
	all := slice("x", "y")
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		arms := []reign.Challenger{arm("zz", 7, flat(all, 0.8)), arm("mm", 7, flat(all, 0.8)), arm("aa", 9, flat(all, 0.8))}
		out := settle(t, window(arms[order[0]], arms[order[1]], arms[order[2]]))
		if out.Crowned != "mm" {
			t.Errorf("order %v crowned %q", order, out.Crowned)
		}
	}
}

func TestFault71_LeavingTasksOutIsNotReachingThem(t *testing.T) {
	rows := slices.DeleteFunc(flat(slice("x", "y"), 0.9), func(r score.Row) bool { return r.TaskID[2:] > "05" })
	out := settle(t, window(arm("picky", 1, rows)))
	if j := out.Judgements[0]; out.Crowned != "" || j.Eligible || j.Reached != 12 || !j.Verdict.Wins() {
		t.Errorf("%+v", out.Judgements[0])
	}
}

func TestAdjudicateRefusesForeignRows(t *testing.T) {
	all := slice("x", "y")
	foreign := flat(all, 0.9)
	foreign[3].TaskID = "elsewhere"
	moved := flat(all, 0.9)
	moved[3].Benchmark = "y"
	for name, rows := range map[string][]score.Row{"foreign task": foreign, "moved task": moved} {
		_, err := reign.Adjudicate(window(arm("a", 1, rows)))
		if fault.Of(err) != conductor.Misaligned {
			t.Errorf("%s: %v", name, err)
		}
	}
	w := window(arm("a", 1, append(flat(all, 0.9), flat(all[:1], 0.9)...)))
	_, err := reign.Adjudicate(w)
	refuses(t, err, conductor.DuplicateTask)
	w = window()
	w.Tasks = append(w.Tasks, w.Tasks[0])
	_, err = reign.Adjudicate(w)
	refuses(t, err, conductor.DuplicateTask)
}

func TestNobodyChallenges(t *testing.T) {
	if out := settle(t, window()); out.Crowned != "" || out.KingRows != nil || out.KingCard != nil || len(out.Judgements) != 0 {
		t.Errorf("%+v", out)
	}
}

// near is equality of floats up to the order of their sums.
func near(got, want float64) bool {
	return math.Abs(got-want) <= 1e-12*math.Max(1, math.Abs(want))
}

// Fault 71: too many void tasks void the duel.
func TestFault71_TooManyVoidTasks(t *testing.T) {
	for _, c := range []struct {
		void, tasks int
		want        bool
	}{{0, 40, false}, {10, 40, false}, {11, 40, true}, {1, 3, true}, {0, 0, false}} {
		if got := reign.TooVoid(c.void, c.tasks); got != c.want {
			t.Errorf("%d of %d: %v", c.void, c.tasks, got)
		}
	}
}
