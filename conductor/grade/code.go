package grade

import (
	"strconv"
	"strings"

	"assay/conductor"
	"assay/core/fault"
	"assay/core/text"
)

const fence = "```"

// ExtractCode returns the program in a submission, trimmed and with one line end.
// Where a fence occurs, the first non-blank piece between fences, the prose before the first one included,
// that mentions input or print is the program; a leading "python" tag, in any case, costs it six characters.
// Where no piece qualifies, or there is no fence, the program is the whole text.
func ExtractCode(submission string) string {
	code := submission
	if strings.Contains(submission, fence) {
		for piece := range strings.SplitSeq(submission, fence) {
			if text.Trim(piece) == "" || !strings.Contains(piece, "input") && !strings.Contains(piece, "print") {
				continue
			}
			code = piece
			if head := strings.TrimLeftFunc(piece, text.IsSpace); len(head) >= 6 && strings.EqualFold(head[:6], "python") {
				code = skipRunes(piece, 6) // counted from the piece's start, blanks included
			}
			break
		}
	}
	return text.Trim(code) + "\n"
}

// CaseVerdict reads what a test driver printed. The last line that begins with V3_CASES and two whole numbers
// counts: cases passed, cases run. A driver that left no such line died, which is nobody's zero.
func CaseVerdict(output string) (Grade, error) {
	var g Grade
	found := false
	for output != "" {
		var line string
		line, output, _ = text.CutLine(output)
		if !strings.HasPrefix(line, "V3_CASES") {
			continue
		}
		f := text.Fields(line)
		if len(f) < 3 || f[0] != "V3_CASES" {
			continue
		}
		completed, err1 := strconv.Atoi(f[1])
		total, err2 := strconv.Atoi(f[2])
		if err1 == nil && err2 == nil {
			g, found = Grade{Completed: completed, Total: total}, true
		}
	}
	if !found {
		return Grade{}, conductor.NoVerdict.With()
	}
	return g, nil
}

// Exit is how a sandbox ended.
type Exit struct {
	Code     int    // the container's exit code
	Stderr   string // the tail of what it wrote to standard error
	TimedOut bool   // the deadline passed
}

// Check returns nil where the run may be graded, whatever its exit code, and an infrastructure error where the
// sandbox itself failed: exit 125, exit 126 or 127 with a message of the container runtime, or a timeout.
func (e Exit) Check() error {
	runtime := strings.Contains(e.Stderr, "docker:") || strings.Contains(e.Stderr, "Error response from daemon") ||
		strings.Contains(e.Stderr, "OCI runtime")
	switch {
	case e.TimedOut, e.Code == 125, (e.Code == 126 || e.Code == 127) && runtime:
		return conductor.SandboxFailed.With(fault.Int("exit", int64(e.Code)))
	}
	return nil
}
