package reign_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/conductor/duel"
	"assay/conductor/ending"
	"assay/conductor/reign"
	"assay/conductor/score"
	"assay/core/fault"
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

// vectorRow is a row as the conformance vectors write it.
type vectorRow struct {
	TaskID    string `json:"task_id"`
	Benchmark string
	Score     float64
	Spend     float64
	Reason    string
}

func rowsOf(in []vectorRow) (out []score.Row) {
	for _, r := range in {
		out = append(out, score.Row{TaskID: r.TaskID, Benchmark: r.Benchmark, Score: r.Score, Spend: r.Spend, Ending: ending.Ending(r.Reason)})
	}
	return out
}

// named is a [benchmark, number] pair of the vectors.
type named struct {
	name  string
	value float64
}

func (n *named) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[2]any{&n.name, &n.value})
}

type wantedVerdict struct {
	Delta, LCB, Median float64
	LOOMin             float64 `json:"loo_min"`
	LOODropped         *string `json:"loo_dropped"`
	NTasks             int     `json:"n_tasks"`
	ByBenchmark        []named `json:"by_benchmark"`
	Conditions         duel.Conditions
	Wins               bool
}

func (w *wantedVerdict) is(r *duel.Result) bool {
	if w == nil || r == nil {
		return w == nil && r == nil
	}
	return near(r.Delta, w.Delta) && near(r.LCB, w.LCB) && near(r.Median, w.Median) && near(r.LOOMin, w.LOOMin) &&
		(w.LOODropped == nil || *w.LOODropped == r.LOODropped) && r.NTasks == w.NTasks && r.Conditions == w.Conditions &&
		r.Wins() == w.Wins && slices.EqualFunc(r.ByBenchmark, w.ByBenchmark, func(l duel.Line, n named) bool {
		return l.Benchmark == n.name && near(l.Delta, n.value)
	})
}

type adjudicateLine struct {
	ID, Op string
	In     struct {
		Nonce         string
		King, Results []vectorRow
		Challengers   []struct {
			Hotkey  string
			Block   int64
			Results []vectorRow
		}
		Failed   []string
		Exchange score.Exchange
		Tasks    []struct {
			TaskID    string `json:"task_id"`
			Benchmark string
			Group     string
		}
	}
	Want      json.RawMessage
	WantError string `json:"want_error"`
}

type wantedOutcome struct {
	Crowned   *string
	KingFinal *float64 `json:"king_final"`
	KingRows  *int     `json:"king_rows"`
	Rows      []struct {
		Hotkey                      string
		Eligible                    bool
		Reached, Clocked, Exhausted int
		Verdict                     *wantedVerdict
		Refusals                    []string
		Final                       *float64
		Rematch                     *struct {
			Incumbent string
			Clears    bool
			Delta     *float64
			Refusals  []string
		}
	}
}

func (l adjudicateLine) window() reign.Window {
	w := reign.Window{Nonce: l.In.Nonce, Exchange: l.In.Exchange, Failed: l.In.Failed, King: rowsOf(l.In.King)}
	for _, t := range l.In.Tasks {
		w.Tasks = append(w.Tasks, score.Task{ID: t.TaskID, Benchmark: t.Benchmark, Group: t.Group})
	}
	for _, c := range l.In.Challengers {
		w.Challengers = append(w.Challengers, reign.Challenger{Hotkey: c.Hotkey, Block: c.Block, Rows: rowsOf(c.Results)})
	}
	return w
}

func sameFinal(want *float64, got *score.Card) bool {
	if want == nil || got == nil {
		return want == nil && got == nil
	}
	return near(got.Final, *want)
}

func TestVectorsAdjudicate(t *testing.T) {
	vectors(t, "adjudicate", func(t *testing.T, b []byte) {
		var line adjudicateLine
		if err := json.Unmarshal(b, &line); err != nil {
			t.Fatal(err)
		}
		if line.Op == "king_too_thin" {
			if got := strconv.FormatBool(reign.KingTooThin(rowsOf(line.In.Results))); got != string(line.Want) {
				t.Errorf("%s: %s, want %s", line.ID, got, line.Want)
			}
			return
		}
		out, err := reign.Adjudicate(line.window())
		if word := fault.Of(err).Word(); word != line.WantError {
			t.Errorf("%s: refused as %q, want %q (%v)", line.ID, word, line.WantError, err)
		}
		if err != nil || line.WantError != "" {
			return
		}
		var want wantedOutcome
		if err := json.Unmarshal(line.Want, &want); err != nil {
			t.Fatal(err)
		}
		checkOutcome(t, line.ID, out, want)
	})
}

func checkOutcome(t *testing.T, id string, out reign.Outcome, want wantedOutcome) {
	t.Helper()
	check := func(what string, ok bool) {
		if !ok {
			t.Errorf("%s: %s: got %+v", id, what, out)
		}
	}
	crowned := ""
	if want.Crowned != nil {
		crowned = *want.Crowned
	}
	check("crowned", out.Crowned == crowned)
	check("king's final", sameFinal(want.KingFinal, out.KingCard))
	check("king's rows", (want.KingRows == nil && out.KingCard == nil) || (want.KingRows != nil && out.KingCard.N() == *want.KingRows))
	if len(out.Judgements) != len(want.Rows) {
		t.Fatalf("%s: %d judgements, want %d", id, len(out.Judgements), len(want.Rows))
	}
	for i, w := range want.Rows {
		j := out.Judgements[i]
		check("counts", j.Hotkey == w.Hotkey && j.Eligible == w.Eligible && j.Reached == w.Reached && j.Clocked == w.Clocked && j.Exhausted == w.Exhausted)
		check("verdict", w.Verdict.is(j.Verdict))
		if j.Verdict != nil {
			check("refusals", slices.Equal(j.Verdict.Conditions.Refused(), w.Refusals))
		}
		check("final", sameFinal(w.Final, j.Card))
		if w.Rematch == nil || j.Rematch == nil {
			check("rematch", w.Rematch == nil && j.Rematch == nil)
			continue
		}
		v := j.Rematch.Verdict
		check("rematch", j.Rematch.Incumbent == w.Rematch.Incumbent && j.Rematch.Clears() == w.Rematch.Clears && near(v.Delta, *w.Rematch.Delta) &&
			slices.Equal(v.Conditions.Refused(), w.Rematch.Refusals))
	}
}

func TestVectorsEmissions(t *testing.T) {
	vectors(t, "emissions", func(t *testing.T, b []byte) {
		var line struct {
			ID string
			In struct {
				Coronations []string
				King        string
				Hotkeys     map[int]string
				BurnUID     int  `json:"burn_uid"`
				KingZeroUID *int `json:"king_zero_uid"`
			}
			Want struct {
				Weights    [][2]float64
				Pensioners []string
			}
		}
		if err := json.Unmarshal(b, &line); err != nil {
			t.Fatal(err)
		}
		in := line.In
		got := reign.Emissions(reign.Court{
			Coronations: in.Coronations, King: in.King, Live: in.Hotkeys, BurnUID: in.BurnUID, KingZeroUID: in.KingZeroUID,
		})
		if !slices.Equal(got.Pensioners, line.Want.Pensioners) || !slices.EqualFunc(got.Weights, line.Want.Weights, func(w reign.Weight, x [2]float64) bool {
			return w.UID == int(x[0]) && near(w.Share, x[1])
		}) {
			t.Errorf("%s: got %+v, want %+v", line.ID, got, line.Want)
		}
	})
}
