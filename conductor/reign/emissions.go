package reign

import (
	"maps"
	"slices"

	"assay/conductor/score"
)

// KingShare is the king's share of the emissions.
const KingShare = 0.85

// pensions is how many kings before this one are paid.
const pensions = 5

// Pension returns the shares of the last kings before this one, the most recent first.
func Pension() [pensions]float64 { return [5]float64{0.05, 0.04, 0.03, 0.02, 0.01} }

// Court is who may be paid at the moment of writing.
type Court struct {
	Coronations []string       // crowned hotkeys, oldest first; a reversion to the first policy is no coronation
	King        string         // the reigning hotkey; "" while the first policy reigns
	Live        map[int]string // uid to hotkey
	BurnUID     int            // gets what nobody can be paid
	KingZeroUID *int           // paid while the first policy reigns; nil lets that share burn
}

// Weight is one uid's share.
type Weight struct {
	UID   int
	Share float64
}

// Payout is what is written on chain, and to whom the pensions belong, whether or not they could be paid.
type Payout struct {
	Weights    []Weight // by uid; the burn uid is always among them
	Pensioners []string // the most recent first
}

// Emissions shares out one. The king and the last five distinct kings before it are looked up by hotkey in the live
// map, so a uid that has changed hands is not paid for its former holder.
func Emissions(c Court) Payout {
	uids := map[string]int{}
	for _, uid := range slices.Backward(slices.Sorted(maps.Keys(c.Live))) {
		uids[c.Live[uid]] = uid
	}
	shares := map[int]float64{}
	pay := func(hotkey string, share float64) {
		if uid, ok := uids[hotkey]; ok {
			shares[uid] += share
		}
	}
	switch {
	case c.King != "":
		pay(c.King, KingShare)
	case c.KingZeroUID != nil:
		shares[*c.KingZeroUID] += KingShare
	}
	pensioners := c.pensioners()
	pension := Pension()
	for rank, hotkey := range pensioners {
		pay(hotkey, pension[rank])
	}
	// The burn uid gets all that the others do not, in one exactly rounded step, so that the sum is one to the last bit.
	delete(shares, c.BurnUID)
	rest := []float64{1}
	for _, share := range shares {
		rest = append(rest, -share)
	}
	// Two shares of one uid may round up: then nothing is left, and less than nothing is nobody's share.
	shares[c.BurnUID] = max(0, score.Sum(rest))
	out := Payout{Pensioners: pensioners}
	for _, uid := range slices.Sorted(maps.Keys(shares)) {
		out.Weights = append(out.Weights, Weight{uid, shares[uid]})
	}
	return out
}

// pensioners lists the last five distinct crowned hotkeys other than the king, each at its latest coronation.
func (c Court) pensioners() []string {
	var out []string
	for _, hotkey := range slices.Backward(c.Coronations) {
		if hotkey != c.King && !slices.Contains(out, hotkey) {
			out = append(out, hotkey)
		}
		if len(out) == pensions {
			break
		}
	}
	return out
}
