package duel_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/conductor/bootstrap"
	"assay/conductor/duel"
	"assay/conductor/ending"
	"assay/conductor/score"
	"assay/core/fault"

	"github.com/google/go-cmp/cmp"
)

// vectors hands every line of a group to f, or skips where the conformance vectors are not at hand.
func vectors(t *testing.T, group string, f func(t *testing.T, line []byte)) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Skip("no go.mod above the test")
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "..", "shared", "vectors", "conductor", group+".jsonl"))
	if err != nil {
		t.Skip("the conformance vectors are not beside this repository")
	}
	for line := range strings.Lines(string(b)) {
		f(t, []byte(line))
	}
}

// near is the vectors' tolerance.
func near(got, want float64) bool {
	return math.Abs(got-want) <= 1e-12*math.Max(1, math.Abs(want))
}

// refused compares an error with the vectors' word for it and reports whether the line is done.
func refused(t *testing.T, id, want string, err error) bool {
	t.Helper()
	if word := fault.Of(err).Word(); word != want {
		t.Errorf("%s: refused as %q, want %q (%v)", id, word, want, err)
	}
	return want != "" || err != nil
}

// named is a [benchmark, number] pair of the vectors.
type named struct {
	name  string
	value float64
}

func (n *named) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[2]any{&n.name, &n.value})
}

type duelLine struct {
	ID, Op string
	In     struct {
		Nonce    string
		Seed     *uint64
		Exchange score.Exchange
		Eps      *float64
		NBoot    *int `json:"n_boot"`
		Deltas   []float64
		Pairs    []struct {
			Benchmark      string
			KQ, KS, CQ, CS []float64
			Groups         []string
		}
	}
	Want struct {
		Delta, LCB, Median float64
		LOOMin             float64 `json:"loo_min"`
		LOODropped         *string `json:"loo_dropped"`
		NTasks             int     `json:"n_tasks"`
		SignWins           int     `json:"sign_wins"`
		SignP              float64 `json:"sign_p"`
		ByBenchmark        []named `json:"by_benchmark"`
		Counted, LOO       []named
		NoiseFloor         []float64 `json:"noise_floor"`
		Conditions         duel.Conditions

		// sign_test; wins is a number there and a boolean in a duel.
		Wins any
		P    float64
	}
	WantError string `json:"want_error"`
}

func (l duelLine) run() (duel.Result, error) {
	set := duel.Standard(l.In.Nonce)
	if l.In.Seed != nil {
		set.Seed = bootstrap.Exactly(*l.In.Seed)
	}
	if l.In.Eps != nil {
		set.Eps = *l.In.Eps
	}
	if l.In.NBoot != nil {
		set.Rounds = *l.In.NBoot
	}
	var pairs []duel.Pair
	for _, p := range l.In.Pairs {
		pair, err := duel.NewPair(p.Benchmark, duel.Columns{
			KingQuality: p.KQ, KingSpend: p.KS, ChallengerQuality: p.CQ, ChallengerSpend: p.CS, Groups: p.Groups,
		})
		if err != nil {
			return duel.Result{}, err
		}
		pairs = append(pairs, pair)
	}
	return duel.Run(pairs, l.In.Exchange, set)
}

func TestVectorsDuel(t *testing.T) {
	vectors(t, "duel", func(t *testing.T, b []byte) {
		var line duelLine
		if err := json.Unmarshal(b, &line); err != nil {
			t.Fatal(err)
		}
		if line.Op == "sign_test" {
			wins, p := duel.SignTest(line.In.Deltas)
			if float64(wins) != line.Want.Wins || !near(p, line.Want.P) {
				t.Errorf("%s: %d %v, want %v %v", line.ID, wins, p, line.Want.Wins, line.Want.P)
			}
			return
		}
		r, err := line.run()
		if refused(t, line.ID, line.WantError, err) {
			return
		}
		w := line.Want
		check := func(what string, ok bool) {
			if !ok {
				t.Errorf("%s: %s: got %+v, want %+v", line.ID, what, r, w)
			}
		}
		check("delta", near(r.Delta, w.Delta))
		check("lcb", near(r.LCB, w.LCB))
		check("loo_min", near(r.LOOMin, w.LOOMin))
		check("loo_dropped", w.LOODropped == nil || *w.LOODropped == r.LOODropped)
		check("median", near(r.Median, w.Median))
		check("sign", r.SignWins == w.SignWins && near(r.SignP, w.SignP))
		check("tasks", r.NTasks == w.NTasks)
		check("conditions", r.Conditions == w.Conditions && r.Wins() == w.Wins)
		for name, column := range map[string]struct {
			want []named
			got  func(duel.Line) float64
		}{
			"by_benchmark": {w.ByBenchmark, func(l duel.Line) float64 { return l.Delta }},
			"counted":      {w.Counted, func(l duel.Line) float64 { return l.Counted }},
			"loo":          {w.LOO, func(l duel.Line) float64 { return l.LOO }},
		} {
			check(name, slices.EqualFunc(r.ByBenchmark, column.want, func(l duel.Line, n named) bool {
				return l.Benchmark == n.name && near(column.got(l), n.value)
			}))
		}
		check("noise_floor", slices.EqualFunc(r.ByBenchmark, w.NoiseFloor, func(l duel.Line, x float64) bool { return near(l.NoiseFloor, x) }))
	})
}

func TestVectorsExclude(t *testing.T) {
	type row struct {
		TaskID    string `json:"task_id"`
		Benchmark string
		Score     float64
		Spend     float64
		Reason    string
	}
	rows := func(in []row) (out []score.Row) {
		for _, r := range in {
			out = append(out, score.Row{TaskID: r.TaskID, Benchmark: r.Benchmark, Score: r.Score, Spend: r.Spend, Ending: ending.Ending(r.Reason)})
		}
		return out
	}
	vectors(t, "exclude", func(t *testing.T, b []byte) {
		var line struct {
			ID string
			In struct {
				King, Challenger []row
				Failed           []string
			}
			Want struct {
				Kept     []string
				Excluded [][2]string
			}
			WantError string `json:"want_error"`
		}
		if err := json.Unmarshal(b, &line); err != nil {
			t.Fatal(err)
		}
		kept, err := duel.Exclude(rows(line.In.King), rows(line.In.Challenger), line.In.Failed)
		if refused(t, line.ID, line.WantError, err) {
			return
		}
		ids, excluded := []string{}, [][2]string{}
		for i, r := range kept.King {
			if kept.Challenger[i].TaskID != r.TaskID {
				t.Errorf("%s: rows are not aligned", line.ID)
			}
			ids = append(ids, r.TaskID)
		}
		for _, e := range kept.Excluded {
			excluded = append(excluded, [2]string{e.TaskID, string(e.Reason)})
		}
		if diff := cmp.Diff(line.Want.Kept, ids) + cmp.Diff(line.Want.Excluded, excluded); diff != "" {
			t.Errorf("%s: -want +got\n%s", line.ID, diff)
		}
	})
}
