// Package storetest is the suite that every store passes.
//
// Invariants:
//   - Run uses nothing but the contract, so a driver that passes keeps every promise of package store.
//
// Specification: docs/spec/store.md.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"assay/conductor/submission"
	"assay/core/fault"
	"assay/store"
)

// Run holds a store to the contract. open returns the store of the test's own records: what an open of the same t wrote before is
// there again.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for name, test := range map[string]func(*testing.T, func(*testing.T) store.Store){
		"submissions": submissions, "windows": windows, "shots": shots, "coronations": coronations, "settle": settle,
		"transactions": transactions, "closing": closing, "two at once": twoAtOnce,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

// Commitment returns the commitment of a hotkey at a block.
func Commitment(hotkey string, block int64) submission.Commitment {
	return submission.Commitment{Hotkey: hotkey, Block: block, Registration: submission.Digest{1, byte(block)}, Manifest: submission.Digest{2, byte(block)}}
}

// is fails unless err carries the code; the zero Code wants none.
func is(t *testing.T, err error, want fault.Code) {
	t.Helper()
	if got := fault.Of(err); got != want {
		t.Errorf("%v, want %q", err, want.Name())
	}
}

var none fault.Code

// update runs one transaction that must end well.
func update(t *testing.T, s store.Store, f func(store.Conductor)) {
	t.Helper()
	if err := s.Update(t.Context(), func(tx store.Tx) error { f(tx.Conductor); return nil }); err != nil {
		t.Fatal(err)
	}
}

func view(t *testing.T, s store.Store, f func(store.Conductor)) {
	t.Helper()
	if err := s.View(t.Context(), func(tx store.Tx) error { f(tx.Conductor); return nil }); err != nil {
		t.Fatal(err)
	}
}

// same fails unless a list is what is wanted.
func same[T comparable](t *testing.T, want []T) func([]T, error) {
	t.Helper()
	return func(got []T, err error) {
		t.Helper()
		if !slices.Equal(want, got) || err != nil {
			t.Errorf("%v, %v\nwant %v", got, err, want)
		}
	}
}

func submissions(t *testing.T, open func(*testing.T) store.Store) {
	s := open(t)
	first := Commitment("b", 5)
	update(t, s, func(c store.Conductor) {
		is(t, c.Submissions.Put(first), none)
		is(t, c.Submissions.Put(Commitment("a", 5)), none)
		is(t, c.Submissions.Put(Commitment("z", 1)), none)
		is(t, c.Submissions.Put(first), none)
		is(t, c.Submissions.Put(Commitment("b", 6)), store.Conflict)
		is(t, c.Submissions.Put(submission.Commitment{}), store.Invalid)
		is(t, c.Submissions.Put(Commitment("n", -1)), store.Invalid)
	})
	view(t, open(t), func(c store.Conductor) {
		same(t, []submission.Commitment{Commitment("z", 1), Commitment("a", 5), first})(c.Submissions.List())
		got, err := c.Submissions.Get("b")
		if got != first || err != nil {
			t.Errorf("%v, %v", got, err)
		}
		_, err = c.Submissions.Get("nobody")
		is(t, err, store.NotFound)
	})
}

func windows(t *testing.T, open func(*testing.T) store.Store) {
	s := open(t)
	update(t, s, func(c store.Conductor) {
		is(t, c.Windows.Open(2, 700, "0xbb"), none)
		is(t, c.Windows.Open(1, 350, "0xaa"), none)
		is(t, c.Windows.Advance(1, store.Weighed), store.Conflict)
		is(t, c.Windows.Advance(1, store.Settled), none)
		is(t, c.Windows.Open(1, 350, "0xaa"), none)
		is(t, c.Windows.Open(1, 351, "0xaa"), store.Conflict)
		is(t, c.Windows.Open(1, 350, "0xab"), store.Conflict)
		is(t, c.Windows.Advance(1, store.Opened), none)
		is(t, c.Windows.Advance(1, store.Phase(9)), store.Invalid)
		is(t, c.Windows.Advance(3, store.Settled), store.NotFound)
		is(t, c.Windows.Open(0, 1, "0xaa"), store.Invalid)
		is(t, c.Windows.Open(3, 1, ""), store.Invalid)
	})
	view(t, s, func(c store.Conductor) {
		same(t, []store.Window{window(1, 350, "0xaa", store.Settled), window(2, 700, "0xbb", store.Opened)})(c.Windows.List(store.Published))
		same(t, []store.Window{window(2, 700, "0xbb", store.Opened)})(c.Windows.List(store.Settled))
		_, err := c.Windows.Get(3)
		is(t, err, store.NotFound)
	})
}

