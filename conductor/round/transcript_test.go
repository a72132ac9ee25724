package round_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/conductor/ending"
	"assay/conductor/publication"
	"assay/conductor/round"
	"assay/conductor/score"
	"assay/conductor/submission"
	"assay/core/money"
	"assay/core/step"
)

var rewrite = flag.Bool("rewrite", false, "write what the machine does into testdata/*.txt")

// A transcript is one window, a list of blocks with a blank line between them:
//
//	new queue=h1,h2 king=k
//	----
//	play gate-cascade: gate, policy cascade, paid by the owner
//
// Above the bar stands a command with its settings, below it what the machine then wants. "new" begins the window; the others
// are events. Words behind a colon are the event's detail.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tr, out := &transcript{t: t}, ""
			for part := range strings.SplitSeq(strings.TrimRight(string(text), "\n"), "\n\n") {
				if strings.HasPrefix(part, "#") {
					out += part + "\n\n"
					continue
				}
				command, want, _ := strings.Cut(part, "\n----\n")
				command = strings.TrimSuffix(command, "\n----")
				got := tr.run(command)
				if got != want && !*rewrite {
					t.Errorf("%s:\n%s\nwant:\n%s", command, got, want)
				}
				out += command + "\n----\n" + got + "\n\n"
			}
			if *rewrite {
				if err := os.WriteFile(file, []byte(strings.TrimRight(out, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if !tr.ready.Done {
				t.Error("the window does not end")
				return
			}
			sound(t, tr.m)
		})
	}
}

// transcript is one window under way.
type transcript struct {
	t     *testing.T
	set   round.Setup
	m     *round.Machine
	ready step.Ready[round.Effect]
}

func (p *transcript) run(command string) string {
	head, detail, _ := strings.Cut(command, ": ")
	words := strings.Fields(head)
	set := map[string]string{}
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		set[k] = v
	}
	if words[0] == "new" {
		p.set = setup(list(set["queue"])...)
		p.set.King, p.set.Coronations = set["king"], list(set["crowned"])
		_, p.set.KingGone = set["gone"]
		for _, h := range list(set["skipped"]) {
			p.set.Queue = append(p.set.Queue, round.Place{Hotkey: h, Block: 99, Status: submission.Skipped, Detail: "registered anew"})
		}
		p.m = round.New(p.set)
		p.ready = p.m.Start()
		return p.wants()
	}
	ready, err := p.m.Step(p.event(words[0], set, detail))
	if err != nil {
		return "error: " + err.Error()
	}
	p.ready = ready
	return p.wants()
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func (p *transcript) event(word string, set map[string]string, detail string) round.Event {
	told := map[string]round.Told{
		"admitted": round.Admitted, "refused": round.Refused, "skipped": round.Skipped, "unready": round.Unready, "played": round.Played,
		"aborted": round.Aborted, "retested": round.Retested, "promoted": round.Promoted, "forfeited": round.Forfeited, "looked": round.Looked,
		"persisted": round.Persisted, "weighed": round.Weighed, "published": round.Published,
	}[word]
	if told == 0 {
		p.t.Fatalf("no event %q", word)
	}
	e := round.Event{Told: told, Detail: detail}
	switch told {
	case round.Played, round.Aborted:
		p.played(&e, set)
	case round.Retested:
		e.Table = round.Table{Rows: 4, Fills: 3, Hits: 1, Provider: money.Dollar}
	case round.Looked:
		e.Live = map[int]string{}
		for i, h := range list(set["live"]) {
			e.Live[i] = h
		}
	}
	return e
}

// played fills in an arm: quality=Q of every benchmark's tasks succeed, at spend=S a task; the last cut=N of each benchmark end as
// how=E; void=A,B; unmetered=REASON.
func (p *transcript) played(e *round.Event, set map[string]string) {
	a := p.ready.Do[0].Arm
	w := &world{quality: map[string]float64{a.Name: p.number(set["quality"])}, spend: .1, void: map[string][]string{a.Name: list(set["void"])}}
	if s, ok := set["spend"]; ok {
		w.spend = p.number(s)
	}
	cut := int(p.number(set["cut"]))
	w.rows = map[string]func([]score.Row){a.Name: func(rows []score.Row) {
		for i := range rows {
			if i%perBenchmark >= perBenchmark-cut {
				rows[i] = score.Row{TaskID: rows[i].TaskID, Benchmark: rows[i].Benchmark, Ending: ending.Ending(set["how"])}
			}
		}
	}}
	if b := set["dead"]; b != "" {
		for i := range perBenchmark {
			w.void[a.Name] = append(w.void[a.Name], fmt.Sprintf("%s-%d", b, i))
		}
	}
	if reason := set["unmetered"]; reason != "" {
		w.unpaid = map[string]string{a.Name: reason}
	}
	played := w.play(p.set, a)
	played.Told, played.Detail = e.Told, e.Detail
	*e = played
}

