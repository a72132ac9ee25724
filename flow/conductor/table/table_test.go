package table_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/conductor"
	"assay/conductor/outcome"
	"assay/conductor/reading"
	"assay/core/fault"
	"assay/core/money"
	"assay/flow/conductor/play"
	"assay/flow/conductor/table"
	"assay/run/lines"
)

// The table is what arms share.
var _ play.Table = (*table.Table)(nil)

var seven = table.Window{Number: 7, Nonce: "feed"}

func clock() time.Time { return time.Unix(1_790_000_000, 0) }

func open(t testing.TB, path string) *table.Table {
	t.Helper()
	tb, err := table.Open(path, seven, clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tb.Close() })
	return tb
}

// both runs a test on a table on disk and on its twin in memory.
func both(t *testing.T, test func(t *testing.T, tb *table.Table)) {
	t.Run("disk", func(t *testing.T) { test(t, open(t, filepath.Join(t.TempDir(), "table"))) })
	t.Run("memory", func(t *testing.T) { test(t, table.New()) })
}

func key(i int) outcome.Key { return outcome.Key{Task: "t", Model: "acme/small", Attempt: i} }

func row(i int) outcome.Row {
	return outcome.Row{Text: fmt.Sprint("answer ", i), Cost: money.Pico(i), Grade: 1}
}

// claim claims a key that nobody holds.
func claim(t testing.TB, tb *table.Table, k outcome.Key) *outcome.Row {
	t.Helper()
	r, err := tb.Claim(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func fill(t testing.TB, tb *table.Table, k outcome.Key, r outcome.Row) {
	t.Helper()
	if err := tb.Fill(k, r); err != nil {
		t.Fatal(err)
	}
}

func rows(tb *table.Table) (out []string) {
	for e, sum := range tb.Rows() {
		out = append(out, fmt.Sprint(e.Key, " ", e.Row.Text, e.Row.Failure, " ", sum[:8]))
	}
	return out
}

// O1 and O10 for the table alone: the second arm is served what the first bought, and the provider is paid once.
func TestBehaviourO1_TheSecondArmIsServed(t *testing.T) {
	both(t, func(t *testing.T, tb *table.Table) {
		for i := 1; i <= 6; i++ {
			if claim(t, tb, key(i)) != nil {
				t.Fatal("an empty table serves a row")
			}
			fill(t, tb, key(i), row(i))
		}
		for i := 1; i <= 6; i++ {
			r := claim(t, tb, key(i))
			if r == nil {
				t.Fatalf("draw %d is bought again", i)
			}
			if d := cmp.Diff(row(i), *r); d != "" {
				t.Error(d)
			}
			tb.Hit(key(i))
		}
		if d := cmp.Diff(outcome.Stats{Rows: 6, Fills: 6, Hits: 6, Provider: 21}, tb.Stats()); d != "" {
			t.Error(d)
		}
	})
}

func TestBehaviourO2_ASecondAskIsADrawOfItsOwn(t *testing.T) {
	both(t, func(t *testing.T, tb *table.Table) {
		fill(t, tb, key(1), row(1))
		if claim(t, tb, key(2)) != nil {
			t.Error("the second ask is served the first draw")
		}
		fill(t, tb, key(2), row(2))
		if r := claim(t, tb, key(1)); r == nil || r.Text != "answer 1" {
			t.Errorf("the first draw is %+v", r)
		}
	})
}

func TestBehaviourO3_AnotherModelHasItsOwnFirstDraw(t *testing.T) {
	both(t, func(t *testing.T, tb *table.Table) {
		fill(t, tb, key(1), row(1))
		if claim(t, tb, outcome.Key{Task: "t", Model: "acme/large", Attempt: 1}) != nil {
			t.Error("another model is served the first one's draw")
		}
	})
}

func TestBehaviourO12_ReadsAreServedWithTheRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	tb := open(t, path)
	r := row(1)
	r.Observations = []reading.Observation{
		{Call: reading.Call{Name: reading.List, Arg: "src", Start: "1"}, Output: "größe.py\n", ReplyDigest: strings.Repeat("a", 64)},
		{Call: reading.Call{Name: reading.Read, Arg: "a b.py", Start: "99999999999999999999"}, Truncated: true, ReplyDigest: strings.Repeat("b", 64)},
	}
	fill(t, tb, key(1), r)
	if err := tb.Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&r, claim(t, open(t, path), key(1))); d != "" {
		t.Error(d)
	}
}