func window(number, block int64, nonce string, phase store.Phase) store.Window {
	return store.Window{Number: number, Block: block, Nonce: nonce, Phase: phase}
}

// stage puts hotkeys a to e and the windows 1 to 3 into a store.
func stage(t *testing.T, s store.Store) {
	t.Helper()
	update(t, s, func(c store.Conductor) {
		for i, h := range []string{"a", "b", "c", "d", "e"} {
			is(t, c.Submissions.Put(Commitment(h, int64(i))), none)
		}
		for n := range int64(3) {
			is(t, c.Windows.Open(n+1, n*100, "0xaa"), none)
		}
	})
}

func shots(t *testing.T, open func(*testing.T) store.Store) {
	s := open(t)
	stage(t, s)
	spent, waits := store.Shot{Hotkey: "b", Window: 1, Status: submission.Duelled}, store.Shot{Hotkey: "a", Window: 1, Status: submission.Deferred, Detail: "why"}
	update(t, s, func(c store.Conductor) {
		is(t, c.Shots.Judge(spent), none)
		is(t, c.Shots.Judge(waits), none)
		is(t, c.Shots.Judge(spent), none)
		is(t, c.Shots.Judge(store.Shot{Hotkey: "b", Window: 1, Status: submission.Refused}), store.Conflict)
		is(t, c.Shots.Judge(store.Shot{Hotkey: "b", Window: 2, Status: submission.Deferred}), store.Conflict)
		is(t, c.Shots.Judge(store.Shot{Hotkey: "a", Window: 1, Status: submission.Duelled}), store.Conflict)
		is(t, c.Shots.Judge(store.Shot{Hotkey: "a", Window: 2, Status: submission.Refused, Detail: "pickle"}), none)
		is(t, c.Shots.Judge(store.Shot{Hotkey: "x", Window: 1, Status: submission.Refused}), store.NotFound)
		is(t, c.Shots.Judge(store.Shot{Hotkey: "c", Window: 9, Status: submission.Refused}), store.NotFound)
		is(t, c.Shots.Judge(store.Shot{Hotkey: "c", Window: 1, Status: submission.Queued}), store.Invalid)
	})
	view(t, s, func(c store.Conductor) {
		same(t, []string{"a", "b"})(c.Shots.Judged())
		same(t, []store.Shot{waits, spent})(c.Shots.OfWindow(1))
		same(t, []store.Shot{})(c.Shots.OfWindow(3))
		for h, want := range map[string]int64{"a": 2, "b": 1, "c": 0, "x": 0} {
			if got, err := c.Shots.Spent(h); got != want || err != nil {
				t.Errorf("%s: %d, %v", h, got, err)
			}
		}
	})
}

func coronations(t *testing.T, open func(*testing.T) store.Store) {
	s := open(t)
	stage(t, s)
	update(t, s, func(c store.Conductor) {
		is(t, c.Coronations.Append(store.Coronation{Window: 1, Hotkey: "c"}), none)
		is(t, c.Coronations.Append(store.Coronation{Window: 1, Hotkey: "c"}), none)
		is(t, c.Coronations.Append(store.Coronation{Window: 1, Hotkey: "d"}), store.Conflict)
		is(t, c.Coronations.Append(store.Coronation{Window: 3, Hotkey: "a"}), none)
		is(t, c.Coronations.Append(store.Coronation{Window: 2, Hotkey: "a"}), store.Conflict)
		is(t, c.Coronations.Append(store.Coronation{Window: 4, Hotkey: "a"}), store.NotFound)
		is(t, c.Coronations.Append(store.Coronation{Window: 3, Hotkey: "x"}), store.NotFound)
	})
	view(t, s, func(c store.Conductor) {
		same(t, []store.Coronation{{Window: 1, Hotkey: "c"}, {Window: 3, Hotkey: "a"}})(c.Coronations.List())
	})
}

