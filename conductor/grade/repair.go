package grade

import (
	"strings"

	"assay/conductor/profile"
	"assay/core/text"
)

// Test statuses.
const (
	Passed = "PASSED"
	Failed = "FAILED"
	Broken = "ERROR"
)

// Test is one test's status in a log.
type Test struct{ Name, Status string }

const summaryMarker = "short test summary info"

// TestLog reads the statuses between the first summary heading of a test log and the next one or the end.
// Colour codes and carriage returns are dropped first. Of lines about one name the last counts; the order is that of
// first mention.
//
// Compat takes the first of PASSED, FAILED, ERROR that occurs anywhere in a line, and the empty name where a line has
// no "::". Strict takes a line only where the status is its first word, and only with a "::".
func TestLog(p profile.Profile, log string) []Test {
	_, rest, found := strings.Cut(plain(log), summaryMarker)
	if !found {
		return nil
	}
	rest, _, _ = strings.Cut(rest, summaryMarker)
	var tests []Test
	at := map[string]int{}
	for line := range strings.SplitSeq(rest, "\n") {
		t, ok := testOf(p, line)
		if !ok {
			continue
		}
		if i, seen := at[t.Name]; seen {
			tests[i] = t
			continue
		}
		at[t.Name] = len(tests)
		tests = append(tests, t)
	}
	return tests
}

func testOf(p profile.Profile, line string) (Test, bool) {
	status := ""
	if p.Strict() {
		// What is left of the heading's own line begins with its rule of equal signs.
		status, _ = text.CutField(strings.TrimLeft(line, "= "))
	}
	for _, s := range [...]string{Passed, Failed, Broken} {
		if !p.Strict() && strings.Contains(line, s) || p.Strict() && status == s {
			_, name, colons := strings.Cut(line, "::")
			if !colons && p.Strict() {
				return Test{}, false
			}
			name, _, _ = strings.Cut(strings.ReplaceAll(name, "::", "."), " - ")
			return Test{Name: name, Status: s}, true
		}
	}
	return Test{}, false
}

// plain drops carriage returns and terminal colour codes (ESC, "[", digits and semicolons, "m").
func plain(log string) string {
	log = strings.ReplaceAll(log, "\r", "")
	if !strings.Contains(log, "\x1b[") {
		return log
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(log, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if tail := strings.TrimLeft(rest, "0123456789;"); strings.HasPrefix(tail, "m") {
			rest = tail[1:]
		} else {
			b.WriteString("\x1b[")
		}
		log = rest
	}
}

// FailToPass returns, in expected's order, the names that shall pass and did not in the log of the untouched repository.
func FailToPass(before, expected []Test) []string {
	status := statusOf(before)
	names := []string{}
	for _, t := range expected {
		if t.Status == Passed && status[t.Name] != Passed {
			names = append(names, t.Name)
		}
	}
	return names
}

// Repair grades a patched repository: the observed names must be exactly the expected ones and every status outside
// failToPass must be as expected, else nothing counts; the grade is the share of failToPass that passes.
func Repair(observed, expected []Test, failToPass []string) (Grade, error) {
	g := Grade{Total: len(failToPass)}
	if err := g.Check(); err != nil {
		return Grade{}, err
	}
	got, want := statusOf(observed), statusOf(expected)
	wanted := make(map[string]bool, len(failToPass))
	for _, name := range failToPass {
		wanted[name] = true
	}
	if len(got) != len(want) {
		return g, nil
	}
	for name, status := range want {
		if s, ok := got[name]; !ok || s != status && !wanted[name] {
			return g, nil
		}
	}
	for _, name := range failToPass {
		if got[name] == Passed {
			g.Completed++
		}
	}
	return g, nil
}

// Gate grades a patch by the gate-and-fraction rule: every pass-to-pass test must pass, else nothing counts; the grade
// is the share of failToPass that passes. An empty patch completes nothing, and no sandbox need be started for it.
func Gate(patch string, observed []Test, passToPass, failToPass []string) (Grade, error) {
	g := Grade{Total: len(failToPass)}
	if err := g.Check(); err != nil {
		return Grade{}, err
	}
	if IsEmptyPatch(patch) {
		return g, nil
	}
	got := statusOf(observed)
	for _, name := range passToPass {
		if got[name] != Passed {
			return g, nil
		}
	}
	for _, name := range failToPass {
		if got[name] == Passed {
			g.Completed++
		}
	}
	return g, nil
}

// IsEmptyPatch reports whether a patch holds nothing but white space, so that no sandbox need be started.
func IsEmptyPatch(patch string) bool { return text.Trim(patch) == "" }

func statusOf(tests []Test) map[string]string {
	m := make(map[string]string, len(tests))
	for _, t := range tests {
		m[t.Name] = t.Status
	}
	return m
}
