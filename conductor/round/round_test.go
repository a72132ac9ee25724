package round_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/conductor"
	"assay/conductor/ending"
	"assay/conductor/publication"
	"assay/conductor/round"
	"assay/conductor/score"
	"assay/conductor/submission"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/money"
)

// world is a script for a window: what every arm gives, and what else happens.
type world struct {
	quality map[string]float64 // by arm; every second task of a benchmark gets more than its share, so that bounds have something to do
	spend   float64
	rows    map[string]func([]score.Row)
	void    map[string][]string
	abort   map[string]string
	unpaid  map[string]string // why an arm's metering does not hold
	admit   map[string]round.Event
	promote round.Event
	gone    []string // hotkeys that have left when the weights are made
	asked   []string // effects in order
}

const perBenchmark = 20

func tasks() (out []score.Task) {
	for _, b := range []string{"a", "b", "c"} {
		for i := range perBenchmark {
			out = append(out, score.Task{ID: fmt.Sprintf("%s-%d", b, i), Benchmark: b})
		}
	}
	return out
}

func setup(queue ...string) round.Setup {
	s := round.Setup{
		Window: 3, Nonce: "0xab", Tasks: tasks(), Freshness: `{"staleness":null}`,
		Rules: publication.Rules{
			V: 1, Exchange: map[string]publication.Rate{}, KingZero: "cascade", Contrast: "always-cheapest", GateTasks: 60, Duels: 3, Aliases: map[string][]string{},
		},
	}
	for _, b := range []string{"a", "b", "c"} {
		s.Rules.Exchange[b] = publication.Rate{Lam: 0.1, C: 1, Flags: nil}
	}
	for _, t := range s.Tasks {
		s.Gate = append(s.Gate, t.ID)
	}
	for i, h := range queue {
		s.Queue = append(s.Queue, round.Place{Hotkey: h, Block: int64(10 + i), Status: submission.Queued})
	}
	return s
}

// play answers an arm.
func (w *world) play(s round.Setup, a round.Arm) round.Event {
	if why := w.abort[a.Name]; why != "" {
		return round.Event{Told: round.Aborted, Detail: why, Metering: round.Metering{Arm: a.Name, Scoreable: true}}
	}
	e := round.Event{Told: round.Played, Metering: round.Metering{Arm: a.Name, Scoreable: w.unpaid[a.Name] == "", Reason: w.unpaid[a.Name]}}
	for i, t := range s.Tasks {
		r := score.Row{TaskID: t.ID, Benchmark: t.Benchmark, Ending: ending.Stop, Spend: w.spend}
		if float64(i%perBenchmark) < w.quality[a.Name]*perBenchmark {
			r.Score = 1
		}
		if slices.Contains(a.Excluded, t.ID) {
			r = score.Row{TaskID: t.ID, Benchmark: t.Benchmark, Ending: ending.Excluded}
		}
		e.Rows = append(e.Rows, r)
	}
	if change := w.rows[a.Name]; change != nil {
		change(e.Rows)
	}
	for _, id := range w.void[a.Name] {
		e.Voids = append(e.Voids, round.Void{Task: id, Reason: "grader", Arm: a.Name})
	}
	return e
}

