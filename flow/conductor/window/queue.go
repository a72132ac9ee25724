package window

import (
	"context"
	"fmt"

	"assay/chain"
	"assay/conductor/funding"
	"assay/conductor/submission"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/secret"
	"assay/flow/conductor/submit"
	"assay/store"
)

// standing gathers what the queue is made from.
func (o *Owner) standing(ctx context.Context, b *begun, graph chain.Metagraph) (submission.Standing, error) {
	s := submission.Standing{
		Opening: b.Block, Judged: map[string]bool{}, Known: map[string]submission.Digest{}, Registered: map[string]submission.Digest{},
		Funded: map[string]bool{},
	}
	list, err := o.Chain.Commitments(ctx)
	if err != nil {
		return s, fmt.Errorf("asking the chain for its commitments: %w", err)
	}
	s.Commitments = submit.Commitments(list)
	for _, n := range graph.Neurons {
		id, err := chain.RegistrationID(o.Netuid, n)
		if err != nil {
			continue // a neuron without a registration block cannot submit
		}
		s.Registered[n.Hotkey] = id
	}
	err = o.Store.View(ctx, func(tx store.Tx) error {
		judged, err := tx.Conductor.Shots.Judged()
		if err != nil {
			return err
		}
		for _, h := range judged {
			s.Judged[h] = true
		}
		known, err := tx.Conductor.Submissions.List()
		for _, c := range known {
			s.Known[c.Hotkey] = c.Registration
		}
		return err
	})
	if err != nil {
		return s, fmt.Errorf("reading the store: %w", err)
	}
	for _, c := range s.Commitments {
		if p, err := o.purseOf(c.Hotkey, c.Registration); err == nil && (!p.limited || p.limit > 0) {
			s.Funded[c.Hotkey] = true
		}
	}
	return s, nil
}

// purse is what a submission's arm may spend.
type purse struct {
	limit   money.Pico
	limited bool
	key     secret.Value // the miner's own; zero: the owner's is used
}

// purseOf says what a submission may spend in a window. A submission that nobody pays for has an error.
func (o *Owner) purseOf(hotkey string, registration submission.Digest) (purse, error) {
	allowance, limited, err := bound(o.Allowance)
	p := purse{limit: allowance, limited: limited}
	if err != nil {
		return purse{}, err
	}
	switch o.Funding {
	case AccountPays:
		if err := o.funds.Refresh(); err != nil {
			return purse{}, err
		}
		return p.atMost(o.funds.Balance(hotkey)), nil
	case KeyPays:
		return o.ownKey(p, hotkey, registration)
	}
	return p, nil
}

func (p purse) atMost(limit money.Pico) purse {
	if limit = max(limit, 0); !p.limited || limit < p.limit {
		p.limit, p.limited = limit, true
	}
	return p
}

// ownKey opens a miner's sealed key. It goes to the arm's client and redactor, and nowhere else.
func (o *Owner) ownKey(p purse, hotkey string, registration submission.Digest) (purse, error) {
	text, err := submit.Funding(o.Bucket, registration, funding.MaxRecord)
	if err != nil {
		return purse{}, err
	}
	record, err := funding.Check(text, funding.Expected{Hotkey: hotkey, Registration: fmt.Sprintf("%x", registration)})
	if err != nil {
		return purse{}, err
	}
	key, err := o.Identity.Open(record)
	if err != nil {
		return purse{}, err
	}
	p = p.atMost(record.Record().Cap)
	p.key = key
	return p, nil
}

// place finds a submission of the window.
func (d *drawn) place(hotkey string) (queued, error) {
	for _, q := range d.Queue {
		if q.Hotkey == hotkey {
			return q, nil
		}
	}
	return queued{}, submit.NotKept.With(fault.Str("hotkey", hotkey))
}
