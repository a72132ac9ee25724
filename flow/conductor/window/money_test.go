package window_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"assay/core/money"
	"assay/core/secret"
	"assay/flow/conductor/keys"
	"assay/flow/conductor/meter"
	"assay/flow/conductor/play"
	"assay/flow/conductor/submit"
	"assay/flow/conductor/window"
)

// An account pays its arm up to what it holds, and no further; who holds nothing has no place.
func TestAccountsPay(t *testing.T) {
	l := newLeague(t)
	l.season.Funding = window.AccountPays
	rich, poor := l.submit(5, "oracle"), l.submit(6, "oracle")
	ctx := context.Background()
	must(t, os.MkdirAll(filepath.Join(l.dir, "owner"), 0o700))
	f, err := meter.OpenFunds(ctx, filepath.Join(l.dir, "owner", "funds"), meter.AnyWindow)
	must(t, err)
	must(t, f.Credit(ctx, "invoice", rich, money.Dollar/100))
	r := l.run(1)
	for _, o := range r.Outcomes {
		switch o.Hotkey {
		case rich:
			if o.Status != "duelled" || o.Exhausted == 0 {
				t.Errorf("one cent was enough: %+v", o)
			}
		case poor:
			if o.Status != "skipped" || o.ShotSpent {
				t.Errorf("%+v", o)
			}
		}
	}
	must(t, f.Refresh())
	if left := f.Balance(rich); left >= money.Dollar/100 {
		t.Errorf("%s is left", left)
	}
}

// A miner's own key pays its arm, reaches its workers, and stands in no file.
func TestAMinersKeyIsOpenedForItsArmAlone(t *testing.T) {
	l := newLeague(t)
	l.season.Funding = window.KeyPays
	id, err := keys.Create(filepath.Join(l.dir, "identity"))
	must(t, err)
	const planted = "sk-planted-0123456789abcdef"
	h := l.submitWith(5, "oracle", func(s *submit.Settings) {
		s.Funding = func(registration [32]byte) ([]byte, error) {
			return keys.Seal(id.Recipient(), keys.Funding{Registration: hexOf(registration), Cap: money.Dollar, Key: secret.New(planted)}, s.Signer)
		}
	})
	poor := l.submit(6, "oracle")
	used := map[bool]int{}
	r := l.run(1, func(d *window.Deps) {
		d.Identity = id
		open := d.Workers
		d.Workers = func(key secret.Value) (play.Workers, *secret.Redactor, error) {
			if !key.IsZero() && key.Reveal() != planted {
				t.Error("another key")
			}
			used[!key.IsZero()]++
			w, _, err := open(key)
			return w, secret.NewRedactor(key), err
		}
	})
	if used[true] == 0 || used[false] == 0 || r.Crowned != h {
		t.Errorf("%v, %+v", used, r.Outcomes)
	}
	for _, m := range r.Metering {
		if m.OwnKey != (m.Arm == h) {
			t.Errorf("%+v", m)
		}
	}
	for _, o := range r.Outcomes {
		if o.Hotkey == poor && o.Status != "skipped" {
			t.Errorf("%+v", o)
		}
	}
	hidden := secret.NewRedactor(secret.New(planted))
	for _, dir := range []string{"owner", "public", "artifacts", "models"} {
		must(t, filepath.WalkDir(filepath.Join(l.dir, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err == nil && hidden.Redact(string(text)) != string(text) {
				t.Errorf("the key stands in %s", path)
			}
			return err
		}))
	}
}

// A restart brings no new allowance, and void tasks stay void: cut at any call, a window under an allowance with a broken
// grader publishes the same bytes.
func TestBehaviourX13_X14_ARestartBringsNoNewAllowance(t *testing.T) {
	make := func() (*league, *atomic.Int64, chan struct{}, *int64) {
		l := newLeague(t)
		l.season.PerBenchmark, l.season.Concurrency, l.season.Allowance = 3, 1, "0.001"
		l.grader = broken{Grader: l.grader, task: l.world.Tasks[1].ID}
		l.submit(5, "oracle")
		drain, at := make(chan struct{}), new(int64)
		calls := l.counted(counting{after: func(n int64) {
			if n == *at {
				close(drain)
			}
		}})
		return l, calls, drain, at
	}
	whole, calls, _, _ := make()
	r := whole.run(1)
	all := calls.Load()
	exhausted := 0
	for _, o := range r.Outcomes {
		exhausted += o.Exhausted
	}
	if exhausted == 0 {
		t.Fatalf("the allowance binds nobody: %+v", r.Metering)
	}
	for at := int64(5); at < all; at += 11 {
		l, calls, drain, cut := make()
		*cut = at
		l.at(1)
		o := l.open(func(d *window.Deps) { d.Drain = drain })
		_, err := o.Run(context.Background(), 1)
		must(t, o.Close())
		if !errors.Is(err, play.ErrDrained) {
			t.Fatalf("call %d: %v", at, err)
		}
		l.run(1)
		if d := same(whole.public(), l.public()); d != "" || calls.Load() != all {
			t.Errorf("call %d: %s differs, %d calls, not %d", at, d, calls.Load(), all)
		}
	}
}
