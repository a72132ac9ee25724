package action_test

import (
	"strings"
	"testing"

	"assay/conductor/action"
	"assay/conductor/profile"
)

// words is a tokenizer that knows words only.
type words struct{}

func (words) Count(s string) int { return len(strings.Fields(s)) }

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
		want := action.Measure{Tokens: c.want, Source: action.Tokenizer}
		if got := action.MeasureTurn(c.turn, profile.Strict, words{}, 99); got != want {
			t.Errorf("%q measures %v, want %v", c.turn, got, want)
		}
	}
}

func TestReasonCapIsARuleOfTheStrictProfile(t *testing.T) {
	over := action.Measure{Tokens: action.ReasonTokenCap + 1, Source: action.Endpoint}
	full := action.Measure{Tokens: action.ReasonTokenCap, Source: action.Endpoint}
	for _, c := range []struct {
		name string
		f    action.Failure
		m    action.Measure
		p    profile.Profile
		want action.Failure
	}{
		{"over the cap", action.Readable, over, profile.Strict, action.ReasonTooLong},
		{"at the cap", action.Readable, full, profile.Strict, action.Readable},
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
		want := action.Measure{Tokens: c.want, Source: action.Endpoint}
		if got := action.MeasureTurn(turn, profile.Strict, nil, c.tokens); got != want {
			t.Errorf("%d tokens in all: %v of reasoning, want %v", c.tokens, got, want)
		}
	}
	if got := action.MeasureTurn("DELEGATE a/b", profile.Strict, nil, 30); got.Tokens != 0 {
		t.Errorf("a turn without reasoning has %v of it", got)
	}
	want := action.Measure{Tokens: 3, Source: action.Estimate} // nine bytes
	if got := action.MeasureTurn("REASON ab\nSTOP", profile.Strict, nil, -1); got != want {
		t.Errorf("nobody counted: %v, want %v", got, want)
	}
}

func TestNamedIDIsTheLastWord(t *testing.T) {
	for turn, want := range map[string]string{"DELEGATE a/b": "a/b", "REASON x\nRETRY  acme/c \n": "acme/c", "": "", " \n": ""} {
		if got := action.NamedID(turn); got != want {
			t.Errorf("%q names %q, want %q", turn, got, want)
		}
	}
}
