package view

import (
	"fmt"
	"io"
	"strings"
)

// Power is what a slice can resolve, as people see it.
type Power struct {
	PerBenchmark int         `json:"per_benchmark"`
	Benchmarks   []PowerLine `json:"benchmarks"`
	Detectable   float64     `json:"detectable"`  // smallest difference in final that wins nine windows of ten
	Closed       float64     `json:"closed_form"` // what the formula says of the first condition alone
	Delta        float64     `json:"delta"`
	Won          float64     `json:"won"`  // share of windows that Delta wins at this size
	Size         int         `json:"size"` // tasks of each benchmark that Delta needs; 0 where no size is named
	Unresolved   string      `json:"unresolved"`
	MustWin      int         `json:"must_win"` // benchmarks that a policy must win which equals the king on the others
}

// PowerLine is one benchmark.
type PowerLine struct {
	Benchmark string  `json:"benchmark"`
	Tasks     int     `json:"tasks"`     // that the noise was measured on
	Deviation float64 `json:"deviation"` // of one task's difference in final
}

// Text writes it for people.
func (p *Power) Text(w io.Writer) error {
	var b strings.Builder
	b.WriteString("noise of one task's difference in final, from the noisiest pair of reference policies:\n")
	for _, l := range p.Benchmarks {
		fmt.Fprintf(&b, "  %-28s %.4f  (%d tasks)\n", l.Benchmark, l.Deviation, l.Tasks)
	}
	fmt.Fprintf(&b, "with %d tasks of each benchmark a difference of %.4f wins nine windows of ten (%.4f for the margin alone)\n", p.PerBenchmark, p.Detectable, p.Closed)
	fmt.Fprintf(&b, "a difference of %.4f wins %.1f%% of them", p.Delta, 100*p.Won)
	if p.Size > 0 {
		fmt.Fprintf(&b, ", and nine of ten with %d tasks of each\n", p.Size)
	} else {
		fmt.Fprintf(&b, "; no slice resolves it: %s\n", p.Unresolved)
	}
	fmt.Fprintf(&b, "a policy that only equals the king elsewhere must win %d of the %d benchmarks\n", p.MustWin, len(p.Benchmarks))
	_, err := io.WriteString(w, b.String())
	return err
}
