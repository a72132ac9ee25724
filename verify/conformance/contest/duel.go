package contest

import (
	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor"
	"assay/conductor/bootstrap"
	"assay/conductor/duel"
	"assay/conductor/profile"
	"assay/core/canon"
	"assay/verify/vector"
)

func runExclude(_ profile.Profile, op string, in jsontext.Value) (any, error) {
	v, err := vector.Read[struct {
		King       []rowIn  `json:"king"`
		Challenger []rowIn  `json:"challenger"`
		Failed     []string `json:"failed"`
	}](in)
	if err != nil {
		return nil, err
	}
	if op != "exclude" {
		return nil, vector.UnknownOp(op)
	}
	k, err := duel.Exclude(armOf(v.King), armOf(v.Challenger), v.Failed)
	if err != nil {
		return nil, err
	}
	kept, excluded := []any{}, []any{}
	for i, r := range k.King {
		if k.Challenger[i].TaskID != r.TaskID {
			return nil, conductor.Misaligned.With() // both arms keep the same tasks in the same order
		}
		kept = append(kept, r.TaskID)
	}
	for _, e := range k.Excluded {
		excluded = append(excluded, []any{e.TaskID, string(e.Reason)})
	}
	return canon.Object{"kept": kept, "excluded": excluded}, nil
}

// seedOf is the seed that a line gives, or that of its nonce's duels.
func seedOf(seed *uint64, nonce string) bootstrap.Seed {
	if seed != nil {
		return bootstrap.Exactly(*seed)
	}
	return bootstrap.OfDuel(nonce)
}

func runBootstrap(_ profile.Profile, op string, in jsontext.Value) (any, error) {
	v, err := vector.Read[struct {
		Seed  *uint64     `json:"seed"`
		Nonce string      `json:"nonce"`
		Draws [][2]uint32 `json:"draws"`
	}](in)
	if err != nil {
		return nil, err
	}
	if op != "rng" {
		return nil, vector.UnknownOp(op)
	}
	seed, ok := seedOf(v.Seed, v.Nonce).Value()
	if !ok {
		return nil, conductor.NoSeed.With()
	}
	src := bootstrap.From(seed)
	rows := []any{}
	for _, d := range v.Draws {
		row := []any{}
		for range d[1] {
			row = append(row, uint64(src.Below(d[0])))
		}
		rows = append(rows, row)
	}
	return canon.Object{"seed": seed, "rows": rows}, nil
}

type duelIn struct {
	Nonce    string     `json:"nonce"`
	Seed     *uint64    `json:"seed"`
	Exchange exchangeIn `json:"exchange"`
	Eps      *float64   `json:"eps"`
	Rounds   *int       `json:"n_boot"`
	Deltas   []float64  `json:"deltas"`
	Pairs    []struct {
		Benchmark string    `json:"benchmark"`
		KQ        []float64 `json:"kq"`
		KS        []float64 `json:"ks"`
		CQ        []float64 `json:"cq"`
		CS        []float64 `json:"cs"`
		Groups    []string  `json:"groups"`
	} `json:"pairs"`
}

func runDuel(_ profile.Profile, op string, in jsontext.Value) (any, error) {
	v, err := vector.Read[duelIn](in)
	if err != nil {
		return nil, err
	}
	switch op {
	case "duel":
		r, err := v.run()
		if err != nil {
			return nil, err
		}
		return duelOut(r), nil
	case "sign_test":
		wins, p := duel.SignTest(v.Deltas)
		return canon.Object{"wins": wins, "p": p}, nil
	}
	return nil, vector.UnknownOp(op)
}

func (v duelIn) run() (duel.Result, error) {
	set := duel.Standard(v.Nonce)
	set.Seed = seedOf(v.Seed, v.Nonce)
	if v.Eps != nil {
		set.Eps = *v.Eps
	}
	if v.Rounds != nil {
		set.Rounds = *v.Rounds
	}
	pairs := make([]duel.Pair, len(v.Pairs))
	for i, p := range v.Pairs {
		var err error
		pairs[i], err = duel.NewPair(p.Benchmark, duel.Columns{
			KingQuality: p.KQ, KingSpend: p.KS, ChallengerQuality: p.CQ, ChallengerSpend: p.CS, Groups: p.Groups,
		})
		if err != nil {
			return duel.Result{}, err
		}
	}
	return duel.Run(pairs, v.Exchange.rates(), set)
}

// verdictOut holds what every verdict shows.
func verdictOut(r duel.Result) canon.Object {
	deltas := []any{}
	for _, l := range r.ByBenchmark {
		deltas = append(deltas, []any{l.Benchmark, l.Delta})
	}
	c := r.Conditions
	return canon.Object{
		"delta": r.Delta, "lcb": r.LCB, "loo_min": r.LOOMin, "median": r.Median, "n_tasks": r.NTasks, "by_benchmark": deltas,
		"loo_dropped": vector.UnlessNull{Value: r.LOODropped}, "wins": r.Wins(),
		"conditions": canon.Object{"delta": c.Delta, "lcb": c.LCB, "breadth": c.Breadth, "median": c.Median},
	}
}

// duelOut is verdictOut with all that a duel rests on.
func duelOut(r duel.Result) canon.Object {
	counted, loo, noise := []any{}, []any{}, []any{}
	for _, l := range r.ByBenchmark {
		counted = append(counted, []any{l.Benchmark, l.Counted})
		loo = append(loo, []any{l.Benchmark, l.LOO})
		noise = append(noise, l.NoiseFloor)
	}
	out := verdictOut(r)
	out["counted"], out["loo"], out["noise_floor"] = counted, loo, noise
	out["sign_wins"], out["sign_p"] = r.SignWins, r.SignP
	return out
}
