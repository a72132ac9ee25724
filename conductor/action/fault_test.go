package action_test

import (
	"testing"

	"assay/conductor/action"
)

// refusedAll says that no turn of the list is an action, and that each is counted.
func refusedAll(t *testing.T, want string, turns ...string) {
	t.Helper()
	s := c2(t)
	for _, turn := range turns {
		for _, p := range both {
			a, f := action.Parse(turn, s, p)
			if f.String() != want || a.Kind() != action.None {
				t.Errorf("%v: %q reads as %v with failure %q, want %q", p, turn, a.Kind(), f, want)
			}
			var tr action.Tracker
			if forced := tr.Take(f); forced || tr.Failures() != 1 {
				t.Errorf("%v: %q was not counted as one failure", p, turn)
			}
		}
	}
}

func TestFault16_AStrayThinkTagIsNoStop(t *testing.T) {
	refusedAll(t, "untagged",
		"</think>\n{\"name\":\"DELEGATE\",\"arguments\":{\"model\":\"a/b\"}}",
		"</think>\nSTOP", "<think>STOP</think>\nSTOP", "<think>\nhm\n</think>\n\nDELEGATE "+gpt)
	refusedAll(t, "not_action",
		"</think>", "</think>STOP", "{\"name\":\"DELEGATE\",\"arguments\":{\"model\":\"a/b\"}}", "{\"action\":\"STOP\"}")
}

func TestFault17_TwoActionsAreNone(t *testing.T) {
	refusedAll(t, "untagged", "STOP\nDELEGATE "+gpt, "DELEGATE "+gpt+"\nSTOP",
		"DELEGATE "+gpt+"\nDELEGATE z-ai/glm-5.2", "STOP\n\n\nSTOP", "STOP\u2028STOP", "REASON a\nSTOP\nREASON b\nSTOP")
	refusedAll(t, "trailing", "STOP DELEGATE "+gpt, "STOP && DELEGATE "+gpt)
	refusedAll(t, "arity", "DELEGATE "+gpt+" STOP", "DELEGATE "+gpt+" RETRY "+gpt)
}

func TestFault19_MarkupAroundAnActionIsNoAction(t *testing.T) {
	refusedAll(t, "not_action", "<answer>DELEGATE a/b</answer>", "<answer>STOP</answer>", "**STOP**", "`STOP`", "> STOP", "- STOP", "1. STOP")
	refusedAll(t, "unknown_id", "DELEGATE "+gpt+"</answer>", "DELEGATE "+gpt+"<|im_end|>", "DELEGATE **"+gpt+"**")
}

func TestFault20_OneRuleForEveryBlankAndLookAlike(t *testing.T) {
	s := c2(t)
	for turn, want := range map[string]string{
		"DELEGATE\t" + gpt:           "delegate " + gpt,
		"DELEGATE  " + gpt:           "delegate " + gpt,
		"DELEGATE " + gpt + "\r\n":   "delegate " + gpt,
		"DELEGATE " + gpt + "\u00a0": "delegate " + gpt,
		"DELEGATE\n" + gpt:           "untagged", // a line end is no blank: the verb stands alone on its line
		"\ufeffSTOP":                 "not_action",
		"STOP\ufeff":                 "not_action",
		"STOP\u200b":                 "not_action",
		"DELEG\u0410TE " + gpt:       "not_action", // Cyrillic A
		"R\u0415TRY " + gpt:          "not_action", // Cyrillic Ie
		"DELEGATE\u200b" + gpt:       "not_action",
	} {
		for _, p := range both {
			if got := said(turn, s, p); got != want {
				t.Errorf("%v: %q reads as %q, want %q", p, turn, got, want)
			}
		}
	}
}
