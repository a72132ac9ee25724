package action_test

import (
	"strings"
	"testing"

	"assay/conductor/action"
	"assay/conductor/profile"
)

// words counts as a tokenizer that knows words only.
func words(s string) int { return len(strings.Fields(s)) }

func TestReasonIsWhatStandsAboveTheAction(t *testing.T) {
	for _, c := range []struct {
		turn string
		want int
	}{
		{"STOP", 0},
		{"", 0},
		{"\n\nSTOP\n\n", 0},
		{"REASON one two\nSTOP", 3},
		{"REASON one\nREASON two\r\nDELEGATE a/b\n\n", 4},
		{"REASON one two three", 4}, // no action: all of it is reasoning
		{"REASON a\nREASON b", 4},
		{"prose of five words here\nSTOP", 5},
	} {
		if got := action.MeasureReason(c.turn, profile.Strict, words); got != c.want {
			t.Errorf("%q holds %d words of reasoning, want %d", c.turn, got, c.want)
		}
	}
}

func TestReasonCapIsARuleOfTheStrictProfile(t *testing.T) {
	over := action.Measure{Tokens: action.ReasonTokenCap + 1, Source: action.Endpoint}
	full := action.Measure{Tokens: action.ReasonTokenCap, Source: action.Endpoint}
	unknown := action.Measure{Tokens: action.ReasonTokenCap + 1}
	for _, c := range []struct {
		name string
		f    action.Failure
		m    action.Measure
		p    profile.Profile
		want action.Failure
	}{
		{"over the cap", action.Readable, over, profile.Strict, action.ReasonTooLong},
		{"at the cap", action.Readable, full, profile.Strict, action.Readable},
		{"not measured", action.Readable, unknown, profile.Strict, action.Readable},
		{"compat has no cap", action.Readable, over, profile.Compat, action.Readable},
		{"an unreadable turn keeps its failure", action.Empty, over, profile.Strict, action.Empty},
	} {
		if got := action.ReasonChecked(c.f, c.m, c.p); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestEndpointCountIsSharedBetweenReasonAndAction(t *testing.T) {
	const turn = "REASON twelve characters\nDELEGATE a/b" // 13 bytes of line end and action: 4 tokens at most
	for _, c := range []struct{ tokens, want int }{{20, 16}, {4, 0}, {0, 0}} {
		if got := action.EndpointReason(turn, c.tokens, profile.Strict); got != c.want {
			t.Errorf("%d tokens in all: %d of reasoning, want %d", c.tokens, got, c.want)
		}
	}
	if got := action.EndpointReason("DELEGATE a/b", 30, profile.Strict); got != 0 {
		t.Errorf("a turn without reasoning has %d tokens of it", got)
	}
	if got := action.EstimateTokens("12345"); got != 2 {
		t.Errorf("five bytes are estimated as %d tokens, want 2", got)
	}
}

func TestNamedIDIsTheLastWord(t *testing.T) {
	for turn, want := range map[string]string{"DELEGATE a/b": "a/b", "REASON x\nRETRY  acme/c \n": "acme/c", "": "", " \n": ""} {
		if got := action.NamedID(turn); got != want {
			t.Errorf("%q names %q, want %q", turn, got, want)
		}
	}
}
