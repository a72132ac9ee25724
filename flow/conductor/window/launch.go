package window

import (
	"context"
	"encoding/hex"
	"fmt"

	"assay/chain"
	"assay/conductor/submission"
	"assay/core/digest"
	"assay/core/fault"
)

func hexOf(text []byte) string { return digest.HexOfBytes(text) }

func parseRoot(root string) (chain.Digest, error) {
	var out chain.Digest
	b, err := hex.DecodeString(root)
	if err != nil || len(b) != len(out) {
		return out, fmt.Errorf("the schedule's root %q is no digest", root)
	}
	return chain.Digest(b), nil
}

// Commit puts the root of the schedule on the chain, unless it is there.
func (o *Owner) Commit(ctx context.Context, hotkey string) error {
	signal, err := o.Root()
	if err != nil {
		return err
	}
	if ok, err := o.committed(ctx, hotkey, signal); ok || err != nil {
		return err
	}
	return o.Chain.Commit(ctx, signal)
}

func (o *Owner) committed(ctx context.Context, hotkey, signal string) (bool, error) {
	list, err := o.Chain.Commitments(ctx)
	if err != nil {
		return false, err
	}
	for _, c := range list {
		if c.Hotkey == hotkey && c.Signal == signal {
			return true, nil
		}
	}
	return false, nil
}

// Launch refuses a season that the chain's settings do not allow: a schedule that is not committed, windows no longer than
// the weights' rate limit, an immunity too short for the longest wait in the queue.
func (o *Owner) Launch(ctx context.Context, hotkey string) error {
	signal, err := o.Root()
	if err != nil {
		return err
	}
	switch ok, err := o.committed(ctx, hotkey, signal); {
	case err != nil:
		return fmt.Errorf("reading the schedule's root from the chain: %w", err)
	case !ok:
		return NotPinned.With(fault.Str("signal", signal))
	}
	p, err := o.Chain.Parameters(ctx)
	if err != nil {
		return fmt.Errorf("reading the chain's settings: %w", err)
	}
	if o.WindowBlocks <= p.WeightsRateLimit {
		return BadLaunch.With(fault.Int("window_blocks", o.WindowBlocks), fault.Int("weights_rate_limit", p.WeightsRateLimit))
	}
	if longest := int64((submission.Depth+o.Duels-1)/o.Duels) + 1; p.ImmunityPeriod < longest*o.WindowBlocks {
		return BadLaunch.With(fault.Int("immunity_period", p.ImmunityPeriod), fault.Int("needed", longest*o.WindowBlocks))
	}
	return nil
}