// run drives a window to its end.
func (w *world) run(t testing.TB, s round.Setup) *round.Machine {
	t.Helper()
	m := round.New(s)
	ready := m.Start()
	for !ready.Done {
		do := ready.Do[0]
		var e round.Event
		switch do.Do {
		case round.Admit:
			w.asked = append(w.asked, "admit "+do.Hotkey)
			if e = w.admit[do.Hotkey]; e.Told == 0 {
				e = round.Event{Told: round.Admitted}
			}
		case round.Play:
			w.asked = append(w.asked, "play "+do.Arm.Name)
			e = w.play(s, do.Arm)
		case round.Retest:
			w.asked = append(w.asked, "retest")
			e = round.Event{Told: round.Retested, Retests: []round.Again{{Task: "a-1", Model: "m", Attempt: 1, Stored: money.Dollar, Cost: money.Dollar}}}
		case round.Promote:
			w.asked = append(w.asked, "promote "+do.Hotkey)
			if e = w.promote; e.Told == 0 {
				e = round.Event{Told: round.Promoted, Detail: "models/x"}
			}
		case round.Look:
			w.asked = append(w.asked, "look")
			e = round.Event{Told: round.Looked, Live: map[int]string{}}
			for i, h := range append([]string{"burn", s.King}, names(s)...) {
				if h != "" && !slices.Contains(w.gone, h) {
					e.Live[i] = h
				}
			}
		case round.Persist:
			w.asked = append(w.asked, "persist")
			e.Told = round.Persisted
		case round.Weigh:
			w.asked = append(w.asked, "weigh")
			e.Told = round.Weighed
		case round.Publish:
			w.asked = append(w.asked, "publish")
			e.Told = round.Published
		}
		var err error
		if ready, err = m.Step(e); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func names(s round.Setup) (out []string) {
	for _, p := range s.Queue {
		out = append(out, p.Hotkey)
	}
	return out
}

// able is a world in which the slice tells arms apart and the king is worth half.
func able() *world {
	return &world{quality: map[string]float64{"gate-cascade": .9, "gate-always-cheapest": .3, "king": .5}, spend: .1}
}

// status is what became of the submissions, in a word each.
func status(m *round.Machine) string {
	var out []string
	for _, p := range m.Seats() {
		out = append(out, string(p.Status))
	}
	return strings.Join(out, " ")
}

func TestBehaviourX_HowWindowsEnd(t *testing.T) {
	cut := func(how ending.Ending, n int) func([]score.Row) {
		return func(rows []score.Row) {
			for i := range n {
				rows[len(rows)-1-i] = score.Row{TaskID: rows[len(rows)-1-i].TaskID, Benchmark: rows[len(rows)-1-i].Benchmark, Ending: how}
			}
		}
	}
	for name, c := range map[string]struct {
		king     string
		gone     bool
		queue    []string
		change   func(*world)
		want     string // statuses
		deferral string // what the reveal says
		reigns   string
		judged   int
		without  string // an effect that must not be asked for
	}{
		"X2 nobody waits: nothing is bought": {queue: nil, want: "", without: "play king"},
		"X9 the gate fails": {
			queue: []string{"h1"}, change: func(w *world) { w.quality["gate-cascade"] = .3 }, want: "deferred", deferral: "cannot tell", without: "play king",
		},
		"the gate's arm cannot be played": {
			queue: []string{"h1"}, change: func(w *world) { w.abort = map[string]string{"gate-cascade": "no server"} }, want: "deferred", deferral: "reference arm could not be played", without: "admit h1",
		},
		"the owner's account is at zero": {
			queue: []string{"h1"}, change: func(w *world) {
				w.rows = map[string]func([]score.Row){"gate-cascade": cut(ending.BudgetExhausted, 40)}
			}, want: "deferred", deferral: "account is at zero", without: "admit h1",
		},
		"X22 the king has left: the first policy reigns": {king: "k", gone: true, queue: []string{"h1"}, change: func(w *world) { w.quality["h1"] = .5 }, want: "duelled", judged: 1},
		"the king's allowance is gone: its reign ends, duels stand": {
			king: "k", queue: []string{"h1"}, change: func(w *world) {
				w.quality["h1"] = .5
				w.rows = map[string]func([]score.Row){"king": cut(ending.BudgetExhausted, 40)}
			}, want: "duelled", reigns: "h1", judged: 1, // against zeros it wins
		},
		"J6 the king is too thin": {
			king: "k", queue: []string{"h1"}, change: func(w *world) { w.rows = map[string]func([]score.Row){"king": cut(ending.DuelWallClock, 40)} }, want: "deferred",
			deferral: "answered 20 of 60", reigns: "k", without: "play h1",
		},
		"X4 a refused artifact spends the shot, others play": {
			queue: []string{"h1", "h2"}, change: func(w *world) {
				w.quality["h2"] = .5
				w.admit = map[string]round.Event{"h1": {Told: round.Refused, Detail: "pickle_archive"}}
			}, want: "refused duelled", judged: 2,
		},
		"X6 three duels, the others wait": {
			queue: []string{"h1", "h2", "h3", "h4", "h5"}, change: func(w *world) {}, want: "duelled duelled duelled deferred deferred", judged: 3, without: "admit h4",
		},
		"a refusal gives its place to the next": {
			queue: []string{"h1", "h2", "h3", "h4"}, change: func(w *world) { w.admit = map[string]round.Event{"h2": {Told: round.Refused}} },
			want: "duelled refused duelled duelled", judged: 4,
		},
		"nobody is admitted": {
			queue: []string{"h1"}, change: func(w *world) { w.admit = map[string]round.Event{"h1": {Told: round.Unready, Detail: "disk"}} }, want: "deferred", deferral: "nobody was admitted",
			without: "play king",
		},
		"X10 unmetered": {
			queue: []string{"h1"}, change: func(w *world) { w.unpaid = map[string]string{"h1": "spend_not_metered"} }, want: "deferred",
		},
		"X11 without spend": {
			queue: []string{"h1"}, change: func(w *world) {
				w.rows = map[string]func([]score.Row){"h1": func(rows []score.Row) {
					for i := range rows {
						rows[i].Spend = 0
					}
				}}
			}, want: "deferred",
		},
		"an arm that cannot be played": {
			queue: []string{"h1", "h2"}, change: func(w *world) { w.abort = map[string]string{"h1": "no server"}; w.quality["h2"] = .5 }, want: "deferred duelled", judged: 1,
		},
		"a dead grader": {
			queue: []string{"h1"}, change: func(w *world) {
				w.void = map[string][]string{}
				for _, k := range tasks() {
					w.void["king"] = append(w.void["king"], k.ID)
				}
			}, want: "deferred", deferral: "tasks are void", without: "play h1",
		},
		"Fault71 an arm that voids too much is not judged": {
			queue: []string{"h1", "h2"}, change: func(w *world) {
				w.quality["h2"] = .5
				for i := range perBenchmark {
					w.void = map[string][]string{"h1": append(w.void["h1"], fmt.Sprintf("a-%d", i))}
				}
			}, want: "deferred duelled", judged: 1,
		},
		"a winner is crowned": {queue: []string{"h1"}, change: func(w *world) { w.quality["h1"] = .8 }, want: "duelled", reigns: "h1", judged: 1},
		"X17 a public copy that does not verify": {
			king: "k", queue: []string{"h1"}, change: func(w *world) {
				w.quality["h1"] = .8
				w.promote = round.Event{Told: round.Forfeited, Detail: "bad copy"}
			},
			want: "duelled", reigns: "k", judged: 1,
		},
		"a winner who has left": {king: "k", queue: []string{"h1"}, change: func(w *world) { w.quality["h1"] = .8; w.gone = []string{"h1"} }, want: "duelled", reigns: "k", judged: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := able()
			if c.change != nil {
				c.change(w)
			}
			s := setup(c.queue...)
			s.King, s.KingGone = c.king, c.gone
			m := w.run(t, s)
			r := m.Reveal()
			if got := status(m); got != c.want {
				t.Errorf("statuses %q", got)
			}
			if c.deferral == "" && r.Deferral != "" || !strings.Contains(r.Deferral, c.deferral) {
				t.Errorf("deferral %q", r.Deferral)
			}
			if king, _ := m.Reigns(); king != c.reigns || r.Reigns != king {
				t.Errorf("%q reigns", king)
			}
			if got := len(m.Judged()); got != c.judged {
				t.Errorf("%d shots spent: %v", got, m.Judged())
			}
			if c.without != "" && slices.Contains(w.asked, c.without) {
				t.Errorf("asked for %q: %v", c.without, w.asked)
			}
			sound(t, m)
		})
	}
}

// sound checks what holds of every window.
func sound(t interface{ Errorf(string, ...any) }, m *round.Machine) {
	r := m.Reveal()
	total := 0.0
	for _, w := range r.Weights {
		total += float64(w.Share)
	}
	if total != 1 {
		t.Errorf("weights sum to %v", total)
	}
	for _, o := range r.Outcomes {
		if o.ShotSpent != o.Status.Spends() || o.Status == submission.Queued {
			t.Errorf("%s is %s, shot spent %v", o.Hotkey, o.Status, o.ShotSpent)
		}
	}
	record, err := r.Record()
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	back, err := round.ParseReveal(record)
	if err != nil {
		t.Errorf("reading the reveal back: %v", err)
		return
	}
	a, errA := canon.Marshal(r)
	b, errB := canon.Marshal(back)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("a reveal is read back otherwise: %v, %v", errA, errB)
	}
}

