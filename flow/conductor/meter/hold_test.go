package meter_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/core/fault"
	"assay/core/money"
	"assay/flow/conductor/meter"
)

// taking sends nothing for as long as it is told and then answers.
func taking(d time.Duration, e episode.Event) func(context.Context) (episode.Event, error) {
	return func(ctx context.Context) (episode.Event, error) {
		select {
		case <-time.After(d):
			return e, nil
		case <-ctx.Done():
			return episode.Event{}, context.Cause(ctx)
		}
	}
}

func TestBehaviourG2_AnUnknownPriceHoldsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t)
		a := d.bind(limited("w7-a-1", 10*cent))
		r := request(t, "m/a")
		var group sync.WaitGroup
		began := time.Now()
		for i := range 3 {
			group.Go(func() {
				if i > 0 {
					time.Sleep(time.Second)
				}
				e, err := a.Call(t.Context(), strconv.Itoa(i)+"/0/0", r, taking(20*time.Second, answered("x", 2*cent)))
				if err != nil || e.Told != episode.Answered {
					t.Errorf("call %d: %+v, %v", i, e, err)
				}
			})
		}
		time.Sleep(2 * time.Second)
		d.left(a, 0) // the first holds all of it
		time.Sleep(19 * time.Second)
		d.left(a, 4*cent) // the others hold the price that is known now
		group.Wait()
		if took := time.Since(began); took != 40*time.Second {
			t.Errorf("took %s: the others wait for the first alone", took)
		}
		d.left(a, 4*cent)
		d.close()
	})
}

func TestMoneyThatIsMerelyHeldIsNoRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t)
		a := d.bind(limited("w7-a-1", 10*cent))
		r := request(t, "m/a")
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := a.Call(t.Context(), "0/0/0", r, taking(5*time.Minute, answered("x", 12*cent))); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		began := time.Now()
		if _, err := a.Call(t.Context(), "1/0/0", r, d.send(answered("x", cent), nil)); fault.Of(err) != meter.Congested || time.Since(began) != meter.PriceWait {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if _, err := a.Replay(t.Context(), "1/0/0", r, outcome.Key{Model: "m/a"}, outcome.Row{Cost: 1}); fault.Of(err) != meter.Congested {
			t.Errorf("a replay: %v", err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("the arm is stopped")
		time.AfterFunc(time.Second, func() { cancel(stop) })
		if _, err := a.Call(ctx, "1/0/0", r, d.send(answered("x", cent), nil)); !errors.Is(err, stop) {
			t.Errorf("%v", err)
		}
		if _, err := a.Call(t.Context(), "0/0/0", r, d.send(answered("x", cent), nil)); fault.Of(err) != meter.UnderWay {
			t.Errorf("the same id twice: %v", err)
		}
		if err := a.Close(); fault.Of(err) != meter.UnderWay {
			t.Errorf("closed under a call: %v", err)
		}
		if s, err := a.Summary(0); err != nil || s.Unfunded != 0 || d.sent != 0 {
			t.Errorf("%+v, %v", s, err)
		}
		group.Wait() // it cost more than there was: now the money is gone
		if e := d.call(a, "1/0/0", "m/a", answered("x", cent)); e.Told != episode.Refused || d.sent != 0 {
			t.Errorf("%+v", e)
		}
		d.left(a, 0)
		d.close()
	})
}

// Room that a lost call keeps does not come back by waiting; room of a call under way does.
func TestWhatALostCallKeepsIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t)
		a := d.bind(limited("w7-a-1", 9*cent))
		d.call(a, "0/0/0", "m/a", answered("x", 3*cent))
		for _, id := range []string{"0/1/0", "0/2/0"} {
			if _, err := a.Call(t.Context(), id, request(t, "m/a"), d.send(episode.Event{}, errors.New("the process ends"))); err == nil {
				t.Fatal("a call without a result gave one")
			}
		}
		d.left(a, 0)
		began := time.Now()
		if e := d.call(a, "0/3/0", "m/a", answered("x", cent)); e.Told != episode.Refused || time.Since(began) != 0 {
			t.Errorf("after %s: %+v", time.Since(began), e)
		}
		var group sync.WaitGroup
		group.Go(func() { // it gets its own room back, and is under way
			if _, err := a.Call(t.Context(), "0/1/0", request(t, "m/a"), taking(time.Second, answered("x", cent))); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if e := d.call(a, "0/4/0", "m/a", answered("x", cent)); e.Told != episode.Answered || time.Since(began) != time.Second {
			t.Errorf("after %s: %+v", time.Since(began), e)
		}
		group.Wait()
		d.close()
	})
}

func TestTheOwnersArmsWaitForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t)
		a := d.bind(meter.Binding{Duel: "w7-king0-1"})
		var group sync.WaitGroup
		began := time.Now()
		for i := range 16 {
			group.Go(func() {
				if _, err := a.Call(t.Context(), strconv.Itoa(i)+"/0/0", request(t, "m/a"), taking(time.Minute, answered("x", cent))); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if took := time.Since(began); took != time.Minute || a.Metered() != 16*cent {
			t.Errorf("%s, %s", took, a.Metered())
		}
		if _, limited := a.Left(); limited || len(d.w.Owed()) != 0 {
			t.Error("the owner's account is limited, or owes something")
		}
		d.close()
	})
}

// TestBehaviourG2_NeverOverspent lets 64 goroutines of two arms of one account, calls and replays, spend what they can. No call costs
// more than the highest price of its model that was settled before it, once one was: so the account is overspent by one call that
// found less than its price at most, and never while the price is covered.
func TestBehaviourG2_NeverOverspent(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		seed, limit := random.Uint64(), money.Pico(random.Int64N(400))
		prices := []money.Pico{money.Pico(1 + random.Int64N(30)), money.Pico(1 + random.Int64N(30))}
		synctest.Test(t, func(t *testing.T) { spend(t, seed, limit, prices) })
	}
	synctest.Test(t, func(t *testing.T) { spend(t, 0, 0, []money.Pico{1, 1}) })
}

func spend(t *testing.T, seed uint64, limit money.Pico, prices []money.Pico) {
	set := settings()
	set.Idempotent = true // fewer lines on disk
	path := filepath.Join(t.TempDir(), "meter")
	w, err := meter.Open(path, set)
	if err != nil {
		t.Fatal(err)
	}
	arms := make([]*meter.Arm, 2)
	for i := range arms {
		if arms[i], err = w.Bind(limited("w7-a-"+strconv.Itoa(i+1), limit), nil); err != nil {
			t.Fatal(err)
		}
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var calls, refused int
	for i := range 64 {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		a, model, wait := arms[i%2], random.IntN(2), time.Duration(random.IntN(200))*time.Millisecond
		r := request(t, "m/"+strconv.Itoa(model))
		group.Go(func() {
			time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
			told := episode.Replayed
			var err error
			if i%8 == 7 {
				var why string
				why, err = a.Replay(t.Context(), strconv.Itoa(i)+"/0/0", r, outcome.Key{Model: "m/x", Attempt: i}, outcome.Row{Cost: prices[model]})
				if why != "" {
					told = episode.Refused
				}
			} else {
				var e episode.Event
				e, err = a.Call(t.Context(), strconv.Itoa(i)+"/0/0", r, taking(wait, answered("x", prices[model])))
				told = e.Told
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
			if told == episode.Refused {
				refused++
			} else {
				calls++
			}
		})
	}
	group.Wait()
	spent, most := arms[0].Metered().Plus(arms[1].Metered()), max(prices[0], prices[1])
	left, _ := arms[0].Left()
	switch {
	case limit > 0 && spent >= limit+most, limit == 0 && spent > 0:
		t.Errorf("%d of %d spent, a call costs %d at most", spent, limit, most)
	case refused > 0 && left > 0:
		t.Errorf("%d refused while %d are left", refused, left)
	case refused == 0 && calls != 64:
		t.Errorf("%d calls", calls)
	case left != max(0, limit-spent):
		t.Errorf("%d left of %d, %d spent", left, limit, spent)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w, err = meter.Open(path, set); err != nil {
		t.Fatal(err)
	}
	if after, _ := w.Arm("w7-a-1").Left(); after != left {
		t.Errorf("%d left, and %d when it was opened again", left, after)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkCall measures what metering adds to a call that takes no time: 16 at once share an fsync.
func BenchmarkCall(b *testing.B) {
	for _, idempotent := range []bool{false, true} {
		b.Run("idempotent="+strconv.FormatBool(idempotent), func(b *testing.B) {
			set := settings()
			set.Idempotent = idempotent
			w, err := meter.Open(filepath.Join(b.TempDir(), "meter"), set)
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			a, err := w.Bind(meter.Binding{Duel: "w7-king0-1"}, nil)
			if err != nil {
				b.Fatal(err)
			}
			r, e := request(b, "m/a"), answered("Answer: C", cent)
			var next atomic.Int64
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					id := strconv.FormatInt(next.Add(1), 10) + "/0/0"
					if _, err := a.Call(b.Context(), id, r, func(context.Context) (episode.Event, error) { return e, nil }); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
