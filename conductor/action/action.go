// Package action reads a Conductor's turn: one of REASON, DELEGATE, RETRY and STOP, and nothing else.
//
//	REASON arithmetic; the small model will do
//	DELEGATE acme/small
//
// Invariants:
//   - At most one action is ever read from a turn: the last line that is not blank. Everything before it must be REASON.
//   - A turn that breaks the grammar is a Failure, a value; no path turns it into STOP or into a repaired id.
//   - Reasoning is dropped here. What it weighs can be measured, what it says has no reader.
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
	return p == profile.Compat && text.EqualUpper(word, want)
}

// Source says how a turn's reasoning was measured.
type Source uint8

// The sources, best first.
const (
	Unmeasured Source = iota
	Tokenizer         // counted with the reference tree's tokenizer
	Endpoint          // the serving endpoint's own count for the turn
	Estimate          // ceil(UTF-8 bytes / 4): an estimate
)

// String returns the published name of the source.
func (s Source) String() string {
	return [...]string{"unmeasured", "tokenizer", "endpoint", "estimate"}[s]
}

// Measure is how many tokens of reasoning a turn holds, and how that is known.
type Measure struct {
	Tokens int
	Source Source
}

// MeasureReason counts a turn's reasoning with count: everything before the last line that is not blank, trimmed.
// A turn whose last line is REASON has no action, so all of it is reasoning.
func MeasureReason(turn string, p profile.Profile, count func(reason string) int) int {
	reason := reasonPart(turn, p)
	if reason == "" {
		return 0
	}
	return count(reason)
}

func reasonPart(turn string, p profile.Profile) string {
	turn = text.TrimRight(turn)
	start := 0 // of the last line
	for rest := turn; ; {
		_, next, found := text.CutLine(rest)
		if !found {
			break
		}
		rest = next
		start = len(turn) - len(rest)
	}
	if word, _ := text.CutField(turn[start:]); verb(word, "REASON", p) {
		return text.Trim(turn)
	}
	return text.Trim(turn[:start])
}

// ReasonChecked applies the cap on reasoning to a readable turn: under profile.Strict a turn over it is ReasonTooLong.
func ReasonChecked(f Failure, m Measure, p profile.Profile) Failure {
	if f == Readable && p == profile.Strict && m.Source != Unmeasured && m.Tokens > ReasonTokenCap {
		return ReasonTooLong
	}
	return f
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

// EstimateTokens is the estimate of reasoning where neither a tokenizer nor the endpoint counts: ceil(UTF-8 bytes / 4).
func EstimateTokens(reason string) int { return (len(reason) + 3) / 4 }

// EndpointReason derives the tokens of reasoning from the endpoint's count for the whole turn: the share of the action line,
// which is estimated, is taken off. It never exceeds the endpoint's count.
func EndpointReason(turn string, turnTokens int, p profile.Profile) int {
	reason := reasonPart(turn, p)
	if reason == "" {
		return 0
	}
	actionBytes := len(text.Trim(turn)) - len(reason)
	return max(0, turnTokens-(actionBytes+3)/4)
}

// NamedID returns the id that a turn with failure UnknownID names, for a hint in the dev kit.
func NamedID(turn string) string {
	fields := text.Fields(turn)
	if len(fields) == 0 {
		return ""
	}
	return fields[len(fields)-1]
}
