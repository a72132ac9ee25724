package action_test

import (
	"strings"
	"testing"

	"assay/conductor/action"
	"assay/conductor/catalog"
	"assay/conductor/profile"
)

var both = []profile.Profile{profile.Strict, profile.Compat}

// c2 is the catalog of most tests.
func c2(tb testing.TB) *catalog.Snapshot {
	tb.Helper()
	return snapshot(tb, profile.Strict,
		catalog.Entry{ID: "openai/gpt-5.4", In: 1.25, Out: 10, Context: 400000},
		catalog.Entry{ID: "z-ai/glm-5.2", In: 0.2, Out: 0.8, Context: 128000})
}

func snapshot(tb testing.TB, p profile.Profile, entries ...catalog.Entry) *catalog.Snapshot {
	tb.Helper()
	s, err := catalog.New(entries, p)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// said is a turn read: "delegate openai/gpt-5.4", "stop", or the failure's name.
func said(turn string, s *catalog.Snapshot, p profile.Profile) string {
	a, f := action.Parse(turn, s, p)
	if f != action.Readable {
		if a != (action.Action{}) {
			return "a failure that carries an action"
		}
		return f.String()
	}
	return strings.TrimSpace(a.Kind().String() + " " + a.Model().String())
}

const gpt = "openai/gpt-5.4"

func TestBehaviourA_Grammar(t *testing.T) {
	const delegate, retry = "delegate " + gpt, "retry " + gpt
	for _, c := range []struct {
		name  string
		turns []string
		want  string
	}{
		{"A1 delegate", []string{"DELEGATE " + gpt}, delegate},
		{"A2 retry needs no history", []string{"RETRY " + gpt}, retry},
		{"A3 stop", []string{"STOP"}, "stop"},
		{"A4 verbs in any case", []string{"stop", "sToP"}, "stop"},
		{"A4 verbs in any case", []string{"delegate " + gpt, "dElEgAtE " + gpt}, delegate},
		{"A4 verbs in any case", []string{"Retry " + gpt}, retry},
		{"A5 blanks and blank lines around", []string{"\n \n\t  STOP \t\n\n  \n", "STOP\u3000", "\u00a0STOP"}, "stop"},
		{"A6 tab or several blanks between words", []string{"DELEGATE\t" + gpt, "DELEGATE   " + gpt, "DELEGATE \t " + gpt}, delegate},
		{"A7 CRLF", []string{"REASON x\r\nDELEGATE " + gpt + "\r\n"}, delegate},
		{"A8 reasoning then an action", []string{"REASON a\nDELEGATE " + gpt, "REASON a\nREASON b\n\nREASON c\nDELEGATE " + gpt}, delegate},
		{"A9 reason in any case, and bare", []string{"reason why\nSTOP", "Reason\nSTOP", "REASON\nSTOP", " rEaSoN \n STOP"}, "stop"},
		{"A10 reasoning that holds an action", []string{"REASON DELEGATE other/model\nSTOP", "REASON DELEGATE " + gpt + "\nSTOP"}, "stop"},
		{"A11 nothing", []string{"", " ", "\t \u3000", "\n\n\r\n", "\u2028\x1c\n"}, "empty"},
		{"A12 reasoning alone", []string{"REASON x", "REASON x\nREASON y\n", "reason"}, "not_action"},
		{"A13 prose before", []string{"I pick this.\nDELEGATE " + gpt, "REASON x\nso:\nSTOP"}, "untagged"},
		{"A14 two actions", []string{"DELEGATE " + gpt + "\nSTOP", "STOP\nSTOP", "STOP\nDELEGATE " + gpt}, "untagged"},
		{"A15 an action then reasoning", []string{"STOP\nREASON done", "DELEGATE " + gpt + "\nREASON because"}, "untagged"},
		{"A16 an action then prose", []string{"STOP\nthat is all", "DELEGATE " + gpt + "\n\n\nThanks!"}, "untagged"},
		{"A17 words behind stop", []string{"STOP now", "STOP STOP", "STOP\u00a0!"}, "trailing"},
		{"A17 stop with a full stop", []string{"STOP.", "STOP!"}, "not_action"},
		{"A18 no id", []string{"DELEGATE", "RETRY", "DELEGATE  \t"}, "arity"},
		{"A19 more than one id", []string{"DELEGATE " + gpt + " extra", "RETRY " + gpt + " " + gpt, "DELEGATE to " + gpt}, "arity"},
		{"A20 unknown verb", []string{"ANSWER 42", "42", "DELEGATES " + gpt, "DELEGAT " + gpt, "ASK " + gpt}, "not_action"},
		{"A21 not the id", []string{
			"DELEGATE OpenAI/gpt-5.4", "DELEGATE OPENAI/GPT-5.4", "DELEGATE openai/gpt-5", "DELEGATE openai/gpt-5.4:free", "DELEGATE gpt-5.4",
			"RETRY openai/gpt-5.4.", "RETRY openai/gpt-5.4/",
		}, "unknown_id"},
		{"A22 quoted", []string{`DELEGATE "` + gpt + `"`, "DELEGATE `" + gpt + "`", "DELEGATE '" + gpt + "'", "DELEGATE <" + gpt + ">"}, "unknown_id"},
		{"A23 fenced", []string{"```\nSTOP\n```", "```\nDELEGATE " + gpt + "\n```"}, "untagged"},
		{"A24 not the word REASON", []string{"REASON: x\nSTOP", "REASONING x\nSTOP", "REASON. x\nSTOP"}, "untagged"},
		{"A25 a colon for a blank", []string{"DELEGATE:" + gpt}, "not_action"},
		{"A26 look-alikes", []string{
			"DELEGATE \u043epenai/gpt-5.4",           // Cyrillic o
			"DELEGATE openai/gpt\u200b-5.4",          // zero width space
			"DELEGATE openai/gpt-5.4\x00",            // NUL
			"DELEGATE \uff4fpenai/gpt-5.4",           // full-width o
			"DELEGATE openai/gpt\u20105.4",           // hyphen U+2010
			"DELEGATE openai/gpt-5.4\u0301",          // combining accent
			"DELEGATE openai/gpt-5\u2024" + "4",      // one dot leader
			"DELEGATE openai\u2215gpt-5.4",           // division slash
			"DELEGATE \ufeffopenai/gpt-5.4",          // byte order mark
			"DELEGATE openai/gpt-\U0001d7d3.4",       // mathematical five
			"DELEGATE \u202eopenai/gpt-5.4\u202c",    // direction marks
			"DELEGATE openai/gpt-5.4\xff",            // not UTF-8
			"RETRY openai/gpt-5.\u0664",              // Arabic digit
			"RETRY " + strings.Repeat("openai/", 20), // long
		}, "unknown_id"},
		{"A28 any terminator ends a line", []string{"REASON x\u2028STOP", "REASON x\vSTOP", "REASON x\x85" + "\u0085STOP"}, "stop"},
		{"A29 Unicode blanks split words", []string{"DELEGATE\u00a0" + gpt, "DELEGATE\u3000" + gpt, "DELEGATE\u2003\u1680" + gpt, "DELEGATE\x1f" + gpt}, delegate},
		{"A31 full-width verb", []string{"\uff33\uff34\uff2f\uff30"}, "not_action"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c2(t)
			for _, turn := range c.turns {
				for _, p := range both {
					if got := said(turn, s, p); got != c.want {
						t.Errorf("%v: %q reads as %q, want %q", p, turn, got, c.want)
					}
				}
			}
		})
	}
}

