package episode_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"assay/conductor/catalog"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/profile"
	"assay/conductor/reading"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/digest"
	"assay/core/money"
)

const (
	cheap  = "m/cheap"
	mid    = "m/mid"
	strong = "m/strong"
)

// stage is what episodes of a test are played on.
type stage struct {
	renderer *state.Renderer
	task     task.Pinned
}

func newStage(tb testing.TB, tools ...string) stage {
	tb.Helper()
	s, err := catalog.New([]catalog.Entry{
		{ID: cheap, In: .1, Out: .4, Context: 128000}, {ID: mid, In: .6, Out: 2.4, Context: 200000}, {ID: strong, In: 3, Out: 12, Context: 400000},
	}, profile.Strict)
	if err != nil {
		tb.Fatal(err)
	}
	r, err := state.NewRenderer("INSTRUCTIONS\n", s, profile.Strict)
	if err != nil {
		tb.Fatal(err)
	}
	slice, err := window.Slice("n", []task.Spec{{ID: "t-1", Benchmark: "bench", Prompt: "Do it.", Tools: tools}})
	if err != nil {
		tb.Fatal(err)
	}
	return stage{r, slice[0]}
}

// reply is what a worker says to one call.
type reply struct {
	text    string
	usd     float64
	failed  bool
	refused bool
	takes   time.Duration
}

// script answers a machine's effects.
type script struct {
	turns       []string         // by step; the last repeats
	turnTakes   time.Duration    // each turn
	workers     map[string]reply // by answerKey: "model", or "model#n" for the nth call of it
	grades      map[string]float64
	gradeErrors []string
	inspects    map[string]string // by call
	settings    episode.Settings
	table       *outcome.Table

	now   time.Duration
	calls map[string]int
	log   []string // texts sent to workers
	fills map[outcome.Key]outcome.Row
	hits  int
}

// play plays the script out on a stage and returns the result and the first error.
func (s *script) play(st stage) (*episode.Result, error) {
	s.calls, s.fills = map[string]int{}, map[outcome.Key]outcome.Row{}
	s.settings.Inspector = s.settings.Inspector || s.inspects != nil
	s.settings.UseTable = s.settings.UseTable || s.table != nil
	m := episode.New(st.task, st.renderer, s.settings)
	ready := m.Start()
	for !ready.Done {
		e := s.answer(ready.Do[0])
		e.Now = s.now
		var err error
		if ready, err = m.Step(e); err != nil {
			return m.Result(), err
		}
	}
	return m.Result(), nil
}

// must plays a script that is not refused.
func (s *script) must(tb testing.TB, st stage) *episode.Result {
	tb.Helper()
	r, err := s.play(st)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func (s *script) answer(d episode.Effect) episode.Event {
	switch d.Do {
	case episode.Ask:
		s.now += s.turnTakes
		return episode.Event{Told: episode.Turn, Text: s.turns[min(d.Step, len(s.turns)-1)]}
	case episode.Call:
		return s.call(d)
	case episode.Inspect:
		out, there := s.inspects[d.Inspection.String()]
		if !there {
			return episode.Event{Told: episode.InspectorFailed}
		}
		return episode.Event{Told: episode.Observed, Text: out}
	case episode.Fill:
		s.fills[d.Key] = *d.Row
		if s.table != nil {
			s.table.Put(d.Key, *d.Row)
		}
		return episode.Event{Told: episode.Filled}
	}
	if slices.Contains(s.gradeErrors, d.Answer) {
		return episode.Event{Told: episode.GraderFailed}
	}
	return episode.Event{Told: episode.Graded, Score: s.grades[d.Answer]}
}

func (s *script) call(d episode.Effect) episode.Event {
	s.log = append(s.log, d.Request.Text())
	if s.table != nil && len(d.Request.Observations()) == 0 {
		if row, there := s.table.Get(d.Key); there {
			s.hits++
			s.table.Hit()
			return episode.Event{Told: episode.Replayed, Row: &row}
		}
	}
	id := d.Request.Model().String()
	s.calls[id]++
	r, ok := s.workers[id+"#"+strconv.Itoa(s.calls[id])]
	if !ok {
		r = s.workers[id]
	}
	s.now += r.takes
	switch {
	case r.refused:
		return episode.Event{Told: episode.Refused, Text: r.text}
	case r.failed:
		return episode.Event{Told: episode.Failed, Text: r.text, Cost: pico(r.usd)}
	}
	return episode.Event{Told: episode.Answered, Text: r.text, Cost: pico(r.usd)}
}

// pico is a reported cost; what is no number of dollars is negative, as a flow tells it.
func pico(usd float64) money.Pico {
	p, err := money.FromFloat(usd)
	if err != nil {
		return -1
	}
	return p
}

func usd(tb testing.TB, s string) money.Pico {
	tb.Helper()
	p, err := money.Parse(s)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func sum(text string) string { return digest.HexOfBytes([]byte(text)) }

var readA = reading.Call{Name: reading.Read, Arg: "a", Start: "1"}