func TestBehaviourX15_HistoryThenWeightsThenReveal(t *testing.T) {
	w := able()
	w.quality["h1"] = .8
	w.run(t, setup("h1"))
	want := []string{
		"play gate-cascade", "play gate-always-cheapest", "admit h1", "play king", "play h1", "retest", "promote h1", "look", "persist", "weigh", "publish",
	}
	if !slices.Equal(w.asked, want) {
		t.Errorf("%v", w.asked)
	}
}

func TestBehaviourX1_TheKingPlaysOnce(t *testing.T) {
	w := able()
	w.run(t, setup("h1", "h2", "h3"))
	n := 0
	for _, a := range w.asked {
		if a == "play king" {
			n++
		}
	}
	if n != 1 || slices.Index(w.asked, "play king") < slices.Index(w.asked, "admit h3") { // X3
		t.Errorf("%v", w.asked)
	}
}

// Void tasks leave every arm, and later arms do not buy them.
func TestVoidTasksAreNotBoughtAgain(t *testing.T) {
	w := able()
	w.quality["h1"], w.quality["h2"] = .5, .5
	w.void = map[string][]string{"king": {"a-1"}, "h1": {"b-2"}}
	seen := map[string][]string{}
	s := setup("h1", "h2")
	m := round.New(s)
	ready := m.Start()
	for !ready.Done {
		do := ready.Do[0]
		e := round.Event{Told: round.Admitted}
		switch do.Do {
		case round.Play:
			seen[do.Arm.Name] = slices.Clone(do.Arm.Excluded)
			e = w.play(s, do.Arm)
		case round.Retest:
			e = round.Event{Told: round.Retested}
		case round.Look:
			e = round.Event{Told: round.Looked, Live: map[int]string{0: "x"}}
		case round.Persist:
			e.Told = round.Persisted
		case round.Weigh:
			e.Told = round.Weighed
		case round.Publish:
			e.Told = round.Published
		}
		var err error
		if ready, err = m.Step(e); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen["king"]) != 0 || !slices.Equal(seen["h1"], []string{"a-1"}) || !slices.Equal(seen["h2"], []string{"a-1", "b-2"}) {
		t.Errorf("%v", seen)
	}
	if got := m.Reveal().GradersFailed; !slices.Equal(got, []string{"a-1", "b-2"}) {
		t.Errorf("%v", got)
	}
	for _, o := range m.Reveal().Outcomes {
		if o.Verdict == nil || o.Verdict.NTasks != 58 {
			t.Errorf("%s is judged on %+v", o.Hotkey, o.Verdict)
		}
	}
}