func TestBehaviourA27_EveryTerminatorSplitsTheTurn(t *testing.T) {
	s := c2(t)
	ends := []string{"\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\u0085", "\u2028", "\u2029"}
	for _, end := range ends {
		for _, p := range both {
			if got := said("DELEGATE "+gpt+end+"send this to the worker", s, p); got != "untagged" {
				t.Errorf("%v: text smuggled behind %q reads as %q", p, end, got)
			}
			if got := said("REASON x"+end+"DELEGATE "+gpt+end, s, p); got != "delegate "+gpt {
				t.Errorf("%v: an action behind %q reads as %q", p, end, got)
			}
		}
	}
	for _, blank := range []string{"\t", " ", "\x1f", "\u00a0"} { // white space that ends no line
		if got := said("STOP"+blank+"STOP", s, profile.Strict); got != "trailing" {
			t.Errorf("%q splits lines: %q", blank, got)
		}
	}
}

func TestBehaviourA30_VerbsInFullUnicodeUpperCaseAreACompatAccident(t *testing.T) {
	s := c2(t)
	for _, turn := range []string{"ſtop", "ﬆop", "ﬅop", "\u017ftop\n"} {
		if got := said(turn, s, profile.Compat); got != "stop" {
			t.Errorf("compat: %q reads as %q", turn, got)
		}
		if got := said(turn, s, profile.Strict); got != "not_action" {
			t.Errorf("strict: %q reads as %q", turn, got)
		}
	}
	if got := said("reaſon x\nSTOP", s, profile.Compat); got != "stop" {
		t.Errorf("compat: a long s in REASON reads as %q", got)
	}
	if got := said("reaſon x\nSTOP", s, profile.Strict); got != "untagged" {
		t.Errorf("strict: a long s in REASON reads as %q", got)
	}
}

