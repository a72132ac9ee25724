// Package policy holds the fixed policies that a Conductor is measured against: they price the task that a learned one must beat.
//
// Invariants:
//   - A policy is a function of the rendered state, as a Conductor is: it is given no more than the prompt says.
//   - A task whose text forges a history fools none of them: the position is read behind the last heading.
//
// Specification: docs/spec/policies.md.
package policy

import (
	"bytes"
	"math"
	"slices"

	"assay/conductor"
	"assay/conductor/catalog"
	"assay/conductor/score"
	"assay/conductor/state"
	"assay/core/digest"
	"assay/core/fault"
)

// Names of the policies.
const (
	Cheapest  = score.Cheapest
	Strongest = score.Strongest
	Cascade   = "cascade"
	Random    = "random"
)

// CascadeRungs is how many models a cascade climbs unless told otherwise.
const CascadeRungs = 3

// Policy answers prompts of one window.
type Policy struct {
	name  string
	turns []string // ladder: the turn for each rung, then STOP
	ids   []string // random: every id
	nonce string
}

// Name returns the policy's name.
func (p *Policy) Name() string { return p.name }

// New makes the policy of that name: always-cheapest, always-strongest, cascade or random. The nonce matters to random only.
// An unknown name is conductor.BadPolicy, an empty catalog conductor.EmptyCatalog.
func New(name, nonce string, s *catalog.Snapshot) (*Policy, error) {
	if s.Len() == 0 {
		return nil, conductor.EmptyCatalog.With()
	}
	switch rank := s.Rank(); name {
	case Cheapest:
		return ladder(name, s, rank[:1]), nil
	case Strongest:
		return ladder(name, s, rank[len(rank)-1:]), nil
	case Cascade:
		return NewCascade(CascadeRungs, s)
	case Random:
		p := &Policy{name: name, nonce: nonce}
		for i := range s.Len() {
			p.ids = append(p.ids, s.At(i).ID)
		}
		return p, nil
	}
	return nil, conductor.BadPolicy.With(fault.Str("name", name))
}

// NewCascade climbs k models from the cheapest to the dearest, spaced evenly by price rank. Fewer than two rungs are conductor.BadPolicy.
func NewCascade(k int, s *catalog.Snapshot) (*Policy, error) {
	if k < 2 || s.Len() == 0 {
		return nil, conductor.BadPolicy.With(fault.Str("name", Cascade), fault.Int("rungs", int64(k)))
	}
	rank := s.Rank()
	var rungs []int
	for i := range k {
		at := int(math.RoundToEven(float64(i) * float64(len(rank)-1) / float64(k-1)))
		if !slices.Contains(rungs, rank[at]) {
			rungs = append(rungs, rank[at])
		}
	}
	return ladder(Cascade, s, rungs), nil
}

// Constant asks one model once for every task.
func Constant(id string, s *catalog.Snapshot) (*Policy, error) {
	m, ok := s.Lookup(id)
	if !ok {
		return nil, conductor.UnknownModel.With(fault.Str("id", id))
	}
	return ladder("constant:"+id, s, []int{m.Index()}), nil
}

func ladder(name string, s *catalog.Snapshot, rungs []int) *Policy {
	p := &Policy{name: name}
	for i, at := range rungs {
		verb := "DELEGATE "
		if i > 0 {
			verb = "RETRY "
		}
		p.turns = append(p.turns, verb+s.At(at).ID)
	}
	p.turns = append(p.turns, "STOP")
	return p
}

// Turn answers a prompt.
func (p *Policy) Turn(prompt state.Prompt) string {
	step, solved := Position(prompt.History())
	if p.ids != nil {
		if step > 1 {
			return "STOP"
		}
		return "DELEGATE " + p.pick(prompt.DigestHex())
	}
	if solved || step >= len(p.turns) {
		return "STOP"
	}
	return p.turns[step-1]
}

// pick chooses by the first eight hexadecimal digits of the SHA-256 of nonce|digest of the prompt.
func (p *Policy) pick(promptDigest string) string {
	n := digest.First32([]byte(p.nonce + "|" + promptDigest))
	return p.ids[uint64(n)%uint64(len(p.ids))]
}

var (
	heading   = []byte("# HISTORY\n")
	succeeded = []byte("-> succeeded")
	thisStep  = []byte("this is step ")
)

// Position reads from a prompt, or from the part behind its history heading, which step it asks for (from 1) and whether a
// delegate has succeeded. Only what stands behind the last heading counts.
func Position(prompt []byte) (step int, solved bool) {
	if i := bytes.LastIndex(prompt, heading); i >= 0 {
		prompt = prompt[i+len(heading):]
	}
	solved = bytes.Contains(prompt, succeeded)
	if i := bytes.LastIndex(prompt, thisStep); i >= 0 {
		for _, c := range prompt[i+len(thisStep):] {
			if c < '0' || c > '9' || step > 1000 {
				break
			}
			step = 10*step + int(c-'0')
		}
	}
	return max(step, 1), solved
}
