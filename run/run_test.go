package run_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"assay/core/fault"
	"assay/core/step"
	"assay/run"
)

// counter asks for n effects, one after the other, and adds up their events. An event below zero is an uncertain one.
type counter struct {
	n, asked, sum, doubts int
	do                    [1]int
}

func (c *counter) ready() step.Ready[int] {
	if c.asked == c.n {
		return step.Ready[int]{Done: true}
	}
	c.asked++
	c.do[0] = c.asked
	return step.Ready[int]{Do: c.do[:]}
}

func (c *counter) Start() step.Ready[int] { return c.ready() }

func (c *counter) Step(e int) (step.Ready[int], error) {
	if e < 0 {
		c.doubts++
		e = 0
	}
	c.sum += e
	return c.ready(), nil
}

// act gives ten times the effect.
func act(_ context.Context, d int) (int, error) { return 10 * d, nil }

// durable is the journaled form of counter's effects: those divisible by three are free, by five only recorded.
func durable(j run.Journal) *run.Durable[int, int] {
	return &run.Durable[int, int]{
		Journal: j,
		Care: func(d int) run.Care {
			switch {
			case d%3 == 0:
				return run.Repeatable
			case d%5 == 0:
				return run.Recorded
			}
			return run.Once
		},
		Key:         func(d int) string { return "effect/" + strconv.Itoa(d) },
		Uncertain:   func(int) int { return -1 },
		AppendEvent: func(dst []byte, e int) ([]byte, error) { return strconv.AppendInt(dst, int64(e), 10), nil },
		ParseEvent:  func(text []byte) (int, error) { return strconv.Atoi(string(text)) },
	}
}

func TestRunInMemory(t *testing.T) {
	l := run.Loop[int, int]{Act: act}
	c := &counter{n: 5}
	if err := l.Run(t.Context(), "", "", c); err != nil {
		t.Fatal(err)
	}
	if c.sum != 150 {
		t.Errorf("sum %d, want 150", c.sum)
	}
}

// several asks for more than one effect at a time, in places before the earlier ones are carried out.
type several struct {
	asks [][]string
	at   int
	told []string
}

func (s *several) Start() step.Ready[string] { return step.Ready[string]{Do: s.asks[0]} }

func (s *several) Step(e string) (step.Ready[string], error) {
	s.told = append(s.told, e)
	s.at++
	if s.at >= len(s.asks) {
		return step.Ready[string]{Done: true}, nil
	}
	return step.Ready[string]{Do: s.asks[s.at]}, nil
}

func TestEffectsAreCarriedOutInTheOrderAsked(t *testing.T) {
	m := &several{asks: [][]string{{"a", "b", "c"}, {"d"}, nil, {"e", "f"}, nil, {}, {"g"}}}
	l := run.Loop[string, string]{Act: func(_ context.Context, d string) (string, error) { return d, nil }}
	if err := l.Run(t.Context(), "", "", m); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(m.told); got != "[a b c d e f g]" {
		t.Errorf("carried out %s", got)
	}
}

func TestRunEndsWithAnError(t *testing.T) {
	gone := errors.New("gone")
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	ok := func(_ context.Context, d string) (string, error) { return d, nil }
	for _, c := range []struct {
		name string
		ctx  context.Context
		act  func(context.Context, string) (string, error)
		asks [][]string
		want func(error) bool
	}{
		{"nothing asked and not done", t.Context(), ok, [][]string{{"a"}, nil, nil},
			func(err error) bool { return fault.Of(err) == run.Stalled }},
		{"the effect's error", t.Context(), func(context.Context, string) (string, error) { return "", gone }, [][]string{{"a"}},
			func(err error) bool { return errors.Is(err, gone) }},
		{"a context that has ended", cancelled, ok, [][]string{{"a"}},
			func(err error) bool { return errors.Is(err, gone) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := run.Loop[string, string]{Act: c.act}
			if err := l.Run(c.ctx, "", "", &several{asks: c.asks}); !c.want(err) {
				t.Errorf("Run = %v", err)
			}
		})
	}
}

func TestInMemoryStepsDoNotAllocate(t *testing.T) {
	l := run.Loop[int, int]{Act: act}
	c := &counter{}
	got := testing.AllocsPerRun(100, func() {
		*c = counter{n: 1000}
		if err := l.Run(t.Context(), "", "", c); err != nil {
			t.Fatal(err)
		}
	})
	if got > 1 {
		t.Errorf("%v allocations for 1000 steps", got)
	}
}

func BenchmarkStepInMemory(b *testing.B) {
	l := run.Loop[int, int]{Act: act}
	b.ReportAllocs()
	c := &counter{n: b.N}
	b.ResetTimer()
	if err := l.Run(b.Context(), "", "", c); err != nil {
		b.Fatal(err)
	}
}
