package arena

import (
	"fmt"
	"strings"
)

// Document is what docs/cheaters.md says.
type Document struct {
	Command   string
	Sound     []Stand // against kings that are sound: the bar holds here, or the page says that it does not
	Unsound   []Stand
	Strengths []Strength
	Worlds    []string // a line for each world that is not made up: where it comes from
}

// Barred reports whether the bar is asked of the cheat in the table.
func (c Cheat) Barred() bool { return c.Open == "" }

// Dethronings counts, over grounds with a sound king, the windows in which a cheat under the bar took the crown, and those in
// which only the power gate kept it from doing so.
func Dethronings(stands []Stand) (crowned, held int) {
	for _, s := range stands {
		for i, c := range s.Table {
			if s.Sound() && c.Barred() {
				crowned += s.Lines[i].Crowned
				held += s.Lines[i].Wins - s.Lines[i].Crowned
			}
		}
	}
	return crowned, held
}

// Write writes the page.
func (d *Document) Write() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("%s", preface)
	p("Command: `%s`. Nonces are `<world>/<edition>/<window>`, made-up worlds are drawn by hash from their edition's number: no other seed.\n", d.Command)
	d.summary(p)
	d.cheats(p)
	p("\n## Sound kings, window by window\n\n%s", legend)
	for i := range d.Sound {
		d.Sound[i].write(p, true)
	}
	p("\n## A king that is not sound\n\n%s", unsound)
	for i := range d.Unsound {
		d.Unsound[i].write(p, false)
	}
	d.power(p)
	return b.String()
}

type printer func(format string, args ...any)

// summary says what was played and whether the bar holds.
func (d *Document) summary(p printer) {
	p("\n## What was played\n\n| world | what it is | king | its lead | benchmarks | tasks a window | windows | gate passed |\n|---|---|---|---|---|---|---|---|\n")
	windows, duels := 0, 0
	seen := map[string]bool{}
	for _, list := range [][]Stand{d.Sound, d.Unsound} {
		for _, s := range list {
			p("| %s | %s | %s | %+.4f | %d | %d | %d | %d |\n", s.World, s.Says, s.title(), -s.Gap, len(s.Drawn), s.Tasks, s.Windows, s.Separating)
		}
	}
	for _, s := range d.Sound {
		if !seen[s.World] {
			windows += s.Windows
			seen[s.World] = true
		}
		for _, l := range s.Lines {
			duels += l.Windows
		}
	}
	p("\n*Its lead* is how much the king's final over the pool exceeds that of the best ladder for each benchmark.\n")
	for _, w := range d.Worlds {
		p("\n%s\n", w)
	}
	crowned, held := Dethronings(d.Sound)
	p("\n**In %d windows with a sound king (%d entries, an army counts once) cheats under the bar took the crown %d times.**\n", windows, duels, crowned)
	if held > 0 {
		p("Another %d verdicts were won in windows that the power gate had closed, so that no duel would have been held.\n", held)
	}
	for _, s := range d.Sound {
		for i, c := range s.Table {
			if l := s.Lines[i]; c.Barred() && l.Wins > 0 {
				p("\n- %s won %d of %d verdicts in world %s against the %s, %d of them in open windows. [Why](threat-model.md#%s).\n",
					c.Name, l.Wins, l.Windows, s.World, s.title(), l.Crowned, c.Rule)
			}
		}
	}
}

func (s *Stand) title() string {
	if s.King == LearnedKing {
		return "learned king"
	}
	return "first king (" + s.Policy + ")"
}

// cheats lists the table.
func (d *Document) cheats(p printer) {
	p("\n## Who cheats\n\n| | policy | what it tries | what stops it |\n|---|---|---|---|\n")
	n := 0
	for _, c := range d.Sound[0].Table {
		stops := fmt.Sprintf("[%s](threat-model.md#%s)", c.Rule, c.Rule)
		number := ""
		if c.Barred() {
			n++
			number = fmt.Sprint(n)
		} else {
			stops = "no bar: " + c.Open + " (" + stops + ")"
		}
		p("| %s | %s | %s | %s |\n", number, c.Name, c.Tries, stops)
	}
}

