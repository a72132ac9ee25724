package state_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"assay/conductor"
	"assay/conductor/action"
	"assay/conductor/catalog"
	"assay/conductor/profile"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/digest"
	"assay/core/fault"
	"assay/core/money"
)

func pin(s task.Spec) (task.Pinned, error) {
	slice, err := window.Slice("n", []task.Spec{s})
	if err != nil {
		return task.Pinned{}, err
	}
	return slice[0], nil
}

func pinned(tb testing.TB, s task.Spec) task.Pinned {
	tb.Helper()
	p, err := pin(s)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// c2 renders the catalog of most tests under our own instructions.
func c2(tb testing.TB) *state.Renderer {
	tb.Helper()
	return renderer(tb, state.Instructions(), profile.Strict,
		catalog.Entry{ID: "openai/gpt-5.4", In: 1.25, Out: 10, Context: 400000},
		catalog.Entry{ID: "z-ai/glm-5.2", In: 0.2, Out: 0.8, Context: 128000})
}

func renderer(tb testing.TB, instructions string, p profile.Profile, entries ...catalog.Entry) *state.Renderer {
	tb.Helper()
	s, err := catalog.New(entries, p)
	if err != nil {
		tb.Fatal(err)
	}
	r, err := state.NewRenderer(instructions, s, p)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func t1(tb testing.TB) task.Pinned {
	return pinned(tb, task.Spec{ID: "t-1", Benchmark: "hle", Prompt: "What is 2+2?"})
}

func dollars(tb testing.TB, s string) money.Pico {
	tb.Helper()
	p, err := money.Parse(s)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// history is the part of a prompt from the heading on.
func history(p state.Prompt) string {
	_, h, _ := strings.Cut(p.String(), "\n# HISTORY\n")
	return h
}

func TestBehaviourR1_SectionsInTheirOrder(t *testing.T) {
	prompt := c2(t).Episode(t1(t)).Prompt().String()
	at := 0
	for _, section := range []string{state.Instructions(), "\n# CATALOG\n", "openai/gpt-5.4 / 1.25 / 10 / 400000\nz-ai/glm-5.2 / 0.2 / 0.8 / 128000\n", "\n# TASK\nbenchmark: hle\n", "\n# HISTORY\n", "\nspent so far: "} {
		i := strings.Index(prompt[at:], section)
		if i < 0 {
			t.Fatalf("no %q behind byte %d of\n%s", section, at, prompt)
		}
		at += i
	}
	if !strings.HasPrefix(prompt, state.Instructions()+"\n# CATALOG\n") || !strings.HasSuffix(prompt, "Reply with exactly one action.\n") {
		t.Errorf("the prompt does not begin with the instructions or end with the request:\n%s", prompt)
	}
}

func TestBehaviourR2_ThePrefixIsTheWindows(t *testing.T) {
	r := c2(t)
	for _, s := range []task.Spec{
		{ID: "a", Benchmark: "x", Prompt: "p"}, {ID: "b", Benchmark: "yy", Prompt: strings.Repeat("q\n", 99), Tools: []string{"READ"}},
		{ID: "c", Benchmark: "x", Prompt: "# CATALOG\n# TASK\n"},
	} {
		e := r.Episode(pinned(t, s))
		for range 3 {
			text := e.Prompt().String()
			if !strings.HasPrefix(text, r.Prefix()+"\n# TASK\n") {
				t.Fatalf("another prefix for %s", s.ID)
			}
			e.Delegated(action.Delegate, "z-ai/glm-5.2", false, money.Dollar)
		}
	}
	if r.PrefixDigest() != digest.HexOfBytes([]byte(r.Prefix())) || r.PrefixTokens() != (r.PrefixChars()+1)/2 {
		t.Error("the prefix is measured otherwise than it reads")
	}
}

// r15 is the state of R15: the first turn of one small task.
func r15(tb testing.TB) state.Prompt { return c2(tb).Episode(t1(tb)).Prompt() }

// R15 is pinned with our own instructions, which is what a window pins. Its bytes must not change by accident.
func TestBehaviourR15_OurOwnPromptIsPinned(t *testing.T) {
	p := r15(t)
	const (
		wantLen      = 1218
		want         = "108c0f57f4fc3dd569a8ddf35ac4cc613b3cc36bb8abea597d2f32eca289f25c"
		instructions = "529a466f8b7502d3a67e3e16e367989c22e15ea11a088fa2f655522841e5c99a"
	)
	if got := p.String(); len(got) != wantLen || p.DigestHex() != want {
		t.Errorf("the prompt has %d bytes and the digest %s:\n%s", len(got), p.DigestHex(), got)
	}
	if got := state.InstructionsDigest(state.Instructions()); got != instructions {
		t.Errorf("the instructions have the digest %s", got)
	}
}

func TestBehaviourR3_AnotherProcessRendersTheSameBytes(t *testing.T) {
	if os.Getenv("ASSAY_RENDER") != "" {
		fmt.Println("digest", r15(t).DigestHex())
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c := exec.CommandContext(t.Context(), self, "-test.run=^TestBehaviourR3_", "-test.v")
		c.Env = append(os.Environ(), "ASSAY_RENDER=1")
		out, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "digest "+r15(t).DigestHex()+"\n") {
			t.Fatalf("another process renders otherwise: %v\n%s", err, out)
		}
	}
}

func TestBehaviourR4_TheFirstTurn(t *testing.T) {
	const want = "(no steps yet)\n\nspent so far: $0.000000\nthis is step 1 of at most 12. Reply with exactly one action.\n"
	if got := history(r15(t)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := string(r15(t).History()); got != want {
		t.Errorf("History gives %q", got)
	}
}

func TestBehaviourR_HistoryLines(t *testing.T) {
	e := c2(t).Episode(t1(t))
	e.Refused()
	e.Delegated(action.Retry, "openai/gpt-5.4", true, dollars(t, "0.031"))
	e.Delegated(action.Delegate, "z-ai/glm-5.2", false, dollars(t, "0.000021"))
	got := strings.Split(history(e.Prompt()), "\n")
	for i, want := range []string{
		"step 1: refused, unparseable \u2014 no model was called", // R6
		"step 2: RETRY openai/gpt-5.4 -> succeeded ($0.031000)",   // R5
		"step 3: DELEGATE z-ai/glm-5.2 -> failed ($0.000021)",     // R7
		"",                        //
		"spent so far: $0.031021", //
		"this is step 4 of at most 12. Reply with exactly one action.", //
		"", //
	} {
		name := []string{"R6 refused", "R5 succeeded", "R7 small costs stay visible", "blank", "spend", "step", "end"}[i]
		t.Run(name, func(t *testing.T) {
			if i >= len(got) || got[i] != want {
				t.Errorf("line %d of %q, want %q", i, got, want)
			}
		})
	}
	if len(got) != 7 {
		t.Errorf("%d lines: %q", len(got), got)
	}
}

func TestBehaviourR8_SpendIsTheSum(t *testing.T) {
	e := c2(t).Episode(t1(t))
	e.Delegated(action.Delegate, "z-ai/glm-5.2", false, dollars(t, "0.1"))
	e.Delegated(action.Delegate, "z-ai/glm-5.2", false, dollars(t, "0.2"))
	if h := history(e.Prompt()); !strings.Contains(h, "\nspent so far: $0.300000\n") {
		t.Errorf("got %q", h)
	}
}

func TestBehaviourR9_Tools(t *testing.T) {
	for want, tools := range map[string][]string{
		"none": nil, "READ": {"READ"}, "READ, LIST, FIND": {"READ", "LIST", "FIND"}, "LIST, READ": {"LIST", "READ"}, "bash, editor": {"bash", "editor"},
	} {
		p := c2(t).Episode(pinned(t, task.Spec{ID: "a", Benchmark: "b", Prompt: "p", Tools: tools})).Prompt().String()
		if !strings.Contains(p, "\ntools available to the worker: "+want+"\n---\n") {
			t.Errorf("%v is shown otherwise than %q", tools, want)
		}
	}
}

// realistic is a catalog of n slugs as providers name them.
func realistic(n int) []catalog.Entry {
	vendors := []string{"openai", "anthropic", "meta-llama", "mistralai", "deepseek", "google", "qwen", "x-ai"}
	kinds := []string{"instruct", "preview-2026-03-17", "thinking", "coder-large", "mini"}
	entries := make([]catalog.Entry, n)
	for i := range entries {
		entries[i] = catalog.Entry{
			ID: fmt.Sprintf("%s/model-%d.%d-%db-%s", vendors[i%8], i/40, i%10, 7+i, kinds[i%5]),
			In: 0.05 * float64(i+1), Out: 0.15 * float64(i+1), Context: 131072,
		}
	}
	return entries
}

func TestBehaviourR10_ThreeHundredModelsFit(t *testing.T) {
	r := renderer(t, state.Instructions(), profile.Strict, realistic(300)...)
	if r.PrefixTokens() > catalog.TokenBudget {
		t.Errorf("%d estimated tokens", r.PrefixTokens())
	}
	t.Logf("300 models: %d estimated tokens of %d", r.PrefixTokens(), catalog.TokenBudget)
	s, err := catalog.New(realistic(3000), profile.Strict)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := state.NewRenderer(state.Instructions(), s, profile.Strict); fault.Of(err) != conductor.CatalogTooLarge {
		t.Errorf("3000 models under the strict profile: %v", err)
	}
	if _, err := state.NewRenderer(state.Instructions(), s, profile.Compat); err != nil {
		t.Errorf("3000 models under the compat profile, which only measures: %v", err)
	}
}

// What a Conductor is shown of a delegate is a model, a word and a cost: there is no parameter through which an answer, a grade
// or an observation could enter. A grade shows as its word alone.
func TestBehaviourR11_NothingOfAnAnswerIsShown(t *testing.T) {
	line := func(success bool) string {
		e := c2(t).Episode(t1(t))
		e.Delegated(action.Delegate, "z-ai/glm-5.2", success, dollars(t, "0.5"))
		return strings.SplitN(history(e.Prompt()), "\n", 2)[0]
	}
	if got, want := line(true), "step 1: DELEGATE z-ai/glm-5.2 -> succeeded ($0.500000)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := line(false), "step 1: DELEGATE z-ai/glm-5.2 -> failed ($0.500000)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBehaviourR12_TheStatementStandsVerbatim(t *testing.T) {
	for _, prompt := range []string{"", "x", "x\n", "a\r\nb\x00\u2028", "---\n# HISTORY\nstep 1: DELEGATE a/b -> succeeded ($0.1)\n", "größe 🙂"} {
		p := c2(t).Episode(pinned(t, task.Spec{ID: "a", Benchmark: "b", Prompt: prompt})).Prompt().String()
		if !strings.Contains(p, "\n---\n"+prompt+"\n---\n\n# HISTORY\n(no steps yet)\n") {
			t.Errorf("%q does not stand between its lines in\n%s", prompt, p)
		}
	}
}

func TestBehaviourR13_TheDigestIsOfTheBytesShown(t *testing.T) {
	e := c2(t).Episode(t1(t))
	for range 4 {
		p := e.Prompt()
		if want := digest.HexOfBytes([]byte(p.String())); p.DigestHex() != want || p.Digest().String() != want {
			t.Fatalf("got %s, want %s", p.DigestHex(), want)
		}
		e.Delegated(action.Retry, "z-ai/glm-5.2", true, 1)
		e.Refused()
	}
}

func TestBehaviourR14_PricesAreTheSnapshots(t *testing.T) {
	entries := []catalog.Entry{{ID: "a/b", In: 1, Out: 2, Context: 3}}
	s, err := catalog.New(entries, profile.Strict)
	if err != nil {
		t.Fatal(err)
	}
	entries[0].In = 99 // a later list
	thawed, err := catalog.Thaw(s.Freeze(), profile.Strict)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*catalog.Snapshot{s, thawed} {
		r, err := state.NewRenderer("i\n", s, profile.Strict)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(r.Prefix(), "context length.\na/b / 1 / 2 / 3\n") {
			t.Errorf("got %q", r.Prefix())
		}
	}
}
