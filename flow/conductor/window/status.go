package window

import (
	"context"
	"fmt"

	"assay/store"
)

// Status is how far a season has come.
type Status struct {
	Key       string  `json:"key"`      // the publication's verifier key
	Root      string  `json:"schedule"` // the signal that commits the schedule
	Head      int64   `json:"head"`     // newest block
	Now       int64   `json:"now"`      // window that the head lies in; 0 before the first
	OpensAt   int64   `json:"opens_at"` // block that opens the next window that is not drawn
	Windows   []Stage `json:"windows"`
	Published int64   `json:"published"` // newest published window, 0 for none
	Reigns    string  `json:"reigns"`    // "" while the first policy does
}

// Stage is one window.
type Stage struct {
	Window int64      `json:"window"`
	Block  int64      `json:"block"`
	Phase  string     `json:"phase"` // opened, settled, weighed or published
	Arms   []ArmStage `json:"arms"`  // of an opened one
}

// ArmStage is how far an arm has come.
type ArmStage struct {
	Arm     string `json:"arm"`
	Ended   int    `json:"ended"` // episodes
	Aborted string `json:"aborted"`
}

// Status reads how far the season has come. It changes nothing.
func (o *Owner) Status(ctx context.Context) (*Status, error) {
	head, err := o.Chain.Head(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the chain for its head: %w", err)
	}
	root, err := o.Root()
	if err != nil {
		return nil, err
	}
	s := &Status{Key: o.Key(), Root: root, Head: head.Number}
	if head.Number >= o.Genesis {
		if s.Now, err = o.calendar().Window(head.Number); err != nil {
			return nil, err
		}
	}
	if last, err := o.lastReveal(); err != nil {
		return nil, err
	} else if last != nil {
		s.Published, s.Reigns = last.Window, last.Reigns
	}
	next := int64(1)
	err = o.Store.View(ctx, func(tx store.Tx) error {
		for n := int64(1); n <= o.Windows; n++ {
			w, err := tx.Conductor.Windows.Get(n)
			if err != nil {
				continue // not drawn
			}
			next = n + 1
			s.Windows = append(s.Windows, Stage{Window: n, Block: w.Block, Phase: w.Phase.String()})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the store: %w", err)
	}
	for i := range s.Windows {
		if s.Windows[i].Phase == store.Opened.String() {
			s.Windows[i].Arms = o.armStages(s.Windows[i].Window)
		}
	}
	s.OpensAt, err = o.calendar().Opens(next)
	return s, err
}
