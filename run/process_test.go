//go:build unix

package run_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"assay/run"
)

// childDir names, in a child process, the directory that it works in.
const childDir = "ASSAY_RUN_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		killAt, _ := strconv.ParseInt(os.Getenv("ASSAY_RUN_CHILD_KILL"), 10, 64)
		if err := child(context.Background(), dir, killAt); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// deadly is a journal that kills its own process at the chosen touch, without any chance to tidy up.
type deadly struct {
	run.Journal
	touches *atomic.Int64
	killAt  int64
}

func (d deadly) touch() {
	if d.touches.Add(1) == d.killAt {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}

func (d deadly) Append(r run.Record) (int64, error) {
	d.touch()
	pos, err := d.Journal.Append(r)
	d.touch()
	return pos, err
}

func (d deadly) Sync(pos int64) error {
	d.touch()
	err := d.Journal.Sync(pos)
	d.touch()
	return err
}

// child drives three runs at once over one journal. What it pays for, it writes into a file of its own.
func child(ctx context.Context, dir string, killAt int64) error {
	j, err := run.OpenJournal(filepath.Join(dir, "journal"))
	if err != nil {
		return err
	}
	paid, err := os.OpenFile(filepath.Join(dir, "paid"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	touches := new(atomic.Int64)
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		wg.Go(func() {
			id := fmt.Sprintf("run%d", i)
			l := run.Loop[int, int]{Durable: durable(deadly{j, touches, killAt}), Act: func(ctx context.Context, d int) (int, error) {
				_, err := fmt.Fprintf(paid, "%s %d\n", id, d)
				return 10 * d, err
			}}
			c := &counter{n: 7}
			if errs[i] = l.Run(ctx, id, "seven", c); errs[i] == nil && c.doubts == 0 && c.sum != 280 {
				errs[i] = fmt.Errorf("%s ended with %d", id, c.sum)
			}
		})
	}
	wg.Wait()
	return errors.Join(append(errs, j.Close(), paid.Close())...)
}

// A real process is killed at a real write, twice, and a third one finishes its work.
func TestKilledProcessPaysAtMostOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("starts some twenty processes; run without -short")
	}
	kills := 0
	for killAt := int64(1); killAt <= 100; killAt += 19 {
		dir := t.TempDir()
		for _, at := range []int64{killAt, killAt/2 + 1, 0} {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
			cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", childDir+"="+dir, "ASSAY_RUN_CHILD_KILL="+strconv.FormatInt(at, 10))
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			switch {
			case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL && at != 0:
				kills++
			case err != nil:
				t.Fatalf("killed at %d: %v: %s", at, err, out)
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, "paid"))
		if err != nil {
			t.Fatal(err)
		}
		times := map[string]int{}
		for line := range strings.Lines(string(text)) {
			times[line]++
		}
		for line, n := range times {
			_, effect, _ := strings.Cut(strings.TrimSpace(line), " ")
			if d, _ := strconv.Atoi(effect); d%3 != 0 && d%5 != 0 && n > 1 {
				t.Errorf("killed at %d: %q was paid %d times", killAt, line, n)
			}
		}
		for _, s := range open(t, filepath.Join(dir, "journal")).Runs() {
			if !s.Finished || s.Doubtful != "" {
				t.Errorf("killed at %d: %+v", killAt, s)
			}
		}
	}
	if kills < 8 {
		t.Errorf("only %d processes were killed: the test does not reach its crashes", kills)
	}
}
