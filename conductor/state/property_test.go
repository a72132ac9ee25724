package state_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/conductor/action"
	"assay/conductor/profile"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/core/money"
)

// shown is one step of a history.
type shown struct {
	refused bool
	kind    action.Kind
	model   string
	success bool
	cost    money.Pico
}

// fromScratch renders a state by the plain way: all of it, every time.
func fromScratch(prefix string, s task.Spec, steps []shown) string {
	var b strings.Builder
	tools := "none"
	if len(s.Tools) > 0 {
		tools = strings.Join(s.Tools, ", ")
	}
	fmt.Fprintf(&b, "%s\n# TASK\nbenchmark: %s\ntools available to the worker: %s\n---\n%s\n---\n\n# HISTORY\n", prefix, s.Benchmark, tools, s.Prompt)
	spent := 0.0
	for i, st := range steps {
		if st.refused {
			fmt.Fprintf(&b, "step %d: refused, unparseable — no model was called\n", i+1)
			continue
		}
		spent += st.cost.Dollars()
		word := map[bool]string{true: "succeeded", false: "failed"}[st.success]
		fmt.Fprintf(&b, "step %d: %s %s -> %s ($%.6f)\n", i+1, st.kind.Verb(), st.model, word, st.cost.Dollars())
	}
	if len(steps) == 0 {
		b.WriteString("(no steps yet)\n")
	}
	fmt.Fprintf(&b, "\nspent so far: $%.6f\nthis is step %d of at most 12. Reply with exactly one action.\n", spent, len(steps)+1)
	return b.String()
}

func genStep(t *rapid.T) shown {
	return shown{
		refused: rapid.Bool().Draw(t, "refused"), kind: rapid.SampledFrom([]action.Kind{action.Delegate, action.Retry}).Draw(t, "kind"),
		model: rapid.SampledFrom([]string{"openai/gpt-5.4", "z-ai/glm-5.2"}).Draw(t, "model"), success: rapid.Bool().Draw(t, "success"),
		cost: money.Pico(rapid.Int64Range(0, 5e12).Draw(t, "cost")),
	}
}

// Prompts that grow step by step are those that are rendered from scratch, keep their bytes while the episode goes on, and
// have the digest of their bytes; two episodes that take turns do not disturb each other.
func TestProperty_rendering_step_by_step_is_rendering_from_scratch(t *testing.T) {
	r := c2(t)
	rapid.Check(t, func(t *rapid.T) {
		spec := task.Spec{
			ID: "a", Benchmark: rapid.StringMatching(`[a-z\-]{1,12}`).Draw(t, "benchmark"), Prompt: rapid.String().Draw(t, "prompt"),
			Tools: rapid.SliceOfN(rapid.SampledFrom([]string{"READ", "LIST", "FIND"}), 0, 3).Draw(t, "tools"),
		}
		e, other := r.Episode(pinned2(t, spec)), r.Episode(pinned2(t, spec))
		var steps []shown
		var prompts []state.Prompt
		var texts []string
		for range rapid.IntRange(0, state.MaxSteps).Draw(t, "steps") + 1 {
			p := e.Prompt()
			text := fromScratch(r.Prefix(), spec, steps)
			if p.String() != text {
				t.Fatalf("step %d reads\n%s\nwant\n%s", len(steps), p, text)
			}
			prompts, texts = append(prompts, p), append(texts, text)
			s := genStep(t)
			if steps = append(steps, s); s.refused {
				e.Refused()
				other.Delegated(action.Delegate, "z-ai/glm-5.2", true, 1)
			} else {
				e.Delegated(s.kind, s.model, s.success, s.cost)
				other.Refused()
			}
		}
		for i, p := range prompts {
			if p.String() != texts[i] || [sha256.Size]byte(p.Digest()) != sha256.Sum256([]byte(texts[i])) {
				t.Fatalf("prompt %d changed while the episode went on", i)
			}
		}
	})
}

func pinned2(t *rapid.T, s task.Spec) task.Pinned {
	p, err := pin(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// BenchmarkPrompt is one more step and its prompt, with a catalog of 300 models.
func BenchmarkPrompt(b *testing.B) {
	r := renderer(b, state.Instructions(), profile.Strict, realistic(300)...)
	t := pinned(b, task.Spec{ID: "a", Benchmark: "hle", Prompt: strings.Repeat("which of these holds for the given case? ", 30)})
	b.Run("rendered and hashed", func(b *testing.B) {
		b.ReportAllocs()
		e := r.Episode(t)
		for n := 0; b.Loop(); n++ {
			if n%state.MaxSteps == 0 {
				e = r.Episode(t)
			}
			_ = e.Prompt()
			e.Delegated(action.Delegate, "openai/gpt-5.4", false, 31e9)
		}
	})
	b.Run("as text", func(b *testing.B) {
		b.ReportAllocs()
		e := r.Episode(t)
		b.SetBytes(int64(len(e.Prompt().String())))
		for b.Loop() {
			_ = e.Prompt().String()
		}
	})
}
