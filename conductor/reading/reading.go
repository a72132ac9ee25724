// Package reading is the channel through which a worker may look at a repository before it answers:
// READ, LIST and FIND, three times for each delegate.
//
// Invariants:
//   - The Conductor neither drives nor influences a read: a call comes from a worker's reply alone.
//   - What a worker is sent is a function of the task and the observations, so anyone can recompute it.
//   - A reply whose last line is no call is the answer, whole.
//
// Specification: docs/spec/worker-request.md.
package reading

import (
	"strconv"
	"strings"

	"assay/conductor/profile"
	"assay/core/text"
)

// The limits of the channel.
const (
	MaxReads    = 3   // observations for one delegate
	MaxArgument = 512 // UTF-8 bytes of an argument

	ReadLines = 200  // lines of a READ
	ListMax   = 200  // names of a LIST
	FindMax   = 50   // matches of a FIND
	MaxOutput = 8192 // characters of an output under compat, bytes under strict
)

// The verbs, as a task declares them and a reply says them.
const (
	Read = "READ"
	List = "LIST"
	Find = "FIND"
)

// Call is one inspection that a worker asks for.
type Call struct {
	Name  string // Read, List or Find
	Arg   string // one line, not empty, at most MaxArgument bytes
	Start string // first line of a READ in decimal without leading zeros, "1" for the other verbs
}

// String returns the call as it is shown to the worker: "READ a/b.py 10", "LIST src", "FIND def f".
func (c Call) String() string {
	if c.Name == Read {
		return c.Name + " " + c.Arg + " " + c.Start
	}
	return c.Name + " " + c.Arg
}

// Parse reads the last line of a reply that is not blank as a call. ok is false when the whole reply is the answer.
// Under profile.Strict that line must be the only one, so that an answer which happens to end like a call, such as a diff, stays
// the answer; and a start line is one of 64 bits.
func Parse(reply string, p profile.Profile) (c Call, ok bool) {
	last := text.LastLine(reply)
	verb, rest, found := strings.Cut(last, " ")
	if !found || p.Strict() && text.Trim(reply) != last {
		return Call{}, false
	}
	c = Call{Name: verb, Start: "1"}
	switch verb {
	case Find:
		c.Arg = text.Trim(rest)
	case Read, List:
		var start, more string
		c.Arg, rest = text.CutField(rest)
		start, more = text.CutField(rest)
		if more != "" || start != "" && verb == List {
			return Call{}, false
		}
		if start != "" {
			if c.Start, ok = startLine(start, p); !ok {
				return Call{}, false
			}
		}
	default:
		return Call{}, false
	}
	return c, argumentOK(c.Arg)
}

func startLine(s string, p profile.Profile) (string, bool) {
	if strings.Trim(s, "0123456789") != "" {
		return "", false
	}
	s = strings.TrimLeft(s, "0")
	if s == "" {
		return "", false
	}
	if _, err := strconv.ParseInt(s, 10, 64); err != nil && p.Strict() {
		return "", false
	}
	return s, true
}

func argumentOK(arg string) bool {
	if arg == "" || len(arg) > MaxArgument {
		return false
	}
	for _, r := range arg {
		if r == 0 || text.IsLineEnd(r) {
			return false
		}
	}
	return true
}

// Observation is what one call showed.
type Observation struct {
	Call        Call
	Output      string
	Truncated   bool
	ReplyDigest string // hexadecimal SHA-256 of the reply that asked
}

// Compose returns the text that a worker is sent: the prompt itself when nothing was observed, else the prompt,
// every observation in order, and how many inspections are left.
func Compose(prompt string, seen []Observation) string {
	if len(seen) == 0 {
		return prompt
	}
	var b strings.Builder
	b.WriteString(prompt)
	b.WriteString("\n\n--- INSPECTION RESULTS ---\n")
	for i, o := range seen {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString("$ " + o.Call.String() + "\n" + o.Output)
		if o.Truncated {
			b.WriteString("\n[truncated]")
		}
	}
	b.WriteString("\n--- END OF INSPECTION RESULTS ---\n")
	if left := MaxReads - len(seen); left > 0 {
		b.WriteString("You may inspect " + strconv.Itoa(left) + " more time(s). Reply with one inspection line, or with your final answer.\n")
	} else {
		b.WriteString("You have no inspections left. Reply with your final answer.\n")
	}
	return b.String()
}
