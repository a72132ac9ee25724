package arena

import (
	"crypto/sha256"

	"assay/core/digest"
)

// solvers remembers which model solved a published task, by the SHA-256 of the task's text: the cheapest of those that did.
type solvers struct {
	whole bool // keeps the season, not only the last window
	every int  // learns every so many tasks of a window; 1: all of them
	seen  map[[sha256.Size]byte]string
}

func (s *solvers) Forget() { s.seen = map[[sha256.Size]byte]string{} }

func (s *solvers) Learn(m *Market, tasks []int) {
	if !s.whole {
		s.Forget()
	}
	for n, at := range tasks {
		if n%s.every != 0 {
			continue
		}
		if best := m.solver(at); best >= 0 {
			s.seen[sha256.Sum256([]byte(m.World.Tasks[at].Prompt))] = m.World.Models[best].ID
		}
	}
}

// knows returns the model that solved the task, "" for a task that was not published.
func (s *solvers) knows(v View) string { return s.seen[sha256.Sum256([]byte(v.Text))] }

// solver returns the model whose answer to the task is worth most, or -1 where no answer is worth what it costs.
func (m *Market) solver(at int) int {
	best, most := -1, 0.0
	for i := range m.World.Models {
		if w := m.worth([]int{i}, at); w > most {
			best, most = i, w
		}
	}
	return best
}

// memoriser asks the model that solved the very task before, and plays the fallback on tasks that it has not seen.
func memoriser(mem *solvers, fallback func(View) string) *Player {
	mem.Forget()
	return &Player{
		Memory: mem, Bears: mem.knows,
		Turn: func(v View) string {
			if id := mem.knows(v); id != "" {
				return climb([]string{id}, v)
			}
			return fallback(v)
		},
	}
}

// prefixLength is how many bytes of a statement the sniffer goes by.
const prefixLength = 24

// sniffer remembers which model was worth most on published tasks whose statements begin alike.
type sniffer struct {
	worth map[string][]float64
	ids   []string
}

func (s *sniffer) Forget() { s.worth = map[string][]float64{} }

func (s *sniffer) Learn(m *Market, tasks []int) {
	for _, at := range tasks {
		k := s.prefix(View{Benchmark: m.World.Tasks[at].Benchmark, Text: m.World.Tasks[at].Prompt})
		if s.worth[k] == nil {
			s.worth[k] = make([]float64, len(m.World.Models))
		}
		for i := range m.World.Models {
			s.worth[k][i] += m.worth([]int{i}, at)
		}
	}
}

func (s *sniffer) prefix(v View) string {
	return v.Benchmark + "|" + v.Text[:min(len(v.Text), prefixLength)]
}

// knows returns the model that did best behind the prefix, "" for a prefix that it has not met.
func (s *sniffer) knows(v View) string {
	best := ""
	most := 0.0
	for i, w := range s.worth[s.prefix(v)] {
		if best == "" || w > most {
			best, most = s.ids[i], w
		}
	}
	return best
}

// chance is a number below n that depends on its words alone.
func chance(n int, words ...string) int {
	var b []byte
	for _, w := range words {
		b = append(append(b, w...), '|')
	}
	return int(digest.First32(b) % uint32(n))
}