func (p *transcript) number(s string) float64 {
	if s == "" {
		return 0
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return f
}

// wants says what the machine asks for.
func (p *transcript) wants() string {
	if p.ready.Done {
		return p.ended()
	}
	e := p.ready.Do[0]
	switch e.Do {
	case round.Admit:
		return "admit " + e.Hotkey
	case round.Play:
		return armLine(e.Arm)
	case round.Retest:
		return "retest"
	case round.Promote:
		return "promote " + e.Hotkey
	case round.Look:
		return "look"
	case round.Persist:
		king, crowned := p.m.Reigns()
		return fmt.Sprintf("persist: shots of %q, king %q, crowned %q", p.m.Judged(), king, crowned)
	case round.Weigh:
		var out []string
		for _, w := range e.Payout.Weights {
			out = append(out, fmt.Sprintf("%d=%.2f", w.UID, w.Share))
		}
		return "weigh " + strings.Join(out, " ")
	}
	return "publish"
}

func armLine(a round.Arm) string {
	kind := map[publication.Kind]string{publication.Gate: "gate", publication.King: "king", publication.Challenger: "challenger"}[a.Kind]
	s := "play " + a.Name + ": " + kind
	if a.Hotkey != "" {
		s += ", artifact of " + a.Hotkey
	}
	if a.Policy != "" {
		s += ", policy " + a.Policy
	}
	if a.Payer == "" {
		s += ", paid by the owner"
	} else {
		s += ", paid by " + a.Payer
	}
	if len(a.Excluded) > 0 {
		s += ", without " + strings.Join(a.Excluded, ",")
	}
	if a.Beat != nil {
		s += fmt.Sprintf(", to beat %.3f", *a.Beat)
	}
	return s
}

// ended says what the reveal holds.
func (p *transcript) ended() string {
	r := p.m.Reveal()
	var b strings.Builder
	fmt.Fprintf(&b, "done: reigns %q, crowned %q, pensioners %q", r.Reigns, r.Crowned, r.Pensioners)
	for _, m := range []struct{ name, value string }{
		{"deferral", r.Deferral}, {"reign ended", r.ReignEnded}, {"forfeited", r.Promotion.Forfeited}, {"void", strings.Join(r.GradersFailed, ",")},
	} {
		if m.value != "" {
			fmt.Fprintf(&b, "\n%s: %s", m.name, m.value)
		}
	}
	if g := r.Power; g != nil {
		fmt.Fprintf(&b, "\npower: %s over %s by %.2f, separates %v", g.Leader, g.Trailer, g.Spread, g.Separates)
	}
	for _, o := range r.Outcomes {
		fmt.Fprintf(&b, "\n%s: %s, shot spent %v: %s", o.Hotkey, o.Status, o.ShotSpent, o.Detail)
		if v := o.Verdict; v != nil {
			fmt.Fprintf(&b, "\n  delta %.3f over %d tasks, won %v, eligible %v, reached %d, clocked %d, exhausted %d",
				v.Delta, v.NTasks, o.Won, o.Eligible, o.Reached, o.Clocked, o.Exhausted)
		}
		if o.Rematch != nil {
			fmt.Fprintf(&b, "\n  against %s: clears %v", o.Rematch.Incumbent, o.Rematch.Clears)
		}
	}
	arms := make([]string, len(r.Metering))
	for i, m := range r.Metering {
		arms[i] = m.Arm
	}
	if len(arms) > 0 {
		fmt.Fprintf(&b, "\narms: %s", strings.Join(arms, " "))
	}
	if !slices.Equal(arms, r.Traces) {
		fmt.Fprintf(&b, "\ntraces: %s", strings.Join(r.Traces, " "))
	}
	return b.String()
}