func TestEventsOfOtherKindsAreRefused(t *testing.T) {
	m := round.New(setup("h1"))
	m.Start()
	for _, told := range []round.Told{0, round.Admitted, round.Published, 200} {
		if _, err := m.Step(round.Event{Told: told}); fault.Of(err) != conductor.BadEvent {
			t.Errorf("%d: %v", told, err)
		}
	}
}

// Whatever happens, weights sum to one, a deferral spends no shot, and the reveal reads back.
func TestProperty_whatever_happens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := able()
		queue := []string{"h1", "h2", "h3", "h4", "h5", "h6"}[:rapid.IntRange(0, 6).Draw(rt, "queue")]
		w.admit, w.abort, w.void, w.unpaid, w.rows = map[string]round.Event{}, map[string]string{}, map[string][]string{}, map[string]string{}, map[string]func([]score.Row){}
		for _, a := range append([]string{"gate-cascade", "gate-always-cheapest", "king"}, queue...) {
			w.quality[a] = rapid.Float64Range(0, 1).Draw(rt, a)
			switch rapid.IntRange(0, 12).Draw(rt, a+" fault") {
			case 0:
				w.abort[a] = "gone"
			case 1:
				w.unpaid[a] = "spend_not_metered"
			case 2:
				for range rapid.IntRange(1, 30).Draw(rt, a+" voids") {
					w.void[a] = append(w.void[a], fmt.Sprintf("b-%d", len(w.void[a])%perBenchmark))
				}
			case 3:
				how := rapid.SampledFrom([]ending.Ending{ending.BudgetExhausted, ending.DuelWallClock, ending.WallClock, ending.Futile}).Draw(rt, a+" cut")
				from := rapid.IntRange(0, 60).Draw(rt, a+" from")
				w.rows[a] = func(rows []score.Row) {
					for i := from; i < len(rows); i++ {
						rows[i] = score.Row{TaskID: rows[i].TaskID, Benchmark: rows[i].Benchmark, Ending: how}
					}
				}
			}
		}
		for _, h := range queue {
			w.admit[h] = rapid.SampledFrom([]round.Event{
				{Told: round.Admitted}, {Told: round.Admitted}, {Told: round.Refused, Detail: "r"}, {Told: round.Skipped, Detail: "s"}, {Told: round.Unready, Detail: "u"},
			}).Draw(rt, h+" admission")
			if rapid.IntRange(0, 5).Draw(rt, h+" leaves") == 0 {
				w.gone = append(w.gone, h)
			}
		}
		if rapid.Bool().Draw(rt, "forfeit") {
			w.promote = round.Event{Told: round.Forfeited, Detail: "no copy"}
		}
		s := setup(queue...)
		s.King = rapid.SampledFrom([]string{"", "k"}).Draw(rt, "king")
		s.KingGone = s.King != "" && rapid.Bool().Draw(rt, "gone")
		s.Coronations = rapid.SampledFrom([][]string{nil, {"x", "k"}, {"h9", "x", "h9", "y", "z", "q", "r", "k"}}).Draw(rt, "coronations")
		m := w.run(t, s)
		sound(rt, m)
		inOrder(rt, w.asked)
		fair(rt, s, m)
	})
}

