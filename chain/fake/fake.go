// Package fake is a chain in one file that people and scripts edit: for tests, demonstrations and dry runs.
//
// Invariants:
//   - The file is read anew at each call; there is no state beside it.
//   - Writes replace the file as a whole, on disk before they return, under a lock that every writer takes: two processes that
//     write at once lose nothing.
//   - A file with a mistake is refused, naming the mistake, and left as it is.
//
// Specification: docs/spec/chain.md.
package fake

import (
	"context"
	"errors"
	"slices"

	"assay/chain"
	"assay/core/fault"
)

// The steps at which the chain can be told to fail, as the file's member "fail" lists them. A step that ends in "/written" fails
// behind the write: the change stands, and the caller is not told.
const (
	Head              = "head"
	BlockHash         = "block_hash"
	Metagraph         = "metagraph"
	Commitments       = "commitments"
	Parameters        = "parameters"
	Commit            = "commit"
	CommitWritten     = "commit/written"
	SetWeights        = "set_weights"
	SetWeightsWritten = "set_weights/written"
)

var steps = []string{Head, BlockHash, Metagraph, Commitments, Parameters, Commit, CommitWritten, SetWeights, SetWeightsWritten}

// Client is the chain in a file, as one hotkey.
type Client struct{ path, hotkey string }

var _ chain.Client = (*Client)(nil)

// New returns the chain in the file at path. hotkey is who commits and sets weights: an ss58 address, or "" for a reader.
func New(path, hotkey string) *Client { return &Client{path, hotkey} }

// ask reads the file for a step.
func (c *Client) ask(ctx context.Context, step string) (*State, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := Read(c.path)
	if err != nil {
		return nil, err
	}
	return s, s.failsAt(step)
}

// errTold is the cause of a failure that the file orders.
var errTold = errors.New("the file says so")

func (s *State) failsAt(step string) error {
	if slices.Contains(s.Fail, step) {
		return chain.Unavailable.Because(errTold).With(fault.Str("step", step))
	}
	return nil
}

// Head returns the file's head.
func (c *Client) Head(ctx context.Context) (chain.Block, error) {
	s, err := c.ask(ctx, Head)
	if err != nil {
		return chain.Block{}, err
	}
	return s.block(), nil
}

// BlockHash returns the hash that the file lists or derives for a block from the genesis to the head.
func (c *Client) BlockHash(ctx context.Context, number int64) (string, error) {
	s, err := c.ask(ctx, BlockHash)
	if err != nil {
		return "", err
	}
	if number < s.Genesis || number > s.Head {
		return "", chain.NoSuchBlock.With(fault.Int("block", number), fault.Int("head", s.Head))
	}
	return s.hash(number), nil
}

// Metagraph returns the file's neurons.
func (c *Client) Metagraph(ctx context.Context) (chain.Metagraph, error) {
	s, err := c.ask(ctx, Metagraph)
	if err != nil {
		return chain.Metagraph{}, err
	}
	return s.metagraph(), nil
}

// Commitments returns the file's commitments.
func (c *Client) Commitments(ctx context.Context) ([]chain.Commitment, error) {
	s, err := c.ask(ctx, Commitments)
	if err != nil {
		return nil, err
	}
	chain.Order(s.Commitments)
	return s.Commitments, nil
}

// Parameters returns the file's parameters.
func (c *Client) Parameters(ctx context.Context) (chain.Parameters, error) {
	s, err := c.ask(ctx, Parameters)
	if err != nil {
		return chain.Parameters{}, err
	}
	return s.Parameters, nil
}

// Commit writes the hotkey's commitment into the file, at its head.
func (c *Client) Commit(ctx context.Context, signal string) error {
	if err := chain.CheckSignal(signal); err != nil {
		return err
	}
	return c.change(ctx, Commit, func(s *State) error {
		s.Commitments = slices.DeleteFunc(s.Commitments, func(o chain.Commitment) bool { return o.Hotkey == c.hotkey })
		s.Commitments = append(s.Commitments, chain.Commitment{Hotkey: c.hotkey, Block: s.Head, Signal: signal})
		return nil
	})
}

// SetWeights writes the hotkey's weights into the file, at its head.
func (c *Client) SetWeights(ctx context.Context, weights []chain.Weight) error {
	if err := chain.CheckWeights(weights); err != nil {
		return err
	}
	return c.change(ctx, SetWeights, func(s *State) error {
		if err := chain.CheckUIDs(weights, s.metagraph()); err != nil {
			return err
		}
		for _, o := range s.Weights {
			if o.Hotkey == c.hotkey {
				if err := chain.MayUpdate(o.Block, s.Head, s.Parameters.WeightsRateLimit); err != nil {
					return err
				}
			}
		}
		s.Weights = slices.DeleteFunc(s.Weights, func(o Weights) bool { return o.Hotkey == c.hotkey })
		s.Weights = append(s.Weights, Weights{c.hotkey, s.Head, weights})
		return nil
	})
}

// change makes one change as the client's hotkey.
func (c *Client) change(ctx context.Context, step string, do func(*State) error) error {
	var after error
	err := Edit(ctx, c.path, func(s *State) error {
		if err := s.failsAt(step); err != nil {
			return err
		}
		_, ok := s.metagraph().Find(c.hotkey)
		if !ok {
			return chain.NotRegistered.With(fault.Str("hotkey", c.hotkey))
		}
		if s.failsAt(step+"/written") != nil {
			after = chain.Unconfirmed.Because(errTold)
		}
		return do(s)
	})
	if err != nil {
		return err
	}
	return after
}
