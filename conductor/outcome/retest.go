package outcome

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strconv"

	"assay/core/money"
)

// The retest's bounds: at the end of a window some draws that were served are bought again.
const (
	RetestKeys = 8
	RetestCost = money.Dollar // of the stored rows
	// retestPart is the part of the stored cost by which the second may differ: one in four.
	retestPart = 4
)

// Retest returns which of the hit keys are bought again: by ascending SHA-256 of nonce|task|model|attempt, until there are
// maxKeys; a key is passed over whose stored cost would bring the sum above maxCost. cost tells the stored cost of a key. It is
// a function of the nonce and of the set of keys.
func Retest(nonce string, hit []Key, cost func(Key) money.Pico, maxKeys int, maxCost money.Pico) []Key {
	type place struct {
		rank [sha256.Size]byte
		key  Key
	}
	places := make([]place, 0, len(hit))
	for _, k := range hit {
		places = append(places, place{sha256.Sum256([]byte(nonce + "|" + k.Task + "|" + k.Model + "|" + strconv.Itoa(k.Attempt))), k})
	}
	slices.SortFunc(places, func(a, b place) int {
		if c := bytes.Compare(a.rank[:], b.rank[:]); c != 0 {
			return c
		}
		return a.key.Compare(b.key) // the bar between two ids may stand in one of them
	})
	places = slices.CompactFunc(places, func(a, b place) bool { return a.key == b.key })
	var out []Key
	var sum money.Pico
	for _, p := range places {
		if len(out) == maxKeys {
			break
		}
		if with := sum.Plus(cost(p.key)); with <= maxCost {
			out, sum = append(out, p.key), with
		}
	}
	return out
}

// Drift is one way in which a draw that was bought again differs. The words are published.
type Drift string

// The ways. Another text alone is no drift: workers sample.
const (
	DriftFailed Drift = "failed"       // one of the two failed
	DriftGrade  Drift = "grade"        // both answered, and were graded differently
	DriftCost   Drift = "cost"         // the second cost differs by more than a quarter of the first
	DriftServed Drift = "served_model" // another model answered
)

// Comparison is what a retest found of one key. It is published and decides nothing.
type Comparison struct {
	Key           Key
	Stored, Again Sample
	SameText      bool
	Drift         []Drift // none: the draw still holds
}

// Sample is one of the two draws.
type Sample struct {
	Failed      bool
	Grade       float64
	Cost        money.Pico
	ServedModel string
	Provider    string
}

func sample(r Row) Sample { return Sample{r.Failed, r.Grade, r.Cost, r.ServedModel, r.Provider} }

// Compare says how a draw that was bought again differs from the stored one.
func Compare(k Key, stored, again Row) Comparison {
	c := Comparison{Key: k, Stored: sample(stored), Again: sample(again), SameText: stored.Text == again.Text && stored.Failed == again.Failed}
	switch {
	case stored.Failed != again.Failed:
		c.Drift = append(c.Drift, DriftFailed)
	case !stored.Failed && stored.Grade != again.Grade:
		c.Drift = append(c.Drift, DriftGrade)
	}
	if max(stored.Cost, again.Cost)-min(stored.Cost, again.Cost) > stored.Cost/retestPart {
		c.Drift = append(c.Drift, DriftCost)
	}
	if stored.ServedModel != again.ServedModel {
		c.Drift = append(c.Drift, DriftServed)
	}
	return c
}
