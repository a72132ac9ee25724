package meter_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/core/fault"
	"assay/core/money"
	"assay/flow/conductor/meter"
	"assay/run"
	"assay/run/lines"
)

func funds(t *testing.T, path string, window int64) *meter.Funds {
	t.Helper()
	f, err := meter.OpenFunds(t.Context(), path, window)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestBehaviourG4_ACreditMadeWhileRunningIsSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "funds")
	runs := funds(t, path, 7)
	must(t, runs.Credit(t.Context(), "one", "5Fa", 5*cent))
	operator := funds(t, path, meter.AnyWindow) // as another process
	must(t, operator.Credit(t.Context(), "two", "5Fa", 2*cent))
	if got := runs.Balance("5Fa"); got != 5*cent {
		t.Errorf("%s before the refresh", got)
	}
	must(t, runs.Refresh())
	if got := runs.Balance("5Fa"); got != 7*cent {
		t.Errorf("%s after it", got)
	}
	must(t, operator.Credit(t.Context(), "three", "5Fa", cent))
	must(t, runs.Settle(t.Context(), 7, "5Fa", 20*cent)) // reads what others appended first
	if got := runs.Balance("5Fa"); got != -12*cent {
		t.Errorf("%s behind the settlement", got)
	}
	if got := funds(t, path, 8).Balance("5Fa"); got != -12*cent || runs.Balance("5Fnobody") != 0 {
		t.Errorf("%s when it is opened again", got)
	}
}

func TestCreditsAndSettlementsHappenOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "funds")
	f := funds(t, path, 7)
	for range 2 {
		must(t, f.Credit(t.Context(), "one", "5Fa", 5*cent))
		must(t, f.Settle(t.Context(), 6, "5Fa", cent))
		must(t, f.Settle(t.Context(), 7, "5Fa", 0))
	}
	before, err := os.ReadFile(path)
	must(t, err)
	for name, c := range map[string]struct {
		err  error
		want fault.Code
	}{
		"another amount":          {f.Credit(t.Context(), "one", "5Fa", 6*cent), meter.SaidElse},
		"another account":         {f.Credit(t.Context(), "one", "5Fb", 5*cent), meter.SaidElse},
		"nothing":                 {f.Credit(t.Context(), "two", "5Fa", 0), meter.BadAmount},
		"less than nothing":       {f.Credit(t.Context(), "two", "5Fa", -1), meter.BadAmount},
		"beyond the range":        {f.Credit(t.Context(), "two", "5Fa", money.Max), meter.BadAmount},
		"no id":                   {f.Credit(t.Context(), "", "5Fa", 1), meter.BadName},
		"no account":              {f.Credit(t.Context(), "two", "", 1), meter.BadName},
		"another settlement":      {f.Settle(t.Context(), 6, "5Fa", 2*cent), meter.SaidElse},
		"a negative settlement":   {f.Settle(t.Context(), 5, "5Fa", -1), meter.BadAmount},
		"a settlement of nobody":  {f.Settle(t.Context(), 5, "", 1), meter.BadName},
		"a window below zero":     {f.Settle(t.Context(), -1, "5Fa", 1), meter.BadLine},
		"a window of the future":  {f.Settle(t.Context(), 8, "5Fa", 1), meter.FutureAccount},
		"an id with a line's end": {f.Credit(t.Context(), "a\nb", "5Fa", 1), meter.BadName},
	} {
		if fault.Of(c.err) != c.want {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	after, err := os.ReadFile(path)
	must(t, err)
	if d := cmp.Diff(before, after); d != "" || f.Balance("5Fa") != 4*cent {
		t.Errorf("what was refused left something behind: %s", d)
	}
}

func TestAnAccountJournalFromTheFutureIsRefusedUntouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "funds")
	must(t, funds(t, path, 9).Settle(t.Context(), 9, "5Fa", cent))
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = file.WriteString("0123") // a write that a crash cut off, which opening would drop
	must(t, errors.Join(err, file.Close()))
	before, err := os.ReadFile(path)
	must(t, err)
	if _, err := meter.OpenFunds(t.Context(), path, 8); fault.Of(err) != meter.FutureAccount {
		t.Errorf("%v", err)
	}
	after, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(before, after) {
		t.Error("the file was changed")
	}
	if got := funds(t, path, 9).Balance("5Fa"); got != -cent {
		t.Error(got)
	}
}

func TestBehaviourG3_DamagedFundsAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "funds")
	f := funds(t, path, 7)
	for i := range 3 {
		must(t, f.Credit(t.Context(), strconv.Itoa(i), "5Fa", cent))
	}
	whole, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, whole[:len(whole)-5], 0o600))
	if got := funds(t, path, 7).Balance("5Fa"); got != 2*cent {
		t.Errorf("%s behind a torn tail", got)
	}
	must(t, os.WriteFile(path, bytes.Replace(whole, []byte("amount"), []byte("Amount"), 1), 0o600))
	if _, err := meter.OpenFunds(t.Context(), path, 7); fault.Of(err) != lines.Damaged {
		t.Errorf("%v", err)
	}
	if err := f.Refresh(); fault.Of(err) != lines.Damaged || f.Balance("5Fa") != 3*cent {
		t.Errorf("%v: what was known stands", err)
	}
}

