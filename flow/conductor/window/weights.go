package window

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"assay/chain"
	"assay/core/fault"
	"assay/run/lines"
)

// refreshBlocks is how old weights may become before they are set again, unchanged.
const refreshBlocks = 180

// setWeights sets weights and remembers at which block. A chain that takes none now, because its rate limit has not passed or
// because it did not confirm, is told again by the next Refresh.
func (o *Owner) setWeights(ctx context.Context, list []chain.Weight) error {
	head, err := o.Chain.Head(ctx)
	if err != nil {
		return fmt.Errorf("asking the chain for its head: %w", err)
	}
	if err := o.Chain.SetWeights(ctx, list); err != nil {
		if fault.Of(err) != chain.TooSoon && fault.Of(err) != chain.Unconfirmed {
			return fmt.Errorf("setting the weights: %w", err)
		}
		o.Log.Warn("the chain took no weights now", "error", err)
		return nil
	}
	f, err := lines.Open(o.weightsFile(), weightsFormat, nil)
	if err != nil {
		return fmt.Errorf("remembering the weights: %w", err)
	}
	err = f.Write([]byte(strconv.FormatInt(head.Number, 10)))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

const weightsFormat = "assay weights v1"

func (o *Owner) weightsFile() string { return filepath.Join(o.Dir, "weights") }

// Refresh sets the newest reveal's weights again when 180 blocks have passed since they were set, and reports whether it did.
func (o *Owner) Refresh(ctx context.Context) (bool, error) {
	last, err := o.lastReveal()
	if err != nil || last == nil {
		return false, err
	}
	head, err := o.Chain.Head(ctx)
	if err != nil {
		return false, fmt.Errorf("asking the chain for its head: %w", err)
	}
	at := int64(0)
	f, err := lines.Open(o.weightsFile(), weightsFormat, func(_ int64, payload []byte) (err error) {
		at, err = strconv.ParseInt(string(payload), 10, 64)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("reading when weights were set: %w", err)
	}
	if err := f.Close(); err != nil || head.Number-at < refreshBlocks {
		return false, err
	}
	list := make([]chain.Weight, len(last.Weights))
	for i, w := range last.Weights {
		list[i] = chain.Weight{UID: w.UID, Share: float64(w.Share)}
	}
	return true, o.setWeights(ctx, list)
}
