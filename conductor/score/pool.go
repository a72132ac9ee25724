package score

import (
	"cmp"
	"maps"
	"slices"

	"assay/conductor"
	"assay/core/fault"
)

// The two policies without which nothing can be fitted.
const (
	Cheapest  = "always-cheapest"
	Strongest = "always-strongest"
)

// Pool is what the reference arms settle before a season: who reigns at first, between whom the rate is fitted, and the rate.
type Pool struct {
	KingZero string // the best fixed policy, which reigns while nobody else does
	Floor    string // always Cheapest
	Top      string // KingZero, or Strongest when KingZero is Cheapest
	Exchange Exchange
}

// FitPool chooses the first king among the reference arms, by policy name, and fits the exchange. Both Cheapest and
// Strongest must have been run; any other policy may win.
func FitPool(arms map[string][]Row) (Pool, error) {
	king, err := KingZero(arms)
	if err != nil {
		return Pool{}, err
	}
	p := Pool{KingZero: king, Floor: Cheapest, Top: king}
	if king == Cheapest {
		p.Top = Strongest
	}
	p.Exchange, err = Fit(arms[p.Floor], arms[p.Top])
	if err != nil {
		return Pool{}, err
	}
	return p, nil
}

// KingZero names the arm with the best raw quality, the mean of its benchmarks' means. Ties go to the smaller total
// spend, then to the name that sorts first.
func KingZero(arms map[string][]Row) (string, error) {
	for _, name := range []string{Cheapest, Strongest} {
		if _, ok := arms[name]; !ok {
			return "", conductor.MissingExtreme.With(fault.Str("policy", name))
		}
	}
	var best standing
	for _, name := range slices.Sorted(maps.Keys(arms)) {
		s, err := stand(name, arms[name])
		if err != nil {
			return "", err
		}
		if best.name == "" || s.before(best) {
			best = s
		}
	}
	return best.name, nil
}

// Contrast names the arm that the power gate sets against the first king: Cheapest, or Strongest when Cheapest is
// king. A king that is not among the arms is refused.
func Contrast(arms map[string][]Row, kingZero string) (string, error) {
	contrast := Cheapest
	if kingZero == Cheapest {
		contrast = Strongest
	}
	for _, name := range []string{kingZero, contrast} {
		if _, ok := arms[name]; !ok {
			return "", conductor.BadPolicy.With(fault.Str("policy", name))
		}
	}
	return contrast, nil
}

// standing is an arm's place among the reference arms.
type standing struct {
	name           string
	quality, spend float64
}

// before reports whether s is strictly better than t. Arms are met in name order, so a full tie keeps the first.
func (s standing) before(t standing) bool {
	if c := cmp.Compare(s.quality, t.quality); c != 0 {
		return c > 0
	}
	return s.spend < t.spend
}

// stand measures a reference arm.
func stand(name string, rows []Row) (standing, error) {
	if len(rows) == 0 {
		return standing{}, conductor.NoEpisodes.With(fault.Str("policy", name))
	}
	columns, err := split(rows)
	if err != nil {
		return standing{}, err
	}
	s := standing{name: name}
	s.quality = meanOf(columns, func(c column) float64 { return mean(c.scores) })
	s.spend = TotalSpend(rows)
	return s, nil
}

// TotalSpend is the dollars that an arm spent.
func TotalSpend(rows []Row) float64 {
	spends := make([]float64, len(rows))
	for i, r := range rows {
		spends[i] = r.Spend
	}
	return Sum(spends)
}