// TestLinesThatNoMeterWrites have the right checksums and say what does not follow.
func TestLinesThatNoMeterWrites(t *testing.T) {
	const credit = `{"amount_pico":1,"hotkey":"5Fa","id":"one","op":"credit"}`
	const header = `{"gateway":"cecc1507dc1ddd7295951c290888f095adb9044d1b73d696e6df065d683bd4fc","op":"window","window":7}`
	const arm = `{"duel":"w7-a-1","hotkey":"","limit_pico":0,"limited":false,"op":"open","own_key":false,"payer":""}`
	if gateway.Public().String() != "cecc1507dc1ddd7295951c290888f095adb9044d1b73d696e6df065d683bd4fc" {
		t.Fatal(gateway.Public())
	}
	write := func(format string, text ...string) string {
		path := filepath.Join(t.TempDir(), "file")
		f, err := lines.Open(path, format, nil)
		must(t, err)
		for _, l := range text {
			must(t, f.Write([]byte(l)))
		}
		must(t, f.Close())
		return path
	}
	for name, text := range map[string][]string{
		"no JSON": {"x"}, "an unknown kind": {`{"amount_pico":1,"hotkey":"5Fa","op":"gift"}`}, "a credit twice": {credit, credit},
		"an unknown member": {`{"amount_pico":1,"hotkey":"5Fa","id":"one","op":"credit","x":1}`},
		"settled twice":     {`{"amount_pico":1,"hotkey":"5Fa","op":"settle","window":1}`, `{"amount_pico":1,"hotkey":"5Fa","op":"settle","window":1}`},
	} {
		if _, err := meter.OpenFunds(t.Context(), write("assay/funds/1", text...), 7); fault.Of(err) != meter.BadLine {
			t.Errorf("funds, %s: %v", name, err)
		}
	}
	if w, err := meter.Open(write("assay/meter/1", header, arm), settings()); err != nil {
		t.Fatal(err)
	} else {
		must(t, w.Close())
	}
	for name, text := range map[string][]string{
		"no header": {arm}, "no JSON": {header, "x"}, "an unknown kind": {header, `{"op":"gift"}`}, "two headers": {header, header},
		"an arm twice": {header, arm, arm}, "an arm of another window": {header, `{"duel":"w8-a-1","hotkey":"","limit_pico":0,"limited":false,"op":"open","own_key":false,"payer":""}`},
		"a call of nobody": {header, `{"amount_pico":0,"id":"w7-a-1/0/0/0","model":"m","op":"hold"}`},
		"no call":          {header, arm, `{"amount_pico":0,"id":"w7-a-1","model":"m","op":"hold"}`},
		"no receipt":       {header, arm, `{"op":"call","receipt":{},"text":""}`},
		"nobody's end":     {header, `{"duel":"w7-a-1","op":"close"}`},
		"behind the end":   {header, arm, `{"duel":"w7-a-1","op":"close"}`, `{"id":"w7-a-1/0/0/0","op":"refuse","text":"","why":"allowance"}`},
		"refused twice":    {header, arm, `{"id":"w7-a-1/0/0/0","op":"refuse","text":"","why":"allowance"}`, `{"id":"w7-a-1/0/0/0","op":"refuse","text":"","why":"allowance"}`},
	} {
		if _, err := meter.Open(write("assay/meter/1", text...), settings()); fault.Of(err) != meter.BadLine {
			t.Errorf("meter, %s: %v", name, err)
		}
	}
}

func TestProcessesTakeTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "funds")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			f, err := meter.OpenFunds(t.Context(), path, 7) // each its own, as in processes of their own
			if err != nil {
				t.Error(err)
				return
			}
			for j := range 4 {
				if err := f.Credit(t.Context(), strconv.Itoa(i*4+j), "5Fa", cent); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if got := funds(t, path, 7).Balance("5Fa"); got != 32*cent {
		t.Errorf("%s", got)
	}
}

func TestAFileThatIsHeldIsWaitedForAndGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "funds")
		f := funds(t, path, 7)
		holder, err := lines.Open(path, "assay/funds/1", nil)
		must(t, err)
		began := time.Now()
		if err := f.Credit(t.Context(), "one", "5Fa", cent); fault.Of(err) != run.Locked || time.Since(began) != 10*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := f.Credit(ctx, "one", "5Fa", cent); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		time.AfterFunc(time.Second, func() { _ = holder.Close() })
		must(t, f.Credit(t.Context(), "one", "5Fa", cent))
	})
}
