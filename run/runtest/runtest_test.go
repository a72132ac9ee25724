package runtest_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"assay/core/step"
	"assay/run"
	"assay/run/runtest"
)

// buyer pays for n things, looks at each, and keeps what it was told.
type buyer struct {
	n, at int
	told  []string
}

func (b *buyer) Start() step.Ready[string] { return b.ask() }

func (b *buyer) ask() step.Ready[string] {
	b.at++
	if b.at > b.n {
		return step.Ready[string]{Done: true}
	}
	i := strconv.Itoa(b.at)
	return step.Ready[string]{Do: []string{"ask " + i, "pay " + i, "look " + i}}
}

func (b *buyer) Step(e string) (step.Ready[string], error) {
	b.told = append(b.told, e)
	if len(b.told)%3 == 0 {
		return b.ask(), nil
	}
	return step.Ready[string]{}, nil
}

// suite has effects of all three degrees of care.
func suite() runtest.Suite[string, string] {
	return runtest.Suite[string, string]{
		New:   func() step.Machine[string, string] { return &buyer{n: 3} },
		State: func(m step.Machine[string, string]) string { return fmt.Sprint(m.(*buyer).told) },
		Act:   func(d string) string { return "done " + d },
		Durable: run.Durable[string, string]{
			Care: func(d string) run.Care {
				return map[byte]run.Care{'a': run.Recorded, 'p': run.Once, 'l': run.Repeatable}[d[0]]
			},
			Key:         func(d string) string { return d },
			Uncertain:   func(d string) string { return "uncertain " + d },
			AppendEvent: func(dst []byte, e string) ([]byte, error) { return strconv.AppendQuote(dst, e), nil },
			ParseEvent:  func(text []byte) (string, error) { return strconv.Unquote(string(text)) },
		},
	}
}

func TestLoopSurvivesEveryCrash(t *testing.T) { runtest.Crash(t, suite()) }

type (
	loop    = run.Loop[string, string]
	machine = step.Machine[string, string]
)

// forgetful is a journal whose Sync only claims.
type forgetful struct{ run.Journal }

func (forgetful) Sync(int64) error { return nil }

// A suite that cannot fail proves nothing: each of these loops breaks one promise and must be found out.
func TestSuiteFindsFaultyLoops(t *testing.T) {
	for name, spoil := range map[string]func(l *loop){
		"acts before it writes the intent": func(l *loop) {
			care := l.Durable.Care
			l.Durable.Care = func(d string) run.Care { return min(care(d), run.Recorded) }
		},
		"repeats what it cannot find": func(l *loop) {
			l.Durable.Lookup = func(ctx context.Context, key string) (string, run.Known, error) {
				e, err := l.Act(ctx, key)
				return e, run.Found, err
			}
		},
		"begins again what may have happened": func(l *loop) {
			l.Durable.Lookup = func(context.Context, string) (string, run.Known, error) { return "", run.Absent, nil }
		},
		"never looks an effect up":   func(l *loop) { l.Durable.Lookup = nil },
		"does not wait for the disk": func(l *loop) { l.Durable.Journal = forgetful{l.Durable.Journal} },
		"loses part of an event": func(l *loop) {
			l.Durable.ParseEvent = func(text []byte) (string, error) { return string(text[1:4]), nil }
		},
		"has keys that change from run to run": func(l *loop) {
			n := 0
			l.Durable.Key = func(d string) string { n++; return fmt.Sprintf("%s %p %d", d, l, n) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := suite()
			s.Drive = func(ctx context.Context, l *loop, id, about string, m machine) error {
				spoil(l)
				return l.Run(ctx, id, about, m)
			}
			findings := s.Check(t.Context())
			if len(findings) == 0 {
				t.Fatal("the suite found nothing")
			}
			t.Log(findings[0])
		})
	}
}

func TestSuiteReportsAMachineThatDoesNotEnd(t *testing.T) {
	s := suite()
	s.New = func() machine { return &buyer{n: 1 << 30} }
	if err := errors.Join(s.Check(t.Context())...); err == nil {
		t.Error("an endless machine passed")
	}
}
