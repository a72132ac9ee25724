package action_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/conductor/action"
	"assay/conductor/catalog"
	"assay/conductor/profile"
	"assay/core/text"
)

// FuzzParse reads any turn under any catalog. Whatever it is given, the two profiles agree but for accidents, an id is one of
// the catalog byte for byte, and nothing but the last line that is not blank acts.
func FuzzParse(f *testing.F) {
	for _, turn := range []string{
		"", "STOP", "REASON a\nDELEGATE openai/gpt-5.4\n", "RETRY z-ai/glm-5.2\r\n", "ſtop", "ﬆop", "DELEGATE\u00a0a/b", "STOP now",
		"REASON\u2028\u2029STOP", "\ufeffSTOP", "```\nSTOP\n```", "DELEGATE a b", "REASON x\x85STOP", "\xff\xfe\n STOP", "STOP\x1c\x1d",
	} {
		f.Add(turn, gpt, "z-ai/glm-5.2")
	}
	f.Add("DELEGATE a b/c", "a b/c", "a")
	f.Add("DELEGATE \xff", "\xff", "x")
	f.Fuzz(func(t *testing.T, turn, idA, idB string) {
		ids := []string{idA}
		if idB != idA {
			ids = append(ids, idB)
		}
		checkTurn(t, turn, catalogOfIDs(t, ids), ids)
	})
}

func checkTurn(t interface {
	Fatalf(format string, args ...any)
}, turn string, s *catalog.Snapshot, ids []string) {
	a, f := action.Parse(turn, s, profile.Compat)
	strictA, strictF := action.Parse(turn, s, profile.Strict)
	if strictF == action.Readable && (f != action.Readable || a != strictA) {
		t.Fatalf("strict reads %q as %v %q, compat as %v %q", turn, strictA.Kind(), strictA.Model(), a.Kind(), f)
	}
	if f != action.Readable {
		if a != (action.Action{}) {
			t.Fatalf("%q fails as %v and still asks for %v", turn, f, a.Kind())
		}
		return
	}
	line := lastLine(turn)
	if model := a.Model().String(); a.Kind() != action.Stop {
		known := false
		for _, id := range ids {
			known = known || id == model
		}
		if !known || !strings.HasSuffix(line, model) {
			t.Fatalf("%q names %q, which is not a catalog id that ends the last line", turn, model)
		}
	}
	if alone, f := action.Parse(line, s, profile.Compat); f != action.Readable || alone != a {
		t.Fatalf("%q acts otherwise than its last line %q alone: %v %v", turn, line, alone.Kind(), f)
	}
	if _, f := action.Parse("DELEGATE "+ids[0]+"\n"+turn, s, profile.Compat); f != action.Untagged {
		t.Fatalf("an action above %q makes %v", turn, f)
	}
}

// lastLine is the last line that is not blank, by the plain way.
func lastLine(turn string) string {
	last := ""
	for _, line := range text.Lines(turn) {
		if line = text.Trim(line); line != "" {
			last = line
		}
	}
	return last
}

// A turn put together from pieces that matter, so that most of them are nearly actions.
func TestProperty_turns_of_telling_pieces(t *testing.T) {
	ids := []string{gpt, "z-ai/glm-5.2", "a/b"}
	s := catalogOfIDs(t, ids)
	piece := rapid.SampledFrom([]string{
		"REASON", "reason", "reaſon", "DELEGATE", "delegate", "RETRY", "STOP", "ſtop", "ﬆop", gpt, "a/b", "A/B", "x", " ", " ", "\t", "\u00a0",
		"\n", "\n", "\r\n", "\v", "\x1c", "\u0085", "\u2028", "\u200b", "\x00", "`", "\xc2",
	})
	rapid.Check(t, func(t *rapid.T) {
		checkTurn(t, strings.Join(rapid.SliceOfN(piece, 0, 9).Draw(t, "pieces"), ""), s, ids)
	})
}

// The count of failures is that of the failures since the last good turn, and the third ends it.
func TestProperty_tracker_counts_since_the_last_good_turn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tr action.Tracker
		row := 0
		for i, f := range rapid.SliceOfN(rapid.SampledFrom(append(action.Failures(), action.Readable, action.Readable)), 0, 12).Draw(t, "turns") {
			if f == action.Readable {
				row = 0
			} else {
				row++
			}
			forced := tr.Take(f)
			if forced != (row >= action.MaxConsecutiveFailures) || tr.Failures() != row {
				t.Fatalf("turn %d: forced %v with a count of %d, want %d", i, forced, tr.Failures(), row)
			}
			if forced {
				return
			}
		}
	})
}

// BenchmarkParse is one typical turn: a line of reasoning and an action.
func BenchmarkParse(b *testing.B) {
	s := c2(b)
	for _, c := range []struct{ name, turn string }{
		{"stop", "STOP"},
		{"typical", "REASON a short question with four options; the cheapest model may do\nDELEGATE " + gpt},
		{"long", "REASON " + strings.Repeat("the first answer failed, so go up in price. ", 50) + "\nRETRY " + gpt + "\n"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.turn)))
			for b.Loop() {
				if _, f := action.Parse(c.turn, s, profile.Strict); f != action.Readable {
					b.Fatal(f)
				}
			}
		})
	}
}

func catalogOfIDs(tb testing.TB, ids []string) *catalog.Snapshot {
	tb.Helper()
	entries := make([]catalog.Entry, len(ids))
	for i, id := range ids {
		entries[i] = catalog.Entry{ID: id, In: 1, Out: 1, Context: 1}
	}
	return snapshot(tb, profile.Compat, entries...)
}
