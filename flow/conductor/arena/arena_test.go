package arena_test

import (
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/conductor/bootstrap"
	"assay/conductor/duel"
	"assay/conductor/score"
	"assay/conductor/world"
	"assay/flow/conductor/arena"
)

// grounds are small forms of the grounds that the published table is played on.
func grounds(t testing.TB, windows int) []arena.Ground {
	table := arena.Table()
	list := []arena.Ground{
		arena.Made(arena.Ladder(100), arena.LearnedKing, 1, windows, 5, 20, table), arena.Made(arena.Pair(250), arena.LearnedKing, 1, windows, 5, 50, table),
	}
	const data = "../../../../shared/data/routerarena"
	if _, err := os.Stat(data); err == nil {
		w, defects := world.Read(os.DirFS(data))
		if err := world.Err(defects); err != nil {
			t.Fatal(err)
		}
		list = append(list, arena.Recorded(w, arena.LearnedKing, 1, windows, 2, 14, table))
	}
	return list
}

func hold(t testing.TB, windows, width int) (string, []arena.Stand) {
	t.Helper()
	stands, err := arena.Hold(grounds(t, windows), width, func() {})
	if err != nil {
		t.Fatal(err)
	}
	return (&arena.Document{Command: "test", Sound: stands}).Write(), stands
}

// Silent, filler, cheapest, random, everything, copies, memorisers and all the others: none takes the crown of a sound king.
// The full table, over 10,000 windows, is docs/cheaters.md.
func TestFault76_NoCheatDethronesASoundKing(t *testing.T) {
	windows := 20
	if testing.Short() {
		windows = 4
	}
	_, stands := hold(t, windows, 2)
	crowned, _ := arena.Dethronings(stands)
	if crowned != 0 {
		t.Errorf("%d dethronings", crowned)
	}
	barred := 0
	for _, c := range arena.Table() {
		if c.Barred() {
			barred++
		}
	}
	if barred < 20 {
		t.Errorf("%d cheats are under the bar", barred)
	}
	for _, s := range stands {
		for i, c := range s.Table {
			if !strings.HasPrefix(c.Name, "answer keys of everything") {
				continue
			}
			if s.Lines[i].Crowned == 0 { // the table can lose: who knows every answer wins
				t.Errorf("%s: nobody can win there", s.World)
			}
		}
	}
}

func TestTheTableIsAFunctionOfItsSeeds(t *testing.T) {
	a, _ := hold(t, 4, 1)
	b, _ := hold(t, 4, 2)
	if a != b {
		t.Error("another number of workers writes another page")
	}
}

// Every rule that a row links to is explained.
func TestEveryRuleIsInTheThreatModel(t *testing.T) {
	text, err := os.ReadFile("../../../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range arena.Table() {
		if c.Rule != "" && !strings.Contains(string(text), "\n### "+strings.ReplaceAll(c.Rule, "-", " ")+"\n") {
			t.Errorf("%s: no rule %q", c.Name, c.Rule)
		}
	}
}

// Skipping the lower bound where another condition has refused changes no verdict.
func TestProperty_the_lower_bound_can_only_refuse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var pairs []duel.Pair
		rates := score.Exchange{}
		for _, b := range []string{"a", "b", "c"} {
			n := rapid.IntRange(1, 8).Draw(rt, b)
			col := func(what string, top float64) []float64 {
				return rapid.SliceOfN(rapid.Float64Range(0, top), n, n).Draw(rt, b+what)
			}
			p, err := duel.NewPair(b, duel.Columns{KingQuality: col("kq", 1), KingSpend: col("ks", .1), ChallengerQuality: col("cq", 1), ChallengerSpend: col("cs", .1)})
			if err != nil {
				rt.Fatal(err)
			}
			pairs, rates[b] = append(pairs, p), score.Rate{Lam: .3, C: .05}
		}
		set := duel.Settings{Seed: bootstrap.Exactly(7), Eps: duel.Eps, Rounds: 200}
		full, err := duel.Run(pairs, rates, set)
		if err != nil {
			rt.Fatal(err)
		}
		set.Rounds = 1
		quick, err := duel.Run(pairs, rates, set)
		if err != nil {
			rt.Fatal(err)
		}
		if c := quick.Conditions; (!c.Delta || !c.Breadth || !c.Median) && full.Wins() {
			rt.Fatalf("%+v wins, and one resample refuses it: %+v", full, quick)
		}
	})
}
