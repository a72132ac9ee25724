package limit_test

import (
	"encoding/json"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/core/fault"
	"assay/core/limit"
	"assay/core/money"
)

// calls returns limits of n calls and nothing else bounded but depth.
func calls(n int64) limit.Limits {
	l := limit.MoneyOnly(limit.Unlimited)
	l.Calls = n
	return l
}

// spend holds and settles a at depth, and reports the refusal's code.
func spend(t *testing.T, l *limit.Ledger, a limit.Amount, depth int64) fault.Code {
	t.Helper()
	h, err := l.Hold(a, depth)
	if err != nil {
		return fault.Of(err)
	}
	if err := h.Settle(a); err != nil {
		t.Fatal(err)
	}
	return fault.Code{}
}

func TestZeroLedgerRefusesEverything(t *testing.T) {
	for name, l := range map[string]*limit.Ledger{
		"zero value": {}, "no limits": limit.Open(limit.Limits{}), "zero snapshot": limit.Resume(limit.Snapshot{}),
		"below zero": limit.Open(limit.MoneyOnly(-1)),
		"a zero snapshot among others": limit.Resume(
			limit.Snapshot{Limits: limit.MoneyOnly(money.Dollar)}, limit.Snapshot{}),
	} {
		for _, a := range []limit.Amount{{}, {Calls: 1}, {Money: 1}, {Tokens: 1, Time: time.Second, Frames: 1}} {
			if _, err := l.Hold(a, 0); fault.Of(err) != limit.Exhausted {
				t.Errorf("%s: Hold(%+v) = %v, want %v", name, a, err, limit.Exhausted.Name())
			}
		}
	}
}

func TestHoldIsRefused(t *testing.T) {
	full := limit.Limits{Amount: limit.Amount{Calls: 2, Tokens: 100, Money: 50, Time: time.Second, Frames: 3}, Depth: 4}
	for _, c := range []struct {
		name  string
		spent limit.Amount
		ask   limit.Amount
		depth int64
		want  fault.Code
	}{
		{"all that is left", limit.Amount{Calls: 1, Money: 20}, limit.Amount{Calls: 1, Money: 30}, 4, fault.Code{}},
		{"one call too many", limit.Amount{Calls: 2}, limit.Amount{Calls: 1}, 0, limit.Exhausted},
		{"one pico-dollar too many", limit.Amount{Money: 20}, limit.Amount{Money: 31}, 0, limit.Exhausted},
		{"one nanosecond too many", limit.Amount{}, limit.Amount{Time: time.Second + 1}, 0, limit.Exhausted},
		{"one frame too many", limit.Amount{Frames: 3}, limit.Amount{Frames: 1}, 0, limit.Exhausted},
		{"a full dimension that is not asked for", limit.Amount{Frames: 3}, limit.Amount{Calls: 1}, 0, fault.Code{}},
		{"unknown cost with room everywhere", limit.Amount{Money: 49}, limit.Amount{}, 0, fault.Code{}},
		{"unknown cost with a full dimension", limit.Amount{Money: 50}, limit.Amount{}, 0, limit.Exhausted},
		{"too deep", limit.Amount{}, limit.Amount{Calls: 1}, 5, limit.TooDeep},
		{"a sum beyond the range", limit.Amount{Tokens: 1}, limit.Amount{Tokens: limit.Unlimited}, 0, limit.Exhausted},
		{"below zero", limit.Amount{}, limit.Amount{Calls: -1}, 0, limit.Negative},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := limit.Resume(limit.Snapshot{Limits: full, Spent: c.spent})
			before := l.Snapshot()
			_, err := l.Hold(c.ask, c.depth)
			if fault.Of(err) != c.want {
				t.Fatalf("Hold = %v, want %q", err, c.want.Name())
			}
			if err != nil && l.Snapshot() != before {
				t.Errorf("a refused hold changed the ledger: %s", cmp.Diff(before, l.Snapshot()))
			}
		})
	}
}

