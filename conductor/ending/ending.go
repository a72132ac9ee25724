// Package ending lists the ways in which an episode ends, with the names that traces and verdicts publish.
//
// Invariants:
//   - The list is closed and its order is the order in which reports print it.
//   - What an ending means for the score is asked here and nowhere else.
package ending

// Ending is why an episode ended. Its text is the published name.
type Ending string

// The endings.
const (
	Stop            Ending = "stop"             // the Conductor said STOP; best result kept
	MaxSteps        Ending = "max_steps"        // twelve steps used; best result kept
	ParseFailures   Ending = "parse_failures"   // three unreadable turns in a row; best result kept
	WallClock       Ending = "wall_clock"       // 900 s passed; the result is zeroed, the spend stands
	DuelWallClock   Ending = "duel_wall_clock"  // the arm's 9000 s had passed before the task began; leaves both arms
	BudgetExhausted Ending = "budget_exhausted" // the allowance is gone; best result kept, or zero when never begun
	Futile          Ending = "futile"           // the arm could no longer win; never begun
	Excluded        Ending = "excluded"         // the task had already left the slice; never begun
)

// All lists the endings in the order of reports.
func All() []Ending {
	return []Ending{Stop, MaxSteps, ParseFailures, WallClock, DuelWallClock, BudgetExhausted, Futile, Excluded}
}

// Reached reports whether a row with this ending counts as reached by its arm: the allowance and the arm's clock cut rows off.
func (e Ending) Reached() bool { return e != BudgetExhausted && e != DuelWallClock }