func TestBehaviourO4_AFailureIsStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	tb := open(t, path)
	failed := outcome.Row{Failed: true, Failure: "provider: 500", Cost: 3, Provider: "Acme", ReceiptIDs: []string{"w7-king-1/0/0/0"}}
	fill(t, tb, key(1), failed)
	if err := tb.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"text":null`) {
		t.Errorf("the file says %s (%v)", text, err)
	}
	tb = open(t, path)
	if d := cmp.Diff(&failed, claim(t, tb, key(1))); d != "" {
		t.Error(d)
	}
	if s := tb.Stats(); s.FailedRows != 1 || s.FailureRate() != 1 {
		t.Errorf("%+v", s)
	}
}

func TestBehaviourO5_AGradersFailureIsARowOfGradeZero(t *testing.T) {
	both(t, func(t *testing.T, tb *table.Table) {
		claim(t, tb, key(1)) // an episode that the grader's failure ends gives its claim back
		tb.Release(key(1))
		if got := rows(tb); len(got) != 0 {
			t.Errorf("stored %v", got)
		}
		claim(t, tb, key(1)) // under the guard the row is stored
		fill(t, tb, key(1), outcome.Row{Text: "answer", Cost: 5})
		if r := claim(t, tb, key(1)); r == nil || r.Grade != 0 || r.Cost != 5 {
			t.Errorf("the row is %+v", r)
		}
	})
}

func TestBehaviourO6_AReleasedClaimIsNoRow(t *testing.T) {
	both(t, func(t *testing.T, tb *table.Table) {
		for range 6 {
			if claim(t, tb, key(1)) != nil {
				t.Fatal("a refused call became a row")
			}
			tb.Release(key(1))
		}
		tb.Release(key(2)) // nobody claimed it
		if s := tb.Stats(); s != (outcome.Stats{}) {
			t.Errorf("%+v", s)
		}
	})
}

func TestBehaviourO8_TheFirstDrawWins(t *testing.T) {
	both(t, func(t *testing.T, tb *table.Table) {
		fill(t, tb, key(1), row(1))
		fill(t, tb, key(1), row(2))
		if r := claim(t, tb, key(1)); r == nil || r.Text != "answer 1" {
			t.Errorf("the row is %+v", r)
		}
		if s := tb.Stats(); s.Rows != 1 || s.Fills != 1 || s.Provider != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestWaitersAreServedOrTakeOver(t *testing.T) {
	for name, end := range map[string]struct {
		end    func(tb *table.Table) error
		served bool
	}{
		"filled":   {func(tb *table.Table) error { return tb.Fill(key(1), row(1)) }, true},
		"released": {func(tb *table.Table) error { tb.Release(key(1)); return nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tb := table.New()
				claim(t, tb, key(1))
				var got *outcome.Row
				var err error
				done := false
				go func() { got, err = tb.Claim(t.Context(), key(1)); done = true }()
				gone := errors.New("gone")
				ctx, cancel := context.WithCancelCause(t.Context())
				go func() { time.Sleep(time.Second); cancel(gone) }()
				if _, err := tb.Claim(ctx, key(1)); !errors.Is(err, gone) {
					t.Errorf("a wait that is given up: %v", err)
				}
				synctest.Wait()
				if done {
					t.Fatal("a key that is held was given away")
				}
				if err := end.end(tb); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if !done || err != nil || (got != nil) != end.served {
					t.Errorf("done %v, served %v: %v", done, got, err)
				}
			})
		})
	}
}

func TestFailedDiskIsToldToEverybody(t *testing.T) {
	tb := open(t, filepath.Join(t.TempDir(), "table"))
	claim(t, tb, key(1))
	waiting := make(chan error)
	go func() {
		_, err := tb.Claim(context.Background(), key(1))
		waiting <- err
	}()
	if err := tb.Close(); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"who waits": <-waiting, "who fills": tb.Fill(key(1), row(1))} {
		if fault.Of(err) != lines.Broken || !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := tb.Claim(t.Context(), key(2)); fault.Of(err) != lines.Broken {
		t.Errorf("a later claim: %v", err)
	}
	if s := tb.Stats(); s.Rows != 0 {
		t.Errorf("a row that is not on disk counts: %+v", s)
	}
}

func TestImpossibleRowsAreRefused(t *testing.T) {
	both(t, func(t *testing.T, tb *table.Table) {
		if err := tb.Fill(key(0), row(1)); fault.Of(err) != conductor.BadRow {
			t.Errorf("attempt 0: %v", err)
		}
		claim(t, tb, key(1))
		if err := tb.Fill(key(1), outcome.Row{Text: "\xff"}); fault.Of(err) != conductor.BadRow {
			t.Errorf("text that is not UTF-8: %v", err)
		}
		fill(t, tb, key(1), row(1))
	})
}

func TestRowsComeInTheOrderOfKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	tb := open(t, path)
	for _, k := range []outcome.Key{{Task: "u", Model: "a", Attempt: 1}, {Task: "t", Model: "b", Attempt: 1}, {Task: "t", Model: "a", Attempt: 10}, {Task: "t", Model: "a", Attempt: 9}} {
		fill(t, tb, k, outcome.Row{Text: "x"})
	}
	var got []string
	for e, sum := range tb.Rows() {
		want, err := outcome.Digest(e.Key, e.Row)
		if err != nil || sum != want || e.FilledAt != clock().Unix() {
			t.Errorf("%v has digest %s, want %s (%v), and time %d", e.Key, sum, want, err, e.FilledAt)
		}
		got = append(got, fmt.Sprint(e.Key.Task, e.Key.Model, e.Key.Attempt))
		if len(got) == 3 {
			break
		}
	}
	if d := cmp.Diff([]string{"ta9", "ta10", "tb1"}, got); d != "" {
		t.Error(d)
	}
}

func TestRetestTakesHitDraws(t *testing.T) {
	both(t, func(t *testing.T, tb *table.Table) {
		for i := 1; i <= 20; i++ {
			r := row(i)
			r.Cost = money.Dollar / 10
			fill(t, tb, key(i), r)
			if i%2 == 0 {
				tb.Hit(key(i))
			}
		}
		tb.Hit(key(99)) // no such row
		picked := tb.Retest("feed")
		if len(picked) != outcome.RetestKeys {
			t.Fatalf("%d keys", len(picked))
		}
		for _, e := range picked {
			if e.Key.Attempt%2 == 1 || e.Row.Text == "" {
				t.Errorf("%v was never served", e.Key)
			}
		}
		other := tb.Retest("dead")
		if cmp.Equal(picked, other) || !cmp.Equal(picked, tb.Retest("feed")) {
			t.Error("the nonce does not decide what is picked, or not alone")
		}
	})
}
