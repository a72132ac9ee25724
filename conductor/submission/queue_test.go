package submission_test

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/conductor/submission"
)

func sum(s string) [32]byte { return sha256.Sum256([]byte(s)) }

// standing makes a queue of hotkeys, each with its block, that could all be judged. Registrations are the hotkeys' own.
func standing(commits ...submission.Commitment) submission.Standing {
	s := submission.Standing{
		Opening: 1000, Commitments: commits, Judged: map[string]bool{}, Known: map[string]submission.Digest{},
		Registered: map[string]submission.Digest{}, Funded: map[string]bool{},
	}
	for _, c := range commits {
		s.Registered[c.Hotkey] = sum(c.Hotkey)
		s.Funded[c.Hotkey] = true
	}
	return s
}

func commit(hotkey string, block int64) submission.Commitment {
	return submission.Commitment{Hotkey: hotkey, Block: block, Registration: sum(hotkey), Manifest: sum("m" + hotkey)}
}

// show writes places as "hotkey status wait".
func show(places []submission.Place) string {
	var out []string
	for _, p := range places {
		s := p.Hotkey + " " + string(p.Status)
		if p.Wait > 0 {
			s += fmt.Sprint(" ", p.Wait)
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func want(t *testing.T, got []submission.Place, want string) {
	t.Helper()
	if show(got) != want {
		t.Errorf("\n got %s\nwant %s", show(got), want)
	}
}

func TestBehaviourX5_QueueOrder(t *testing.T) {
	want(t, submission.Queue(standing(commit("c", 2), commit("b", 1), commit("a", 2), commit("d", 0))), "d queued, b queued, a queued, c queued")
	want(t, submission.Queue(standing()), "")
}

func TestBehaviourX6_JudgedLeaveFirstThenDepthThenDuels(t *testing.T) {
	var commits []submission.Commitment
	for i, h := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
		commits = append(commits, commit(h, int64(i)))
	}
	s := standing(commits...)
	s.Judged["a"], s.Judged["c"] = true, true
	queue := submission.Queue(s)
	want(t, queue, "b queued, d queued, e queued, f queued, g queued, h queued, i unqueued 2, j unqueued 2, k unqueued 2, l unqueued 3")
	admitted := map[string]submission.Answer{}
	for _, h := range []string{"b", "d", "e"} {
		admitted[h] = submission.Answer{Status: submission.Queued}
	}
	want(t, submission.Seat(queue, admitted),
		"b queued, d queued, e queued, f deferred 1, g deferred 1, h deferred 1, i unqueued 2, j unqueued 2, k unqueued 2, l unqueued 3")
}

func TestBehaviourX4_RefusalGivesItsPlaceToTheNext(t *testing.T) {
	queue := submission.Queue(standing(commit("a", 1), commit("b", 2), commit("c", 3), commit("d", 4), commit("e", 5), commit("f", 6)))
	got := submission.Seat(queue, map[string]submission.Answer{
		"a": {Status: submission.Refused, Detail: "pickle archive refused: x.bin"}, "b": {Status: submission.Queued}, "c": {Status: submission.Deferred, Detail: "disk"},
		"d": {Status: submission.Queued}, "e": {Status: submission.Queued},
	})
	want(t, got, "a refused, b queued, c deferred, d queued, e queued, f deferred 1")
	if got[0].Detail == "" || !got[0].Status.Spends() || got[2].Status.Spends() || got[5].Status.Spends() || queue[0].Status != submission.Queued {
		t.Errorf("%+v", got)
	}
}

func TestBehaviourX7_UnfundedHoldNoPlace(t *testing.T) {
	var commits []submission.Commitment
	for i := range 8 {
		commits = append(commits, commit(string(rune('a'+i)), int64(i)))
	}
	s := standing(commits...)
	s.Funded["a"], s.Funded["b"] = false, false
	want(t, submission.Queue(s), "a skipped, b skipped, c queued, d queued, e queued, f queued, g queued, h queued")
}

func TestBehaviourX8_ResignalUnderAnotherRegistration(t *testing.T) {
	s := standing(commit("a", 1), commit("b", 2), commit("c", 3), commit("d", 4))
	s.Known["a"] = sum("a registration before")
	s.Known["b"] = sum("b")
	s.Registered["c"] = sum("c was registered again")
	delete(s.Registered, "d")
	got := submission.Queue(s)
	want(t, got, "a skipped, b queued, c skipped, d skipped")
	if got[0].Detail != submission.WhyResignalled || got[2].Detail != submission.WhyRegistration || got[3].Detail != submission.WhyUnregistered {
		t.Errorf("%+v", got)
	}
}

func TestFault14_NothingIsCommittedWithTheSliceInSight(t *testing.T) {
	s := standing(commit("before", 999), commit("at", 1000), commit("behind", 1001))
	want(t, submission.Queue(s), "before queued, at later, behind later")
	s.Opening = 1200 // the next window
	want(t, submission.Queue(s), "before queued, at queued, behind queued")
	// Who commits other weights after the draw gives up the place of the commitment before it.
	s = standing(commit("a", 10), commit("b", 20))
	s.Commitments[0].Block, s.Commitments[0].Manifest = 1003, sum("chosen after the draw")
	want(t, submission.Queue(s), "b queued, a later")
}

func TestQueueProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := standing()
		for i := range rapid.IntRange(0, 15).Draw(t, "n") {
			c := commit(fmt.Sprintf("h%02d", i), rapid.Int64Range(990, 1005).Draw(t, "block"))
			s.Commitments = append(s.Commitments, c)
			s.Judged[c.Hotkey] = rapid.Bool().Draw(t, "judged")
			s.Funded[c.Hotkey] = rapid.Bool().Draw(t, "funded")
			s.Registered[c.Hotkey] = sum(c.Hotkey)
		}
		places := submission.Queue(s)
		shuffled := s
		shuffled.Commitments = rapid.Permutation(s.Commitments).Draw(t, "order")
		if show(places) != show(submission.Queue(shuffled)) {
			t.Fatal("the order in which the chain lists commitments shows")
		}
		queued := 0
		for i, p := range places {
			if s.Judged[p.Hotkey] {
				t.Fatalf("%s has a second shot", p.Hotkey)
			}
			if i > 0 && cmp.Or(cmp.Compare(places[i-1].Block, p.Block), cmp.Compare(places[i-1].Hotkey, p.Hotkey)) >= 0 {
				t.Fatal("out of order")
			}
			if p.Status == submission.Queued {
				queued++
			}
			if (p.Status == submission.Queued || p.Status == submission.Unqueued) && (p.Block >= s.Opening || !s.Funded[p.Hotkey]) {
				t.Fatalf("%+v", p)
			}
			if p.Status == submission.Unqueued && queued != submission.Depth {
				t.Fatalf("unqueued with %d places taken", queued)
			}
		}
		// A window that judges the first three never leaves anybody waiting longer than it said.
		waits := map[string]int{}
		for _, p := range submission.Seat(places, nil) {
			if p.Status == submission.Deferred || p.Status == submission.Unqueued {
				waits[p.Hotkey] = p.Wait
			}
		}
		for window := 0; len(waits) > 0; window++ {
			for _, p := range submission.Seat(submission.Queue(s), nil) {
				if p.Status == submission.Queued {
					if w, waited := waits[p.Hotkey]; waited && w != window {
						t.Fatalf("%s waited %d windows and was told %d", p.Hotkey, window, w)
					}
					delete(waits, p.Hotkey)
					s.Judged[p.Hotkey] = true
				}
			}
			if window > 20 {
				t.Fatal("somebody waits for ever")
			}
			s.Commitments = slices.DeleteFunc(slices.Clone(s.Commitments), func(c submission.Commitment) bool { return c.Block >= s.Opening })
		}
	})
}
