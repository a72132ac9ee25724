package tiny

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// maxTemperature is the highest temperature that is taken.
const maxTemperature = 2

// sampler chooses tokens by one request's settings.
type sampler struct {
	temperature float64 // 0: the most likely token, of equal ones the first
	topP        float64 // the smallest set of tokens that holds this probability; 1: all
	topK        int     // the most likely tokens; 0: all
	rand        *rand.Rand
	order       []int
	weight      []float64
}

func newSampler(temperature, topP float64, topK int, seed uint64) *sampler {
	return &sampler{temperature: temperature, topP: topP, topK: topK, rand: rand.New(rand.NewPCG(seed, 1))}
}

func (s *sampler) pick(logits []float32) int {
	if s.temperature == 0 || s.topK == 1 {
		return argmax(logits)
	}
	s.order, s.weight = s.order[:0], s.weight[:0]
	top := float64(logits[argmax(logits)])
	for i, l := range logits {
		s.order = append(s.order, i)
		s.weight = append(s.weight, math.Exp((float64(l)-top)/s.temperature))
	}
	keep := s.order
	if s.topP < 1 || s.topK > 0 {
		keep = s.narrow()
	}
	var sum float64
	for _, i := range keep {
		sum += s.weight[i]
	}
	x := s.rand.Float64() * sum
	for _, i := range keep {
		if x -= s.weight[i]; x < 0 {
			return i
		}
	}
	return keep[len(keep)-1]
}

// narrow keeps the most likely tokens that both limits allow, one at least.
func (s *sampler) narrow() []int {
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(s.weight[b], s.weight[a]) })
	n := len(s.order)
	if s.topK > 0 {
		n = min(n, s.topK)
	}
	var sum, held float64
	for _, w := range s.weight {
		sum += w
	}
	for i, t := range s.order[:n] {
		if held += s.weight[t]; held >= s.topP*sum {
			return s.order[:i+1]
		}
	}
	return s.order[:n]
}

func argmax(l []float32) int {
	best := 0
	for i, v := range l {
		if v > l[best] {
			best = i
		}
	}
	return best
}

// choice is a token and its log-probability, in nats, before temperature and limits.
type choice struct {
	token int
	logp  float64
}

// chances returns the log-probability of a token and the n most likely ones.
func chances(logits []float32, token, n int) (float64, []choice) {
	top := float64(logits[argmax(logits)])
	var sum float64
	for _, l := range logits {
		sum += math.Exp(float64(l) - top)
	}
	norm := top + math.Log(sum)
	all := make([]choice, 0, len(logits))
	if n > 0 {
		for i, l := range logits {
			all = append(all, choice{i, float64(l) - norm})
		}
		slices.SortStableFunc(all, func(a, b choice) int { return cmp.Compare(b.logp, a.logp) })
		all = slices.Clone(all[:min(n, len(all))])
	}
	return float64(logits[token]) - norm, all
}