// write prints one ground's lines; with all, also those of cheats that never won.
func (s *Stand) write(p printer, all bool) {
	p("\n### %s, %s\n\n", s.World, s.title())
	p("%d editions, %d windows in seasons of %d, %d tasks of each of %d benchmarks in a window.\n\n", s.Editions, s.Windows, s.Plan.Season, s.Plan.PerBenchmark, len(s.Drawn))
	p("| policy | windows | mean delta | largest | margin | breadth | median | bound | paid | no duel | won | crowned |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for i, c := range s.Table {
		l := s.Lines[i]
		if l.Windows == 0 || !all && l.Wins == 0 {
			continue
		}
		name := c.Name
		if !c.Barred() {
			name += " (no bar)"
		}
		mean, largest := "–", "–"
		if l.Duels > 0 {
			mean, largest = fmt.Sprintf("%+.4f", zero(l.Sum/float64(l.Duels))), fmt.Sprintf("%+.4f", zero(l.Max))
		}
		p("| %s | %d | %s | %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", name, l.Windows, mean, largest, l.Delta, l.Breadth, l.Median, l.LCB, l.Ineligible, l.NoDuel, l.Wins, l.Crowned)
	}
}

// zero makes a figure that rounds to nothing nothing, without a sign of its own.
func zero(x float64) float64 {
	if x > -.00005 && x < .00005 {
		return 0
	}
	return x
}

// power prints how the sizes that package power names did.
func (d *Document) power(p printer) {
	p("\n## Power\n\n%s", powerText)
	p("| benchmarks | noise measured on | tasks of each that power names | windows | mean delta | won | share | won at a quarter of the size |\n|---|---|---|---|---|---|---|---|\n")
	for _, s := range d.Strengths {
		share := func(n int) float64 { return float64(n) / float64(s.Windows) }
		p("| %d | %s | %d | %d | %+.4f | %d | %.3f | %.3f |\n", s.Benchmarks, s.Measured, s.Size, s.Windows, s.MeanDelta, s.Won, share(s.Won), share(s.WonQuarter))
	}
}

const preface = `# Cheaters

Generated by ` + "`make cheaters`" + `; do not edit. Degenerate and cheating Conductors are played over simulated windows against a sound king, and
the page counts how often one takes the crown. Slices, episodes, verdicts, eligibility and the power gate are the rules' own
(` + "`window.Draw`, `episode.Machine`, `arm.Arm`, `reign.Adjudicate`, `reign.PowerGate`" + `). A Conductor is given the rendered prompt and what it remembers; a
broken worker, grader, clock or allowance is put in at its seam.

A king is **sound** in a world when nobody beats it on any benchmark by knowing the benchmark's name alone: over the whole pool
no ladder of up to three models is worth more than the king on any benchmark. The *learned king* climbs, for every benchmark and
one cue in the statement (its closing words; for real tasks its length), the ladder that was worth most over the pool: it knows
averages and no task. The *first king* is the one that ` + "`score.FitPool`" + ` chooses, always by raw quality.

A season cuts the pool into disjoint slices by ` + "`window.Draw`" + ` on what earlier windows left; the next season shuffles the pool anew and all
memories begin empty, so no window repeats a task that a memory holds. Each window meets every cheat of the table, each in a
duel of its own; budget exhauster, unfunded and the armies enter every fourth. Made-up worlds come in editions with tasks of their own. The exchange is
fitted on the pool that windows draw from.
Episodes that depend on nothing but prompt and memory are played once and remembered.

`

const legend = `Columns *margin* to *no duel* count the windows in which that condition refused; more than one can. The bound is drawn only where
margin, breadth and median are met, and eligibility (*paid*) asked only of an arm that met all four. *No duel*: everything was
void. *Won*: the verdict was won; *crowned*: and the window's power gate had let duels be held. Of an army of twenty the luckiest member counts.
`

const unsound = `The first king is chosen by quality alone, and the exchange makes it tie with the cheapest policy. Where models lie
between the two, most of them earn more than either: then the first king is no sound king, whoever asks the right model once takes its crown, and
rightly so. No bar is asked here; lines without a won verdict are left out.
`

const powerText = "Two models cost the same, one is better by seven points (the margin and two points) on every benchmark. `conductor/power` names the size of slice at\n" +
	"which nine windows of ten are won; the rate is measured on windows that the measurement never saw. The power gate's two arms agree on more tasks than a challenger and a king do, so a size\n" +
	"named by them is too small; the noisiest pair of reference arms is what `assay conductor power` goes by.\n\n"
