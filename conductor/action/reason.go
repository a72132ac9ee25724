package action

import (
	"slices"

	"assay/conductor/profile"
	"assay/core/text"
)

// Source says how a turn's reasoning was measured.
type Source uint8

// The sources, best first. Unmeasured is none.
const (
	Unmeasured Source = iota
	Tokenizer         // counted with the reference tree's tokenizer
	Endpoint          // the serving endpoint's count for the turn, less an estimate of the action line
	Estimate          // ceil(UTF-8 bytes / 4): an estimate
)

var sourceNames = [...]string{"unmeasured", "tokenizer", "endpoint", "estimate"}

// String returns the published name of the source.
func (s Source) String() string { return sourceNames[s] }

// ParseSource reads a published name; Unmeasured is not one.
func ParseSource(s string) (Source, bool) {
	i := slices.Index(sourceNames[1:], s)
	return Source(i + 1), i >= 0
}

// Measure is how many tokens of reasoning a turn holds, and how that is known.
type Measure struct {
	Tokens int
	Source Source
}

// Counter counts tokens with the reference's tokenizer. It must be a function of its argument.
type Counter interface{ Count(text string) int }

// MeasureTurn measures a turn's reasoning by the best means there is: the tokenizer, else the endpoint's count for the whole
// turn (below 0 where it told none), else an estimate. Reasoning is everything before the last line that is not blank, trimmed;
// a turn whose last line is REASON has no action, so all of it is reasoning.
func MeasureTurn(turn string, p profile.Profile, tokenizer Counter, endpointTokens int) Measure {
	reason := reasonPart(turn, p)
	switch {
	case tokenizer != nil:
		if reason == "" {
			return Measure{0, Tokenizer}
		}
		return Measure{tokenizer.Count(reason), Tokenizer}
	case endpointTokens < 0:
		return Measure{estimate(len(reason)), Estimate}
	case reason == "":
		return Measure{0, Endpoint}
	}
	actionBytes := len(text.Trim(turn)) - len(reason)
	return Measure{max(0, endpointTokens-estimate(actionBytes)), Endpoint}
}

// estimate is the tokens of n bytes where nobody counts them.
func estimate(bytes int) int { return (bytes + 3) / 4 }

func reasonPart(turn string, p profile.Profile) string {
	turn = text.TrimRight(turn)
	last := text.LastLine(turn)
	if word, _ := text.CutField(last); verb(word, "REASON", p) {
		return text.Trim(turn)
	}
	return text.Trim(turn[:len(turn)-len(last)])
}

// ReasonChecked applies the cap on reasoning to a readable turn: under profile.Strict a turn over it is ReasonTooLong.
func ReasonChecked(f Failure, m Measure, p profile.Profile) Failure {
	if f == Readable && p.Strict() && m.Tokens > ReasonTokenCap {
		return ReasonTooLong
	}
	return f
}
