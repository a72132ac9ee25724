package score

import (
	"math"
	"slices"

	"assay/conductor"
	"assay/core/fault"
)

// Flag says why a benchmark is excluded from scoring.
type Flag string

// The flags, in the order in which a rate lists them.
const (
	LambdaUndefined Flag = "lambda-undefined" // the reference arms cost about the same: there is no slope to fit
	Dominator       Flag = "dominator"        // the dear arm is no better than the cheap one: spending buys nothing
)

// SpreadFloor is the least difference of the reference arms' spends, as a share of their mean, that fits a slope.
const SpreadFloor = 0.05

// Rate prices one benchmark.
type Rate struct {
	Lam   float64 // quality that C dollars have to buy; 0 when flagged
	C     float64 // dollars: what a task costs on average over both reference arms
	Flags []Flag  // any flag excludes the benchmark
}

// Excluded reports whether the benchmark is left out of scoring.
func (r Rate) Excluded() bool { return len(r.Flags) > 0 }

// Final is quality less the price of spend dollars per task: quality - Lam * spend / C.
func (r Rate) Final(quality, spend float64) float64 { return quality - r.Lam*spend/r.C }

// Exchange holds the rates of a season by benchmark. It is fixed before anybody commits.
type Exchange map[string]Rate

// Rate looks a benchmark up. It refuses one that is not there, and a rate in use that prices nothing or pays for spending.
func (e Exchange) Rate(benchmark string) (Rate, error) {
	r, ok := e[benchmark]
	if !ok {
		return Rate{}, conductor.NoRate.With(fault.Str("benchmark", benchmark))
	}
	if !r.Excluded() && !(r.Lam >= 0 && r.C > 0 && r.Lam <= math.MaxFloat64 && r.C <= math.MaxFloat64) {
		return Rate{}, conductor.BadRate.With(fault.Str("benchmark", benchmark))
	}
	return r, nil
}

// Fit makes the exchange under which the two reference arms tie on every benchmark: Lam is the quality gained for
// each C dollars more. It refuses an empty arm, a benchmark in one arm only, and a benchmark that cost nothing.
func Fit(cheapest, top []Row) (Exchange, error) {
	if len(cheapest) == 0 || len(top) == 0 {
		return nil, conductor.NoEpisodes.With()
	}
	low, err := split(cheapest)
	if err != nil {
		return nil, err
	}
	high, err := split(top)
	if err != nil {
		return nil, err
	}
	if !slices.EqualFunc(low, high, func(a, b column) bool { return a.benchmark == b.benchmark }) {
		return nil, conductor.OneArmOnly.With()
	}
	exchange := make(Exchange, len(low))
	for i := range low {
		rate, err := fit(low[i], high[i])
		if err != nil {
			return nil, err
		}
		exchange[low[i].benchmark] = rate
	}
	return exchange, nil
}

// fit prices one benchmark from the two arms' columns.
func fit(low, high column) (Rate, error) {
	c := mean(slices.Concat(low.spends, high.spends))
	if !(c > 0) {
		return Rate{}, conductor.NoReferenceCost.With(fault.Str("benchmark", low.benchmark))
	}
	gain := mean(high.scores) - mean(low.scores)
	cheap, dear := mean(low.spends), mean(high.spends)
	rate := Rate{C: c}
	if (dear-cheap)/((dear+cheap)/2) < SpreadFloor {
		rate.Flags = append(rate.Flags, LambdaUndefined)
	}
	if gain <= 0 {
		rate.Flags = append(rate.Flags, Dominator)
	}
	if !rate.Excluded() {
		rate.Lam = gain * c / (dear - cheap)
	}
	return rate, nil
}
