// Package contest answers the vectors of the statistics: scores, exchange rates, duels and reigns.
//
// Invariants:
//   - An answer is what the rule gives; nothing is computed here.
package contest

import "assay/verify/vector"

// Groups returns the groups that are known here, by name.
func Groups() map[string]vector.Runner {
	return map[string]vector.Runner{
		"score_arm": runScoreArm, "exchange": runExchange, "exclude": runExclude, "bootstrap_rng": runBootstrap,
		"duel": runDuel, "adjudicate": runAdjudicate, "emissions": runEmissions,
	}
}