// inOrder checks what every window asks for once, and in which order.
func inOrder(t *rapid.T, asked []string) {
	if n := len(asked); !slices.Equal(asked[n-4:], []string{"look", "persist", "weigh", "publish"}) {
		t.Errorf("the window ends with %v", asked[n-4:])
	}
	seen := map[string]bool{}
	for _, a := range asked {
		if seen[a] {
			t.Errorf("asked twice to %s", a)
		}
		seen[a] = true
	}
}

// fair checks that shots, crowns and reigns agree with each other.
func fair(t *rapid.T, s round.Setup, m *round.Machine) {
	r := m.Reveal()
	var spent, winners []string
	for _, o := range r.Outcomes {
		if o.ShotSpent {
			spent = append(spent, o.Hotkey)
		}
		if o.Won && o.Eligible {
			winners = append(winners, o.Hotkey)
		}
		if o.Status == submission.Deferred && (o.Verdict != nil || o.Arm != nil) {
			t.Errorf("%s is deferred and judged", o.Hotkey)
		}
	}
	if !slices.Equal(spent, m.Judged()) {
		t.Errorf("shots of %v are kept, the reveal says %v", m.Judged(), spent)
	}
	if r.Crowned != "" && !slices.Contains(winners, r.Crowned) || r.Crowned == "" && len(winners) > 0 {
		t.Errorf("%q is crowned, %v won", r.Crowned, winners)
	}
	king, coronations := m.Reigns()
	switch crowned := len(coronations) > len(s.Coronations); {
	case crowned && (king != r.Crowned || r.Promotion.Forfeited != ""):
		t.Errorf("%q reigns after a coronation of %q, forfeited %q", king, r.Crowned, r.Promotion.Forfeited)
	case !crowned && king != "" && (king != s.King || r.ReignEnded != ""):
		t.Errorf("%q reigns without a coronation", king)
	}
}
