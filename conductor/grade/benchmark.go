package grade

import (
	"assay/conductor"
	"assay/core/fault"
)

// Benchmark is what an adapter declares before a corpus takes it in.
type Benchmark struct {
	Name      string
	Tools     []string // read verbs shown to the Conductor, in order
	Image     string   // environment that the verbs look into; "" for none
	Root      string   // absolute path inside the image; "" for none
	Rows      int      // rows of the public set
	Gradeable int      // rows that a program can grade without a judge
}

// Admit refuses a benchmark that nothing mechanical can grade, and one whose verbs have no environment to look into
// or whose environment no verb can look into.
func (b Benchmark) Admit() error {
	name := fault.Str("benchmark", b.Name)
	if b.Gradeable <= 0 || b.Gradeable > b.Rows {
		return conductor.NotGradeable.With(name, fault.Int("gradeable", int64(b.Gradeable)), fault.Int("rows", int64(b.Rows)))
	}
	if (len(b.Tools) > 0) != (b.Image != "") || (b.Image != "") != (b.Root != "") {
		return conductor.VerbsWithoutEnvironment.With(name)
	}
	return nil
}
