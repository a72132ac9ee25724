package episode_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/conductor/action"
	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/core/money"
)

var rewrite = flag.Bool("rewrite", false, "write what the machine does into testdata/*.txt")

// A transcript is a list of blocks with a blank line between them:
//
//	turn at=3s
//	DELEGATE m/cheap
//	----
//	call m/cheap attempt 1: Do it.
//
// The first line is a command with its settings, the lines up to the bar are its text, and what stands below the bar is what
// the machine then wants. "new" starts an episode; the others are events. \n in a text is a line end.
type block struct{ head, text, want string }

func parseBlocks(t *testing.T, s string) (blocks []block, comment string) {
	t.Helper()
	for part := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n\n") {
		if strings.HasPrefix(part, "#") {
			comment += part + "\n\n"
			continue
		}
		above, want, ok := strings.Cut(part, "\n----\n")
		if !ok {
			above = strings.TrimSuffix(part, "\n----")
		}
		head, text, _ := strings.Cut(above, "\n")
		blocks = append(blocks, block{head, strings.ReplaceAll(text, `\n`, "\n"), want})
	}
	return blocks, comment
}

func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	seen := map[ending.Ending]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			blocks, comment := parseBlocks(t, string(text))
			p := &transcript{t: t}
			out := comment
			for i, b := range blocks {
				got := p.run(b)
				if got != b.want && !*rewrite {
					t.Errorf("block %d, %s:\n%s\nwant:\n%s", i+1, b.head, got, b.want)
				}
				lines := b.head + "\n"
				if b.text != "" {
					lines += strings.ReplaceAll(b.text, "\n", `\n`) + "\n"
				}
				out += lines + "----\n" + got + "\n\n"
			}
			seen[p.ended] = true
			if *rewrite {
				if err := os.WriteFile(file, []byte(strings.TrimRight(out, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	for _, e := range ending.All() {
		if !seen[e] {
			t.Errorf("no transcript ends as %s", e)
		}
	}
}

// transcript is one episode under way.
type transcript struct {
	t     *testing.T
	st    stage
	m     *episode.Machine
	rows  map[outcome.Key]outcome.Row
	last  episode.Effect
	ended ending.Ending
}

func (p *transcript) run(b block) string {
	words := strings.Fields(b.head)
	set := map[string]string{}
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		set[k] = v
	}
	switch words[0] {
	case "new":
		return p.start(set)
	case "zeroed":
		return p.end(episode.Zeroed(newStage(p.t).task, ending.Ending(words[1])))
	}
	ready, err := p.m.Step(p.event(words[0], set, b.text))
	if err != nil {
		return "error: " + err.Error()
	}
	if ready.Done {
		return p.end(p.m.Result())
	}
	return p.show(ready.Do[0])
}

func (p *transcript) start(set map[string]string) string {
	var tools []string
	if set["tools"] != "" {
		tools = strings.Split(set["tools"], ",")
	}
	p.st = newStage(p.t, tools...)
	var s episode.Settings
	if b, ok := set["budget"]; ok {
		s.Limited, s.Budget = true, usd(p.t, b)
	}
	_, s.Inspector = set["inspector"]
	_, s.UseTable = set["table"]
	if s.UseTable && p.rows == nil {
		p.rows = map[outcome.Key]outcome.Row{}
	}
	p.m = episode.New(p.st.task, p.st.renderer, s)
	ready := p.m.Start()
	if ready.Done {
		return p.end(p.m.Result())
	}
	return p.show(ready.Do[0])
}

var told = map[string]episode.Told{
	"turn": episode.Turn, "answered": episode.Answered, "failed": episode.Failed, "refused": episode.Refused, "replayed": episode.Replayed,
	"observed": episode.Observed, "inspector-failed": episode.InspectorFailed, "graded": episode.Graded, "grader-failed": episode.GraderFailed,
	"filled": episode.Filled,
}

func (p *transcript) event(word string, set map[string]string, text string) episode.Event {
	e := episode.Event{Told: told[word], Text: text}
	if e.Told == 0 {
		p.t.Fatalf("no event %q; there are %v", word, slices.Sorted(maps.Keys(told)))
	}
	for k, v := range set {
		var err error
		switch k {
		case "at":
			e.Now, err = time.ParseDuration(v)
		case "usd":
			e.Cost, err = money.Parse(v)
		case "score":
			e.Score, err = strconv.ParseFloat(v, 64)
		case "reason":
			e.Reason.Source = action.Endpoint
			e.Reason.Tokens, err = strconv.Atoi(v)
		case "truncated":
			e.Truncated = true
		default:
			err = fmt.Errorf("no setting %q", k)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	switch e.Told {
	case episode.Replayed:
		row, there := p.rows[p.last.Key]
		if !there {
			p.t.Fatalf("no row for %+v", p.last.Key)
		}
		e.Row = &row
	case episode.Filled:
		p.rows[p.last.Key] = *p.last.Row
	}
	return e
}

// show says what the machine wants, on lines without a blank one.
func (p *transcript) show(d episode.Effect) string {
	p.last = d
	line := func(s string) string { return strings.ReplaceAll(s, "\n", `\n`) }
	switch d.Do {
	case episode.Ask:
		return fmt.Sprintf("ask %d: %s", d.Step, line(string(d.Prompt.History())))
	case episode.Call:
		again := ""
		if d.Key != (outcome.Key{}) {
			again = fmt.Sprintf(" attempt %d", d.Key.Attempt)
		}
		return fmt.Sprintf("call %s%s: %s", d.Request.Model(), again, line(d.Request.Text()))
	case episode.Inspect:
		return "inspect " + d.Inspection.String()
	case episode.Grade:
		return "grade " + line(d.Answer)
	}
	return fmt.Sprintf("fill %s attempt %d: %q failed %v, %s, grade %g, %d reads", d.Key.Model, d.Key.Attempt, d.Row.Text, d.Row.Failed, exact(d.Row.Cost), d.Row.Grade, len(d.Row.Observations))
}

func exact(p money.Pico) string { return "$" + string(p.AppendDollars(nil)) }

func (p *transcript) end(r *episode.Result) string {
	p.ended = r.Ending
	out := fmt.Sprintf("done: %s, score %g, spent %s", r.Ending, r.Score, exact(r.Spent))
	if r.Void != "" {
		out += ", infrastructure failed"
	}
	for i, s := range r.Steps {
		what := s.ParseFailure.String()
		if s.Kind != action.None {
			what = strings.TrimSpace(s.Kind.String() + " " + s.Model)
		}
		out += fmt.Sprintf("\n%d: %s, score %g, %s", i, what, s.Score, exact(s.Cost))
		if s.Failed {
			out += fmt.Sprintf(", failed: %s (refused %v)", s.Failure, s.Refused)
		}
		if s.Replayed {
			out += ", replayed"
		}
	}
	return out
}