// settle holds that a window settled twice is settled once.
func settle(t *testing.T, open func(*testing.T) store.Store) {
	s := open(t)
	stage(t, s)
	done := store.Settlement{Window: 1, Crowned: "b", Shots: []store.Shot{
		{Hotkey: "c", Window: 1, Status: submission.Refused, Detail: "no weight file"}, {Hotkey: "b", Window: 1, Status: submission.Duelled},
		{Hotkey: "d", Window: 1, Status: submission.Deferred, Detail: "waits"},
	}}
	run := func(x store.Settlement) error {
		return s.Update(t.Context(), func(tx store.Tx) error { return store.Settle(tx.Conductor, x) })
	}
	is(t, run(store.Settlement{Window: 7}), store.NotFound)
	wrong := done
	wrong.Shots = append(wrong.Shots[:2:2], store.Shot{Hotkey: "d", Window: 2, Status: submission.Deferred})
	is(t, run(wrong), store.Invalid)
	view(t, s, func(c store.Conductor) { same(t, []string{})(c.Shots.Judged()) }) // nothing of it happened
	is(t, run(done), none)
	is(t, run(done), none)
	is(t, run(store.Settlement{Window: 1, Crowned: "c", Shots: done.Shots}), store.Conflict)
	is(t, run(store.Settlement{Window: 1, Crowned: "b", Shots: done.Shots[:2]}), store.Conflict)
	is(t, run(store.Settlement{Window: 2}), none)
	view(t, s, func(c store.Conductor) {
		same(t, []string{"b", "c"})(c.Shots.Judged())
		same(t, []store.Coronation{{Window: 1, Hotkey: "b"}})(c.Coronations.List())
		same(t, []store.Window{window(3, 200, "0xaa", store.Opened)})(c.Windows.List(store.Settled))
	})
}

var errWanted = errors.New("the transaction changed its mind")

func transactions(t *testing.T, open func(*testing.T) store.Store) {
	s := open(t)
	update(t, s, func(c store.Conductor) { is(t, c.Submissions.Put(Commitment("a", 1)), none) })
	err := s.Update(t.Context(), func(tx store.Tx) error {
		is(t, tx.Conductor.Submissions.Put(Commitment("b", 2)), none)
		same(t, []submission.Commitment{Commitment("a", 1), Commitment("b", 2)})(tx.Conductor.Submissions.List()) // sees its own
		return errWanted
	})
	if !errors.Is(err, errWanted) {
		t.Errorf("%v", err)
	}
	func() {
		defer func() {
			if p := recover(); p != "ours" {
				t.Errorf("recovered %v", p)
			}
		}()
		_ = s.Update(t.Context(), func(tx store.Tx) error {
			is(t, tx.Conductor.Submissions.Put(Commitment("c", 3)), none)
			panic("ours")
		})
	}()
	is(t, s.View(t.Context(), func(tx store.Tx) error { return tx.Conductor.Submissions.Put(Commitment("d", 4)) }), store.ReadOnly)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Update(cancelled, func(tx store.Tx) error { return tx.Conductor.Submissions.Put(Commitment("e", 5)) }); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	} else if err == nil {
		t.Error("a cancelled transaction was carried out")
	}
	view(t, s, func(c store.Conductor) {
		same(t, []submission.Commitment{Commitment("a", 1)})(c.Submissions.List())
		update(t, s, func(c store.Conductor) { is(t, c.Submissions.Put(Commitment("f", 6)), none) })
		same(t, []submission.Commitment{Commitment("a", 1)})(c.Submissions.List()) // one moment
	})
}

func closing(t *testing.T, open func(*testing.T) store.Store) {
	s := open(t)
	update(t, s, func(c store.Conductor) { is(t, c.Submissions.Put(Commitment("a", 1)), none) })
	is(t, s.Close(), none)
	is(t, s.Close(), none)
	is(t, s.Update(t.Context(), func(store.Tx) error { return nil }), store.Closed)
	is(t, s.View(t.Context(), func(store.Tx) error { return nil }), store.Closed)
	view(t, open(t), func(c store.Conductor) { same(t, []submission.Commitment{Commitment("a", 1)})(c.Submissions.List()) })
}

// twoAtOnce has two stores of the same records take the same shots: each is spent once, and nothing of either is lost.
func twoAtOnce(t *testing.T, open func(*testing.T) store.Store) {
	stores := []store.Store{open(t), open(t)}
	const each = 40
	won := make([]int, len(stores))
	var wait sync.WaitGroup
	for i, s := range stores {
		wait.Go(func() {
			for n := range int64(each) {
				err := s.Update(t.Context(), func(tx store.Tx) error {
					if err := tx.Conductor.Submissions.Put(Commitment(fmt.Sprintf("%d/%02d", i, n), n)); err != nil {
						return err
					}
					return tx.Conductor.Windows.Open(n+1, n, fmt.Sprint("0x", i)) // the first wins
				})
				switch fault.Of(err) {
				case none:
					won[i]++
				case store.Conflict:
				default:
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	view(t, stores[0], func(c store.Conductor) {
		all, err := c.Submissions.List()
		if len(all) != each || err != nil || won[0]+won[1] != each {
			t.Errorf("%d submissions, %v; %v won", len(all), err, won)
		}
	})
}
