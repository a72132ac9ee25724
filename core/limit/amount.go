package limit

import (
	"math"
	"time"

	"assay/core/money"
)

// dimensions names what Amount.list returns, for refusals.
var dimensions = [...]string{"calls", "tokens", "money", "time", "frames"}

// list returns the dimensions in the order of their names.
func (a Amount) list() [len(dimensions)]int64 {
	return [...]int64{a.Calls, a.Tokens, int64(a.Money), int64(a.Time), a.Frames}
}

// merge joins two amounts dimension by dimension.
func (a Amount) merge(b Amount, join func(x, y int64) int64) Amount {
	return Amount{
		Calls:  join(a.Calls, b.Calls),
		Tokens: join(a.Tokens, b.Tokens),
		Money:  money.Pico(join(int64(a.Money), int64(b.Money))),
		Time:   time.Duration(join(int64(a.Time), int64(b.Time))),
		Frames: join(a.Frames, b.Frames),
	}
}

func (a Amount) negative() bool {
	return a.Calls < 0 || a.Tokens < 0 || a.Money < 0 || a.Time < 0 || a.Frames < 0
}

func lower(x, y int64) int64  { return min(x, y) }
func higher(x, y int64) int64 { return max(x, y) }
func minus(x, y int64) int64  { return max(0, x-y) }

// plus adds what is not negative and saturates: a sum beyond the range is a budget that is gone, not a small number.
func plus(x, y int64) int64 {
	if x > math.MaxInt64-y {
		return math.MaxInt64
	}
	return x + y
}

// left is the room between a limit and what is used.
func left(limit, used int64) int64 {
	if limit == Unlimited {
		return Unlimited
	}
	return max(0, limit-used)
}
