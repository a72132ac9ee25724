package receipt

import (
	"slices"
	"strings"
)

// Use is a receipt with the length of the request that it is for.
type Use struct {
	Receipt
	RequestBytes int // of the body whose digest is PromptHash
}

// Finding is token usage that no tokenizer reports of such requests. It refuses nothing: it tells a reader where to look.
type Finding struct {
	What   Implausible
	Model  string
	Column string // "tokens_in" or "tokens_out"
	CallID string // the first receipt that shows it
	Count  int    // receipts that show it
}

// Implausible is a kind of finding.
type Implausible string

// The kinds.
const (
	Constant Implausible = "constant_column" // one count over requests, or answers, that differ
	TooMany  Implausible = "too_many_tokens" // more tokens than the request has bytes
	TooFew   Implausible = "too_few_tokens"  // fewer than one token for many bytes of request
)

const (
	bytesPerToken = 64  // a request with more bytes for a token than this is not made of words
	templateExtra = 512 // tokens that a chat template and hidden instructions may add
	constantRows  = 3   // receipts that a constant needs
	constantBytes = 64  // bytes that their requests differ by at least
	// constantAnswers are the differing answers that a constant count of output tokens needs: short answers do agree.
	constantAnswers = 16
)

// Implausibilities looks through the live receipts of an arm, model by model in the order of their names. Replays say again what
// the call that filled their row said, and failed calls may report nothing, so neither is looked at.
func Implausibilities(uses []Use) []Finding {
	models := map[string][]Use{}
	for _, u := range uses {
		if !u.Replayed && !u.Failed {
			models[u.Model] = append(models[u.Model], u)
		}
	}
	var out []Finding
	names := make([]string, 0, len(models))
	for m := range models {
		names = append(names, m)
	}
	slices.SortFunc(names, strings.Compare)
	for _, m := range names {
		out = append(out, implausible(m, models[m])...)
	}
	return out
}

func implausible(model string, uses []Use) []Finding {
	var out []Finding
	many := Finding{What: TooMany, Model: model, Column: "tokens_in"}
	few := Finding{What: TooFew, Model: model, Column: "tokens_in"}
	for _, u := range uses {
		switch {
		case u.TokensIn > int64(u.RequestBytes)+templateExtra:
			many.add(u)
		case u.TokensIn*bytesPerToken < int64(u.RequestBytes):
			few.add(u)
		}
	}
	if constantIn(uses) {
		out = append(out, Finding{What: Constant, Model: model, Column: "tokens_in", CallID: uses[0].CallID, Count: len(uses)})
	}
	if constantOut(uses) {
		out = append(out, Finding{What: Constant, Model: model, Column: "tokens_out", CallID: uses[0].CallID, Count: len(uses)})
	}
	for _, f := range []Finding{many, few} {
		if f.Count > 0 {
			out = append(out, f)
		}
	}
	return out
}

func (f *Finding) add(u Use) {
	if f.Count == 0 {
		f.CallID = u.CallID
	}
	f.Count++
}

// constantIn reports whether requests of clearly different lengths all count the same tokens.
func constantIn(uses []Use) bool {
	least, most := uses[0].RequestBytes, uses[0].RequestBytes
	for _, u := range uses {
		if u.TokensIn != uses[0].TokensIn {
			return false
		}
		least, most = min(least, u.RequestBytes), max(most, u.RequestBytes)
	}
	return len(uses) >= constantRows && most-least >= constantBytes
}

// constantOut reports whether many different answers all count the same tokens.
func constantOut(uses []Use) bool {
	answers := map[string]bool{}
	for _, u := range uses {
		if u.TokensOut != uses[0].TokensOut {
			return false
		}
		answers[u.ResponseHash] = true
	}
	return len(answers) >= constantAnswers
}