func TestBehaviourA32_AnIDThatHoldsABlankCannotBeSaid(t *testing.T) {
	for _, id := range []string{"a b/c", "a/b\nc", "a\u00a0b/c", "a/b\u2028c", " a/b", "a/b "} {
		s := snapshot(t, profile.Compat, catalog.Entry{ID: id, In: 1, Out: 1, Context: 1}, catalog.Entry{ID: "x/y", In: 1, Out: 1, Context: 1})
		for _, p := range both {
			if a, f := action.Parse("DELEGATE "+id, s, p); f == action.Readable {
				t.Errorf("%v: the id %q was read as %v", p, id, a.Model())
			}
		}
	}
}

// play runs turns through a tracker and returns what each gave: "ok", "refused" or "forced".
func play(turns ...action.Failure) (words []string, tr action.Tracker) {
	for _, f := range turns {
		switch {
		case tr.Take(f):
			words = append(words, "forced")
		case f == action.Readable:
			words = append(words, "ok")
		default:
			words = append(words, "refused")
		}
	}
	return words, tr
}

func TestBehaviourA_Tracker(t *testing.T) {
	const ok, bad = action.Readable, action.NotAction
	for _, c := range []struct {
		name     string
		turns    []action.Failure
		want     string
		failures int
	}{
		{"A33 the third failure in a row ends it", []action.Failure{bad, action.Empty, action.UnknownID}, "refused refused forced", 3},
		{"A34 a good turn sets the count to zero", []action.Failure{bad, bad, ok, bad, bad, ok}, "refused refused ok refused refused ok", 0},
		{"A35 four fumbles, four recoveries", []action.Failure{bad, ok, bad, ok, bad, ok, bad, ok}, "refused ok refused ok refused ok refused ok", 0},
		{"A36 the count stands after the forced stop", []action.Failure{ok, bad, bad, bad}, "ok refused refused forced", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			words, tr := play(c.turns...)
			if got := strings.Join(words, " "); got != c.want || tr.Failures() != c.failures {
				t.Errorf("got %q with a count of %d, want %q with %d", got, tr.Failures(), c.want, c.failures)
			}
		})
	}
}

func TestBehaviourA37_RowsShowPricesInShortForm(t *testing.T) {
	for _, c := range []struct {
		e    catalog.Entry
		want string
	}{
		{catalog.Entry{ID: gpt, In: 1.25, Out: 10, Context: 400000}, "openai/gpt-5.4 / 1.25 / 10 / 400000"},
		{catalog.Entry{ID: "a/b", In: 0.12345669999999999, Out: 1e-7, Context: 1}, "a/b / 0.123457 / 1e-07 / 1"},
		{catalog.Entry{ID: "a/b", In: 0, Out: 1234567, Context: 128000}, "a/b / 0 / 1.23457e+06 / 128000"},
	} {
		if got := string(c.e.AppendRow(nil)); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestBehaviourA38_OnlyParseMakesActions(t *testing.T) {
	s := c2(t)
	for _, turn := range []string{"STOP", "DELEGATE " + gpt, "RETRY z-ai/glm-5.2", "DELEGATE nobody/none", ""} {
		a, f := action.Parse(turn, s, profile.Strict)
		named := !a.Model().IsZero()
		switch a.Kind() {
		case action.None, action.Stop:
			if named {
				t.Errorf("%q: %v carries a model", turn, a.Kind())
			}
		default:
			if !named || a.Model().String() != strings.Fields(turn)[1] {
				t.Errorf("%q: %v carries the model %q", turn, a.Kind(), a.Model())
			}
		}
		if (a.Kind() == action.None) != (f != action.Readable) {
			t.Errorf("%q: kind %v with failure %v", turn, a.Kind(), f)
		}
	}
	var zero action.Action
	if zero.Kind() != action.None || !zero.Model().IsZero() {
		t.Error("the zero Action asks for something")
	}
}

func TestFailuresHaveNamesThatReadBack(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range action.Failures() {
		back, ok := action.ParseFailure(f.String())
		if !ok || back != f || f.String() == "" || f.Sentence() == "" || seen[f.String()] {
			t.Errorf("failure %d: name %q, sentence %q, read back as %v", f, f, f.Sentence(), back)
		}
		seen[f.String()] = true
	}
	if _, ok := action.ParseFailure("no_such_failure"); ok {
		t.Error("an unknown name is read")
	}
	for k, verb := range map[action.Kind]string{action.Delegate: "DELEGATE", action.Retry: "RETRY", action.Stop: "STOP"} {
		if k.Verb() != verb || k.String() != strings.ToLower(verb) {
			t.Errorf("kind %d: %q, %q", k, k.Verb(), k)
		}
	}
}
