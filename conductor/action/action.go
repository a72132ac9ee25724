// Package action reads a Conductor's turn: one of REASON, DELEGATE, RETRY and STOP, and nothing else.
//
//	REASON arithmetic; the small model will do
//	DELEGATE acme/small
//
// Invariants:
//   - At most one action is ever read from a turn: the last line that is not blank. Everything before it must be REASON.
//   - A turn that breaks the grammar is a Failure, a value; no path turns it into STOP or into a repaired id.
//   - Reasoning is dropped here: an Action has no part for it. It is measured, and stands in the published turn.
//
// Specification: docs/spec/action.md.
package action

import (
	"assay/conductor/catalog"
	"assay/conductor/profile"
	"assay/core/text"
)

// Limits of a turn and of an episode.
const (
	// ReasonTokenCap is the largest number of tokens of reasoning in one turn.
	ReasonTokenCap = 512
	// MaxConsecutiveFailures is how many unreadable turns in a row end an episode.
	MaxConsecutiveFailures = 3
)

// Kind is what an action asks for.
type Kind uint8

// The kinds. The zero Kind is no action.
const (
	None Kind = iota
	Delegate
	Retry
	Stop
)

// String returns the kind as traces publish it: "delegate", "retry", "stop".
func (k Kind) String() string { return [...]string{"", "delegate", "retry", "stop"}[k] }

// Verb returns the kind as a prompt's history shows it: "DELEGATE", "RETRY", "STOP".
func (k Kind) Verb() string { return [...]string{"", "DELEGATE", "RETRY", "STOP"}[k] }

// Action is one readable action: a model for Delegate and Retry, none for Stop. Only Parse makes one.
type Action struct {
	kind  Kind
	model catalog.ModelID
}

// Kind returns what is asked for; None for the zero Action.
func (a Action) Kind() Kind { return a.kind }

// Model returns the named model; the zero ModelID for Stop.
func (a Action) Model() catalog.ModelID { return a.model }

// Failure is why a turn cannot be read.
type Failure uint8

// The failures. Readable is none.
const (
	Readable      Failure = iota
	Empty                 // no line holds anything
	Untagged              // a line before the last is not REASON
	Trailing              // words behind STOP
	NotAction             // the last line is no action
	Arity                 // DELEGATE or RETRY with no id or with more than one word
	UnknownID             // the id is not in the catalog, byte for byte
	ReasonTooLong         // strict: the reasoning is over ReasonTokenCap
)

var failureNames = [...]string{"", "empty", "untagged", "trailing", "not_action", "arity", "unknown_id", "reason_too_long"}

// String returns the published name of the failure, "" for Readable.
func (f Failure) String() string { return failureNames[f] }

// Sentence says in words what was wrong with the turn.
func (f Failure) Sentence() string {
	return [...]string{
		"readable",
		"empty output: no action",
		"untagged text where only REASON may appear",
		"trailing content after STOP",
		"not an action",
		"takes exactly one model id",
		"is not in this window's catalog snapshot",
		"reasoning is longer than its cap",
	}[f]
}

// Failures lists the failures in the order of reports.
func Failures() []Failure {
	return []Failure{Empty, Untagged, Trailing, NotAction, Arity, UnknownID, ReasonTooLong}
}

// ParseFailure reads a published failure name.
func ParseFailure(s string) (Failure, bool) {
	for f, n := range failureNames {
		if n == s {
			return Failure(f), true
		}
	}
	return 0, false
}

// Parse reads a turn against a snapshot. Verbs match in any ASCII case; under profile.Compat in any case that the
// full Unicode upper-case mapping brings to the verb.
func Parse(turn string, s *catalog.Snapshot, p profile.Profile) (Action, Failure) {
	last := ""
	for rest := turn; rest != ""; {
		var line string
		line, rest, _ = text.CutLine(rest)
		if line = text.Trim(line); line == "" {
			continue
		}
		if last != "" {
			if word, _ := text.CutField(last); !verb(word, "REASON", p) {
				return Action{}, Untagged
			}
		}
		last = line
	}
	if last == "" {
		return Action{}, Empty
	}
	return parseLine(last, s, p)
}

func parseLine(line string, s *catalog.Snapshot, p profile.Profile) (Action, Failure) {
	word, rest := text.CutField(line)
	kind := None
	switch {
	case verb(word, "DELEGATE", p):
		kind = Delegate
	case verb(word, "RETRY", p):
		kind = Retry
	case verb(word, "STOP", p):
		if rest != "" { // the line is trimmed, so what follows is a word
			return Action{}, Trailing
		}
		return Action{kind: Stop}, Readable
	default:
		return Action{}, NotAction
	}
	id, more := text.CutField(rest)
	if id == "" || more != "" {
		return Action{}, Arity
	}
	model, ok := s.Lookup(id)
	if !ok {
		return Action{}, UnknownID
	}
	return Action{kind, model}, Readable
}

func verb(word, want string, p profile.Profile) bool {
	if text.EqualUpperASCII(word, want) {
		return true
	}
	return !p.Strict() && text.EqualUpper(word, want)
}

// Tracker counts consecutive failures within one episode. Its zero value is ready.
type Tracker struct{ failures int }

// Take notes a turn and reports whether it ends the episode: the third failure in a row does, and the count stays there.
func (t *Tracker) Take(f Failure) (forced bool) {
	if f == Readable {
		t.failures = 0
		return false
	}
	t.failures++
	return t.failures >= MaxConsecutiveFailures
}

// Failures returns how many turns in a row have failed.
func (t *Tracker) Failures() int { return t.failures }

// NamedID returns the id that a turn with failure UnknownID names, for a hint in the dev kit.
func NamedID(turn string) string {
	fields := text.Fields(turn)
	if len(fields) == 0 {
		return ""
	}
	return fields[len(fields)-1]
}
