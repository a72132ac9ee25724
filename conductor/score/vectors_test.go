package score_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/conductor/ending"
	"assay/conductor/score"
	"assay/core/fault"
)

// vectorRow is a row as the conformance vectors write it.
type vectorRow struct {
	TaskID    string `json:"task_id"`
	Benchmark string
	Score     float64
	Spend     float64
	Reason    string
}

func rowsOf(in []vectorRow) []score.Row {
	out := make([]score.Row, len(in))
	for i, r := range in {
		if r.Reason == "" {
			r.Reason = "stop"
		}
		out[i] = score.Row{TaskID: r.TaskID, Benchmark: r.Benchmark, Score: r.Score, Spend: r.Spend, Ending: ending.Ending(r.Reason)}
	}
	return out
}

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

type scoreLine struct {
	ID string
	Op string
	In struct {
		Results, Observed []vectorRow
		Tasks             []struct {
			TaskID    string `json:"task_id"`
			Benchmark string
		}
		Exchange map[string]score.Rate
		Excluded []string
	}
	Want      json.RawMessage
	WantError string `json:"want_error"`
}

func TestVectorsScoreArm(t *testing.T) {
	vectors(t, "score_arm", func(t *testing.T, b []byte) {
		var line scoreLine
		if err := json.Unmarshal(b, &line); err != nil {
			t.Fatal(err)
		}
		if line.Op == "ceiling" {
			checkCeiling(t, line)
			return
		}
		card, err := score.Of(rowsOf(line.In.Results), line.In.Exchange)
		if refused(t, line.ID, line.WantError, err) {
			return
		}
		var want struct {
			PerBenchmark   []score.Line `json:"per_benchmark"`
			Quality, Final float64
			Excluded       [][2]json.RawMessage
		}
		if err := json.Unmarshal(line.Want, &want); err != nil {
			t.Fatal(err)
		}
		same := near(card.Quality, want.Quality) && near(card.Final, want.Final) &&
			len(card.Lines) == len(want.PerBenchmark) && len(card.Excluded) == len(want.Excluded)
		for i := 0; same && i < len(card.Lines); i++ {
			g, w := card.Lines[i], want.PerBenchmark[i]
			same = g.Benchmark == w.Benchmark && g.N == w.N && near(g.Quality, w.Quality) && near(g.Spend, w.Spend) && near(g.Final, w.Final)
		}
		for i := 0; same && i < len(card.Excluded); i++ {
			var name string
			var flags []score.Flag
			if json.Unmarshal(want.Excluded[i][0], &name) != nil || json.Unmarshal(want.Excluded[i][1], &flags) != nil {
				t.Fatal(line.ID)
			}
			same = card.Excluded[i].Benchmark == name && len(card.Excluded[i].Flags) == len(flags) && card.Excluded[i].Flags[0] == flags[0]
		}
		if !same {
			t.Errorf("%s: got %+v, want %s", line.ID, card, line.Want)
		}
	})
}

func checkCeiling(t *testing.T, line scoreLine) {
	t.Helper()
	var tasks []score.Task
	for _, x := range line.In.Tasks {
		tasks = append(tasks, score.Task{ID: x.TaskID, Benchmark: x.Benchmark})
	}
	got, err := score.Ceiling(rowsOf(line.In.Observed), tasks, line.In.Exchange, line.In.Excluded)
	if refused(t, line.ID, line.WantError, err) {
		return
	}
	var want float64
	if err := json.Unmarshal(line.Want, &want); err != nil {
		t.Fatal(err)
	}
	if !near(got, want) {
		t.Errorf("%s: ceiling %v, want %v", line.ID, got, want)
	}
}

func TestVectorsExchange(t *testing.T) {
	type rates = map[string]score.Rate
	vectors(t, "exchange", func(t *testing.T, b []byte) {
		var line struct {
			ID, Op string
			In     struct {
				Cheapest, Top []vectorRow
				Arms          map[string][]vectorRow
			}
			Want      json.RawMessage
			WantError string `json:"want_error"`
		}
		if err := json.Unmarshal(b, &line); err != nil {
			t.Fatal(err)
		}
		var want struct {
			KingZero   string `json:"king_zero"`
			Floor, Top string
			Exchange   rates
		}
		var got score.Pool
		var err error
		into := any(&want)
		if line.Op == "fit_pool" {
			arms := map[string][]score.Row{}
			for name, rows := range line.In.Arms {
				arms[name] = rowsOf(rows)
			}
			got, err = score.FitPool(arms)
		} else {
			into = &want.Exchange
			got.Exchange, err = score.Fit(rowsOf(line.In.Cheapest), rowsOf(line.In.Top))
		}
		if refused(t, line.ID, line.WantError, err) {
			return
		}
		if err := json.Unmarshal(line.Want, into); err != nil {
			t.Fatal(err)
		}
		same := got.KingZero == want.KingZero && got.Floor == want.Floor && got.Top == want.Top && len(got.Exchange) == len(want.Exchange)
		for name, w := range want.Exchange {
			g := got.Exchange[name]
			same = same && near(g.Lam, w.Lam) && near(g.C, w.C) && len(g.Flags) == len(w.Flags)
			for i := 0; same && i < len(g.Flags); i++ {
				same = g.Flags[i] == w.Flags[i]
			}
		}
		if !same {
			t.Errorf("%s: got %+v, want %s", line.ID, got, line.Want)
		}
	})
}
