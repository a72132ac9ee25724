package play

import (
	"context"

	"assay/conductor/episode"
	"assay/conductor/worker"
	"assay/core/limit"
)

// NoAllowance is what a call is refused with when the arm's allowance is spent.
const NoAllowance = "no allowance left"

// metered makes a call of a paid arm unless the allowance is spent. Episodes in flight are each promised what was left
// before their batch; here they meet, so that together they overshoot by the calls under way at most.
func (p *player) metered(ctx context.Context, r worker.Request) (episode.Event, error) {
	if p.meter == nil {
		return p.Workers.Call(ctx, r)
	}
	hold, err := p.meter.Hold(limit.Amount{}, 0)
	if err != nil {
		return episode.Event{Told: episode.Refused, Text: NoAllowance}, nil
	}
	e, err := p.Workers.Call(ctx, r)
	if err != nil {
		return e, err
	}
	return e, hold.Settle(limit.Amount{Money: max(e.Cost, 0)})
}

// openMeter opens the ledger of a paid arm, with what its journal says was spent.
func (r *running) openMeter() error {
	if !r.Paid || !r.Limited || r.Meter != nil {
		return nil
	}
	r.meter = limit.Open(limit.MoneyOnly(r.Allowance))
	if r.Journal == nil {
		return nil
	}
	spent, err := r.spent()
	if err != nil || spent == 0 {
		return err
	}
	hold, err := r.meter.Hold(limit.Amount{}, 0)
	if err != nil {
		return nil // nothing was allowed, so every call is refused
	}
	return hold.Settle(limit.Amount{Money: spent})
}
