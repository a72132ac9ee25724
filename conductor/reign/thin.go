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

// MaxVoid is the share of its tasks that an arm may find void, by graders, served models or lost calls, before it says
// nothing any more: what is left of the slice could be won by luck, and whoever can break graders could choose it.
const MaxVoid = 0.25

// TooVoid reports whether an arm voided more than it may. Then it is not judged, and what it voided stays in the other arms.
func TooVoid(void, tasks int) bool { return float64(void) > MaxVoid*float64(tasks) }

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
