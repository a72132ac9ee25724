package outcome_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay/conductor/outcome"
	"assay/core/money"
)

func TestBehaviourO8_TheFirstDrawStands(t *testing.T) {
	tb := outcome.NewTable()
	k := outcome.Key{Task: "t", Model: "m", Attempt: 1}
	if _, there := tb.Get(k); there {
		t.Error("an empty table holds a row")
	}
	tb.Put(k, outcome.Row{Text: "first", Cost: 1, Grade: 1})
	tb.Put(k, outcome.Row{Text: "second", Cost: 9, Failed: true})
	if r, there := tb.Get(k); !there || r.Text != "first" || r.Grade != 1 {
		t.Errorf("the row is %+v", r)
	}
	for _, other := range []outcome.Key{{Task: "t", Model: "m", Attempt: 2}, {Task: "t", Model: "n", Attempt: 1}, {Task: "u", Model: "m", Attempt: 1}} {
		if _, there := tb.Get(other); there {
			t.Errorf("%+v is another draw and holds a row", other)
		}
	}
}

func TestBehaviourO13_Stats(t *testing.T) {
	tb := outcome.NewTable()
	if s := tb.Stats(); s != (outcome.Stats{}) || s.FailureRate() != 0 {
		t.Errorf("an empty table has %+v", s)
	}
	for i, r := range []outcome.Row{{Cost: 10}, {Cost: 5, Failed: true}, {Cost: 0}, {Cost: 1, Failed: true}} {
		tb.Put(outcome.Key{Task: "t", Model: "m", Attempt: i + 1}, r)
	}
	tb.Put(outcome.Key{Task: "t", Model: "m", Attempt: 1}, outcome.Row{Cost: 100}) // no fill
	tb.Hit()
	tb.Hit()
	want := outcome.Stats{Rows: 4, Fills: 4, Hits: 2, FailedRows: 2, Provider: 16}
	if d := cmp.Diff(want, tb.Stats()); d != "" || tb.Stats().FailureRate() != .5 {
		t.Errorf("failure rate %g, %s", tb.Stats().FailureRate(), d)
	}
}

func TestProperty_the_first_draw_of_every_key_stands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tb := outcome.NewTable()
		first := map[outcome.Key]outcome.Row{}
		for i := range rapid.IntRange(0, 40).Draw(t, "puts") {
			k := outcome.Key{
				Task: rapid.SampledFrom([]string{"t", "u"}).Draw(t, "task"), Model: rapid.SampledFrom([]string{"m", "n"}).Draw(t, "model"),
				Attempt: rapid.IntRange(1, 3).Draw(t, "attempt"),
			}
			r := outcome.Row{Cost: money.Pico(i), Failed: rapid.Bool().Draw(t, "failed")}
			if _, there := first[k]; !there {
				first[k] = r
			}
			tb.Put(k, r)
		}
		want := outcome.Stats{Rows: len(first), Fills: len(first)}
		for k, r := range first {
			got, there := tb.Get(k)
			if d := cmp.Diff(r, got); !there || d != "" {
				t.Fatalf("%+v: %s", k, d)
			}
			want.Provider += r.Cost
			if r.Failed {
				want.FailedRows++
			}
		}
		if d := cmp.Diff(want, tb.Stats()); d != "" {
			t.Fatal(d)
		}
	})
}
