package reign

import (
	"assay/conductor/ending"
	"assay/conductor/score"
)

// KingTooThin reports whether the arm's clock cut off more than half of the king's rows. Then no duel is scored and no
// shot is spent. An arm without rows is not thin.
func KingTooThin(king []score.Row) bool { return cutOff(king, ending.DuelWallClock) }

// KingUnfunded reports whether the allowance cut off more than half of the king's rows. Then its reign ends, while
// the window's duels stand.
func KingUnfunded(king []score.Row) bool { return cutOff(king, ending.BudgetExhausted) }

// cutOff reports whether more than half of the rows ended that way.
func cutOff(rows []score.Row, how ending.Ending) bool {
	n := 0
	for _, r := range rows {
		if r.Ending == how {
			n++
		}
	}
	return float64(len(rows)-n) < MinReached*float64(len(rows))
}