func TestOverrunIsChargedAndEndsTheBudget(t *testing.T) {
	l := limit.Open(limit.MoneyOnly(100))
	h, err := l.Hold(limit.Amount{Money: 90}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Settle(limit.Amount{Money: 140, Calls: 1}); err != nil {
		t.Fatal(err)
	}
	if got := l.Spent().Money; got != 140 {
		t.Errorf("spent %d after an overrun, want all 140", got)
	}
	if got := l.Left().Money; got != 0 {
		t.Errorf("left %d, want 0", got)
	}
	for _, a := range []limit.Amount{{}, {Money: 1}, {Calls: 1}} {
		if got := spend(t, l, a, 0); got != limit.Exhausted {
			t.Errorf("after an overrun Hold(%+v) gave %q", a, got.Name())
		}
	}
}

func TestSettleOnce(t *testing.T) {
	l := limit.Open(calls(3))
	h, err := l.Hold(limit.Amount{Calls: 2}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Settle(limit.Amount{Calls: -1}); fault.Of(err) != limit.Negative {
		t.Errorf("negative settlement: %v", err)
	}
	if err := h.Settle(limit.Amount{Calls: 1}); err != nil {
		t.Fatal(err)
	}
	if err := h.Settle(limit.Amount{}); fault.Of(err) != limit.Settled {
		t.Errorf("second settlement: %v", err)
	}
	if got := l.Left().Calls; got != 2 {
		t.Errorf("left %d calls, want 2: a second settlement must give nothing back", got)
	}
}

// Children that overwrite the parent's total would let the tree go on; here all of them charge one ledger.
func TestFault55_ChildrenShareOneLedger(t *testing.T) {
	l := limit.Open(calls(10))
	for _, who := range []struct {
		depth int64
		calls int
	}{{0, 2}, {1, 5}, {2, 3}} {
		for range who.calls {
			if got := spend(t, l, limit.Amount{Calls: 1}, who.depth); got != (fault.Code{}) {
				t.Fatalf("depth %d: refused with %q before the limit", who.depth, got.Name())
			}
		}
	}
	if got := spend(t, l, limit.Amount{Calls: 1}, 0); got != limit.Exhausted {
		t.Errorf("the root's eleventh call: %q, want %q", got.Name(), limit.Exhausted.Name())
	}
	if got := l.Spent().Calls; got != 10 {
		t.Errorf("spent %d calls, want 10", got)
	}

	t.Run("the hold comes before the dispatch", func(t *testing.T) {
		l := limit.Open(calls(10))
		for range 10 {
			if _, err := l.Hold(limit.Amount{Calls: 1}, 0); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.Hold(limit.Amount{Calls: 1}, 0); fault.Of(err) != limit.Exhausted {
			t.Errorf("an eleventh call in flight: %v", err)
		}
	})
}

// An agent that always delegates to three children would open 9,840 frames at depth eight.
func TestFault56_SpendStopsATreeThatDepthDoesNot(t *testing.T) {
	limits := calls(200)
	limits.Frames, limits.Depth = 1000, 8
	l := limit.Open(limits)
	made, refused, open, most := 0, 0, 0, 0
	var agent func(depth int64)
	agent = func(depth int64) {
		h, err := l.Hold(limit.Amount{Calls: 1, Frames: 1}, depth)
		if err != nil {
			refused++
			return
		}
		made++
		open++
		most = max(most, open)
		for range 3 {
			agent(depth + 1)
		}
		open--
		if err := h.Settle(limit.Amount{Calls: 1, Frames: 1}); err != nil {
			t.Errorf("a parent could not close: %v", err)
		}
	}
	agent(1)
	if made != 200 || refused == 0 {
		t.Errorf("made %d calls and refused %d, want exactly 200 and then refusals", made, refused)
	}
	if most > 8 || open != 0 {
		t.Errorf("%d agents open at once, %d never closed", most, open)
	}
	record, err := json.Marshal(l.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	var again limit.Snapshot
	if err := json.Unmarshal(record, &again); err != nil {
		t.Fatal(err)
	}
	if got := spend(t, limit.Resume(again), limit.Amount{Calls: 1}, 1); got != limit.Exhausted {
		t.Errorf("after a restart from the durable record: %q", got.Name())
	}
}

// 500 random histories, each against a plain second account.
func TestLedgerNeverGivesBack(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 55))
		history(t, r)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func history(t *testing.T, r *rand.Rand) {
	most := r.Int64N(2000)
	l := limit.Open(limit.MoneyOnly(money.Pico(most)))
	type hold struct {
		h    *limit.Hold
		size int64
	}
	var open []hold
	var snaps []limit.Snapshot
	var held, settled, overrun, before int64
	for range 60 {
		switch {
		case r.IntN(2) == 0 || len(open) == 0:
			size := r.Int64N(200)
			h, err := l.Hold(limit.Amount{Money: money.Pico(size)}, 0)
			fits := held+settled <= most && (size > 0 && size <= most-held-settled || size == 0 && held+settled < most)
			if fits != (err == nil) {
				t.Errorf("limit %d, held %d, settled %d: Hold(%d) = %v", most, held, settled, size, err)
			}
			if err == nil {
				open, held = append(open, hold{h, size}), held+size
			}
		default:
			i := r.IntN(len(open))
			actual := r.Int64N(300)
			if err := open[i].h.Settle(limit.Amount{Money: money.Pico(actual)}); err != nil {
				t.Error(err)
			}
			held, settled, overrun = held-open[i].size, settled+actual, overrun+max(0, actual-open[i].size)
			open = append(open[:i], open[i+1:]...)
		}
		spent := int64(l.Spent().Money)
		if spent < before || spent != settled {
			t.Errorf("spent went from %d to %d, want %d", before, spent, settled)
		}
		if spent > most+overrun {
			t.Errorf("spent %d of %d with overruns of %d only", spent, most, overrun)
		}
		before = spent
		snaps = append(snaps, l.Snapshot())
	}
	r.Shuffle(len(snaps), func(i, j int) { snaps[i], snaps[j] = snaps[j], snaps[i] })
	again := limit.Resume(snaps[0], snaps[1:]...)
	if a, b := again.Left().Money, l.Left().Money; a > b {
		t.Errorf("a restart found %d where %d was left", a, b)
	}
	if again.Spent().Money < l.Spent().Money {
		t.Error("a restart forgot spending")
	}
}

func TestResumeTakesTightestLimits(t *testing.T) {
	loose, tight := calls(10), calls(4)
	loose.Depth, tight.Depth = 2, 7
	l := limit.Resume(limit.Snapshot{Limits: loose, Spent: limit.Amount{Calls: 1, Tokens: 9}},
		limit.Snapshot{Limits: tight, Spent: limit.Amount{Calls: 3}})
	want := limit.Snapshot{Limits: tight, Spent: limit.Amount{Calls: 3, Tokens: 9}}
	want.Limits.Depth = 2
	if diff := cmp.Diff(want, l.Snapshot()); diff != "" {
		t.Error(diff)
	}
}

func TestConcurrentHoldsNeverExceedTheLimit(t *testing.T) {
	l := limit.Open(calls(1000))
	var made sync.Map
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			n := 0
			for range 500 {
				if h, err := l.Hold(limit.Amount{Calls: 1}, 0); err == nil {
					n++
					_ = h.Settle(limit.Amount{Calls: 1})
				}
			}
			made.Store(g, n)
		})
	}
	wg.Wait()
	total := 0
	made.Range(func(_, n any) bool { total += n.(int); return true })
	if total != 1000 || l.Spent().Calls != 1000 {
		t.Errorf("%d calls went out, %d were charged, want 1000", total, l.Spent().Calls)
	}
}

func BenchmarkHoldSettle(b *testing.B) {
	l := limit.Open(limit.MoneyOnly(money.Max - 1))
	b.ReportAllocs()
	for b.Loop() {
		h, err := l.Hold(limit.Amount{Money: 3}, 0)
		if err != nil {
			b.Fatal(err)
		}
		_ = h.Settle(limit.Amount{Money: 2})
	}
}
