package fault_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"assay/core/fault"
)

var (
	late = fault.NewCode("room.late", fault.Unready, "come back later")
	gone = fault.NewCode("room.gone", fault.NotFound, "there is no such thing")
)

func TestPublicSentenceHoldsNoCause(t *testing.T) {
	err := late.Because(errors.New("password hunter2 was wrong")).With(fault.Int("seconds", 3))
	if got := err.Public(); got != "come back later: seconds 3" {
		t.Errorf("Public = %q", got)
	}
	if got := err.Error(); got != "come back later: seconds 3: password hunter2 was wrong" {
		t.Errorf("Error = %q", got)
	}
}

func TestFieldsShowForeignTextQuotedAndClipped(t *testing.T) {
	long := strings.Repeat("x", 1000)
	err := gone.With(fault.Str("a", "evil\n\x1b[2Jtext"), fault.Str("b", long), fault.Float("c", 0.5))
	got := err.Public()
	if !strings.HasPrefix(got, `there is no such thing: a "evil\n\x1b[2Jtext", b "xxx`) || !strings.HasSuffix(got, `…", c 0.5`) {
		t.Errorf("Public = %q", got)
	}
	if split := gone.With(fault.Str("a", strings.Repeat("é", 150)+"x")).Public(); strings.Contains(split, "\\x") {
		t.Errorf("a character was cut in two: %q", split)
	}
	if split := gone.With(fault.Str("a", "x"+strings.Repeat("é", 150))).Public(); strings.Contains(split, "\\x") {
		t.Errorf("a character was cut in two: %q", split)
	}
	if len(got) > 400 {
		t.Errorf("%d bytes shown of a foreign text of 1000", len(got))
	}
}

func TestOfFindsTheOutermostCode(t *testing.T) {
	inner := gone.Because(io.EOF)
	for name, c := range map[string]struct {
		err  error
		want fault.Code
	}{
		"nothing": {nil, fault.Code{}}, "a plain error": {io.EOF, fault.Unknown}, "wrapped": {fmt.Errorf("reading: %w", inner), gone},
		"a code about a code": {late.Because(inner), late}, "joined": {errors.Join(io.EOF, inner), gone},
	} {
		if got := fault.Of(c.err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got.Name(), c.want.Name())
		}
	}
}

func TestErrorsOfACode(t *testing.T) {
	err := fmt.Errorf("doing: %w", gone.Because(io.EOF).With(fault.Int("n", 1)))
	if !errors.Is(err, gone.With()) || errors.Is(err, late.With()) || !errors.Is(err, io.EOF) {
		t.Error("errors.Is does not find the code and the cause")
	}
	if errors.Is(err, gone.With(fault.Int("n", 2))) {
		t.Error("an error with other fields was taken for the same")
	}
}

func TestWithLeavesTheFirstErrorAlone(t *testing.T) {
	first := gone.With(fault.Int("n", 1))
	a, b := first.With(fault.Int("a", 2)), first.With(fault.Int("b", 3))
	if first.Public() != "there is no such thing: n 1" || a.Public() == b.Public() {
		t.Errorf("%q, %q, %q", first.Public(), a.Public(), b.Public())
	}
}

func TestNames(t *testing.T) {
	if late.Word() != "late" || late.Name() != "room.late" || late.Kind() != fault.Unready {
		t.Errorf("%q %q %v", late.Word(), late.Name(), late.Kind())
	}
	seen := map[string]bool{}
	for k := fault.Internal; k <= fault.Uncertain; k++ {
		if s := k.String(); s == "" || seen[s] || strings.HasPrefix(s, "kind(") {
			t.Errorf("kind %d is named %q", k, s)
		}
		seen[k.String()] = true
	}
	if got := (fault.Uncertain + 1).String(); got != "kind(11)" {
		t.Errorf("a kind beyond the list: %q", got)
	}
}
