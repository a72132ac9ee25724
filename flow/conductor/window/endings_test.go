package window_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"assay/chain/fake"
	"assay/conductor/episode"
	"assay/conductor/round"
	"assay/conductor/worker"
	"assay/core/fault"
	"assay/core/money"
	"assay/flow/conductor/meter"
	"assay/flow/conductor/play"
	"assay/flow/conductor/window"
	"assay/run"
	"assay/run/lines"
)

// run runs a window and closes the owner.
func (l *league) run(n int64, change ...func(*window.Deps)) *round.Reveal {
	l.t.Helper()
	l.at(n)
	o := l.open(change...)
	defer o.Close()
	r, err := o.Run(context.Background(), n)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// public reads the publication.
func (l *league) public() map[string][]byte {
	files := map[string][]byte{}
	root := os.DirFS(filepath.Join(l.dir, "public"))
	must(l.t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[path], err = fs.ReadFile(root, path)
		}
		return err
	}))
	return files
}

func same(a, b map[string][]byte) string {
	for k, v := range a {
		if !bytes.Equal(v, b[k]) {
			return k
		}
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			return k
		}
	}
	return ""
}

// counting counts the calls that reach the workers, and may answer for another model.
type counting struct {
	play.Workers
	calls *atomic.Int64
	as    func(r worker.Request) string // served model; "" leaves it
	after func(n int64)
}

func (c counting) CallAs(ctx context.Context, _ string, r worker.Request) (episode.Event, error) {
	return c.Call(ctx, r)
}

func (c counting) Call(ctx context.Context, r worker.Request) (episode.Event, error) {
	n := c.calls.Add(1)
	e, err := c.Workers.Call(ctx, r)
	if c.as != nil {
		if s := c.as(r); s != "" {
			e.Served = s
		}
	}
	if c.after != nil {
		c.after(n)
	}
	return e, err
}

func (l *league) counted(c counting) *atomic.Int64 {
	c.calls = &atomic.Int64{}
	l.workers = func(w play.Workers) play.Workers { c.Workers = w; return c }
	return c.calls
}

func TestBehaviourX22_AKingThatLeftIsFollowedByTheFirstPolicy(t *testing.T) {
	l := newLeague(t)
	king := l.submit(5, "oracle")
	if r := l.run(1); r.Reigns != king {
		t.Fatalf("%q reigns", r.Reigns)
	}
	l.edit(func(s *fake.State) {
		s.Neurons = s.Neurons[:1] // the king's registration is gone
		s.Commitments = nil
	})
	l.submit(6, "constant "+l.world.Models[0].ID)
	r := l.run(2)
	if r.ReignEnded != round.EndedGone || !r.KingIsGenesis || r.Reigns != "" || len(r.Coronations) != 1 {
		t.Errorf("%+v", r)
	}
}

// Another model answers one task: it is void for every arm, and the reveal lists both names. A recorded alias lets it pass.
func TestAServedModelSwapVoidsTheTask(t *testing.T) {
	for _, alias := range []bool{false, true} {
		l := newLeague(t)
		l.submit(5, "oracle")
		l.submit(6, "constant "+l.world.Models[0].ID)
		victim := ""
		l.counted(counting{as: func(r worker.Request) string {
			if victim == "" {
				victim = r.Task().ID()
			}
			if r.Task().ID() == victim {
				return r.Model().String() + "-other"
			}
			return ""
		}})
		if alias {
			for _, m := range l.world.Models {
				l.season.Aliases[m.ID] = []string{m.ID + "-other"}
			}
		}
		l.season.Concurrency = 1
		r := l.run(1)
		if alias {
			if len(r.Void) != 0 {
				t.Errorf("with an alias: %+v", r.Void)
			}
			continue
		}
		if len(r.Void) != 1 || r.Void[0].Task != victim || r.Void[0].Reason != "served_model" || r.Void[0].Served != r.Void[0].Model+"-other" {
			t.Errorf("%+v", r.Void)
		}
		for _, o := range r.Outcomes {
			if o.Verdict == nil || o.Verdict.NTasks != r.NTasks-1 {
				t.Errorf("%s is judged on %+v", o.Hotkey, o.Verdict)
			}
		}
	}
}

// broken grades nothing on some tasks.
type broken struct {
	play.Grader
	task string // "" breaks on all
}

func (b broken) Grade(ctx context.Context, r worker.Request, answer string) (float64, error) {
	if b.task == "" || r.Task().ID() == b.task {
		return 0, errors.New("the sandbox is gone")
	}
	return b.Grader.Grade(ctx, r, answer)
}

func TestADeadGraderCostsNobodyAShot(t *testing.T) {
	l := newLeague(t)
	h := l.submit(5, "oracle")
	l.grader = broken{Grader: l.grader}
	r := l.run(1)
	if r.Deferral == "" || r.Outcomes[0].Status != "deferred" || r.Outcomes[0].ShotSpent || r.Weights[0].Share != 1 {
		t.Errorf("%+v", r)
	}
	l.grader = play.Metrics{World: l.world}
	if r := l.run(2); r.Crowned != h { // the shot was not spent
		t.Errorf("%+v", r.Outcomes)
	}
}

func TestAConductorThatCannotBeServedIsDeferred(t *testing.T) {
	l := newLeague(t)
	l.submit(5, "unservable")
	l.submit(6, "oracle")
	r := l.run(1)
	if r.Outcomes[0].Status != "deferred" || r.Outcomes[0].ShotSpent || r.Outcomes[1].Status != "duelled" || r.Crowned == "" || l.served["unservable"] != 3 {
		t.Errorf("%+v, served %v", r.Outcomes, l.served)
	}
}

// Cut off at any call and run again, a window publishes the same bytes, and no call is made twice.
func TestBehaviourX12_ACutWindowGoesOn(t *testing.T) {
	whole := newLeague(t)
	whole.season.PerBenchmark = 3
	whole.submit(5, "oracle")
	calls := whole.counted(counting{})
	want := whole.run(1)
	all := calls.Load()
	for at := int64(1); at < all; at += 7 {
		l := newLeague(t)
		l.season = whole.season
		l.submit(5, "oracle")
		drain := make(chan struct{})
		total := l.counted(counting{after: func(n int64) {
			if n == at {
				close(drain)
			}
		}})
		l.at(1)
		o := l.open(func(d *window.Deps) { d.Drain = drain })
		_, err := o.Run(context.Background(), 1)
		must(t, o.Close())
		if !errors.Is(err, play.ErrDrained) {
			t.Fatalf("call %d: %v", at, err)
		}
		if got := l.run(1); got.Reigns != want.Reigns || total.Load() != all {
			t.Errorf("call %d: %d calls, not %d", at, total.Load(), all)
		}
		if d := same(whole.public(), l.public()); d != "" {
			t.Errorf("call %d: %s differs", at, d)
		}
	}
}

// What was published is read again, not judged again.
func TestBehaviourX16_APublishedWindowIsOnlyRead(t *testing.T) {
	l := newLeague(t)
	l.submit(5, "oracle")
	calls := l.counted(counting{})
	first := l.run(1)
	n := calls.Load()
	again := l.run(1)
	if calls.Load() != n || again.Reigns != first.Reigns {
		t.Errorf("%d further calls", calls.Load()-n)
	}
}

func TestTwoOwnersOnOneFolder(t *testing.T) {
	l := newLeague(t)
	o := l.open()
	defer o.Close()
	if _, err := l.tryOpen(); fault.Of(err) != window.Taken {
		t.Errorf("%v", err)
	}
}

func TestAWindowIsNotRunBeforeItsBlock(t *testing.T) {
	l := newLeague(t)
	o := l.open()
	defer o.Close()
	if _, err := o.Run(context.Background(), 1); fault.Of(err) != window.NotOpen || !strings.Contains(err.Error(), "100") {
		t.Errorf("%v", err)
	}
	if _, err := o.Run(context.Background(), 99); fault.Of(err) != window.Over {
		t.Errorf("%v", err)
	}
}

func TestAnAccountJournalFromTheFuture(t *testing.T) {
	l := newLeague(t)
	l.submit(5, "oracle")
	l.at(1)
	o := l.open()
	defer o.Close()
	path := filepath.Join(l.dir, "owner", "funds")
	f, err := meter.OpenFunds(context.Background(), path, meter.AnyWindow)
	must(t, err)
	must(t, f.Settle(context.Background(), 4, "5HV1CsCpHvPjFqN1iEyqudVhmXqCe39mAxzCiqDGDKaVSGiw", money.Dollar))
	before, err := os.ReadFile(path)
	must(t, err)
	if _, err := o.Run(context.Background(), 1); fault.Of(err) != meter.FutureAccount {
		t.Errorf("%v", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the journal was changed")
	}
	if len(l.public()) > 2 { // key and an empty log
		t.Error("something was published")
	}
}

// Edited private files are refused with the file that is wrong, and stay as they are.
func TestEditedJournalsAreRefused(t *testing.T) {
	l := newLeague(t)
	l.season.PerBenchmark = 3
	l.submit(5, "oracle")
	drain := make(chan struct{})
	l.counted(counting{after: func(n int64) {
		if n == 40 {
			close(drain)
		}
	}})
	l.at(1)
	o := l.open(func(d *window.Deps) { d.Drain = drain })
	if _, err := o.Run(context.Background(), 1); !errors.Is(err, play.ErrDrained) {
		t.Fatal(err)
	}
	must(t, o.Close())
	l.workers = nil
	work := filepath.Join(l.dir, "owner", "window", "1")
	for file, want := range map[string]fault.Code{
		"arms/gate-" + l.season.KingZero + "/episodes": lines.Damaged, "outcomes": lines.Damaged, "meter": lines.Damaged, "journal": run.Damaged, "begun.json": {},
	} {
		path := filepath.Join(work, file)
		text, err := os.ReadFile(path)
		must(t, err)
		edited := bytes.Clone(text)
		edited[len(edited)*3/4] ^= 4
		must(t, os.WriteFile(path, edited, 0o600))
		o := l.open()
		_, err = o.Run(context.Background(), 1)
		must(t, o.Close())
		if err == nil || want != (fault.Code{}) && fault.Of(err) != want {
			t.Errorf("%s: %v", file, err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(after, edited) {
			t.Errorf("%s was changed", file)
		}
		must(t, os.WriteFile(path, text, 0o600))
	}
	if r := l.run(1); r.Crowned == "" {
		t.Errorf("mended: %+v", r)
	}
}

func TestAnotherSeasonOnABegunWindow(t *testing.T) {
	l := newLeague(t)
	l.at(1)
	o := l.open()
	_, err := o.Draw(context.Background(), 1)
	must(t, errors.Join(err, o.Close()))
	l.season.GateTasks = 10
	o = l.open()
	defer o.Close()
	if _, err := o.Run(context.Background(), 1); fault.Of(err) != window.OtherSetup {
		t.Errorf("%v", err)
	}
}

// What a window begins with is fixed when it is drawn: a later chain changes nothing.
func TestADrawnWindowDoesNotLookAgain(t *testing.T) {
	l := newLeague(t)
	l.submit(5, "oracle")
	l.at(1)
	o := l.open()
	before, err := o.Draw(context.Background(), 1)
	must(t, err)
	l.edit(func(s *fake.State) {
		s.Hashes = map[string]string{"100": "0x" + strings.Repeat("11", 32)}
		s.Commitments = nil
	})
	after, err := o.Draw(context.Background(), 1)
	must(t, errors.Join(err, o.Close()))
	if after.Nonce != before.Nonce {
		t.Error("the nonce was read again")
	}
	if r := l.run(1); len(r.Outcomes) != 1 {
		t.Errorf("%+v", r.Outcomes)
	}
}

func TestBehaviourX18_Launch(t *testing.T) {
	l := newLeague(t)
	o := l.open()
	defer o.Close()
	ctx := context.Background()
	if err := o.Launch(ctx, ownerID); fault.Of(err) != window.NotPinned {
		t.Errorf("nothing is committed: %v", err)
	}
	must(t, o.Commit(ctx, ownerID))
	must(t, o.Commit(ctx, ownerID)) // again changes nothing
	must(t, o.Launch(ctx, ownerID))
	l.edit(func(s *fake.State) { s.Parameters.WeightsRateLimit = 50 })
	if err := o.Launch(ctx, ownerID); fault.Of(err) != window.BadLaunch {
		t.Errorf("windows no longer than the rate limit: %v", err)
	}
	l.edit(func(s *fake.State) { s.Parameters.WeightsRateLimit, s.Parameters.ImmunityPeriod = 10, 149 })
	if err := o.Launch(ctx, ownerID); fault.Of(err) != window.BadLaunch {
		t.Errorf("an immunity too short: %v", err)
	}
	bad := l.season
	bad.OwnerBudget = "0"
	if err := bad.Check(); err == nil {
		t.Error("an owner at zero")
	}
}

func TestBehaviourX21_StableWeightsAreSentAgain(t *testing.T) {
	l := newLeague(t)
	l.run(1)
	o := l.open()
	defer o.Close()
	ctx := context.Background()
	for _, c := range []struct {
		head int64
		want bool
	}{{100, false}, {279, false}, {280, true}, {281, false}, {470, true}} {
		l.edit(func(s *fake.State) { s.Head = c.head })
		if did, err := o.Refresh(ctx); err != nil || did != c.want {
			t.Errorf("at block %d: %v, %v", c.head, did, err)
		}
	}
}

// A swapped shard is the miner's fault: refused, and the shot is spent.
func TestBehaviourX19_ASwappedShardIsRefused(t *testing.T) {
	l := newLeague(t)
	l.submit(5, "oracle")
	shards, err := filepath.Glob(filepath.Join(l.dir, "bucket", "submissions", "*", "w.safetensors"))
	if err != nil || len(shards) != 1 {
		t.Fatal(shards, err)
	}
	text, err := os.ReadFile(shards[0])
	must(t, err)
	text[len(text)-1] ^= 1
	must(t, os.Chmod(shards[0], 0o644))
	must(t, os.WriteFile(shards[0], text, 0o644))
	r := l.run(1)
	if o := r.Outcomes[0]; o.Status != "refused" || !o.ShotSpent || !strings.Contains(o.Detail, "not what was committed") {
		t.Errorf("%+v", o)
	}
}

// A disk that is full refuses with that fact, and the window goes on when there is room.
func TestAFullDiskLeavesAWindowThatGoesOn(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a small disk is mounted for this test: run it as root")
	}
	l := newLeague(t)
	l.season.PerBenchmark = 3
	l.submit(5, "oracle")
	small := filepath.Join(l.dir, "small")
	must(t, os.MkdirAll(small, 0o700))
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=160k"); err != nil {
		t.Skip("no small disk can be mounted here: ", err)
	}
	defer func() { _ = syscall.Unmount(small, 0) }()
	there := func(d *window.Deps) { d.Dir, d.Public = filepath.Join(small, "owner"), filepath.Join(small, "public") }
	l.at(1)
	o := l.open(there)
	_, err := o.Run(context.Background(), 1)
	must(t, o.Close())
	if err == nil || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is full: %v", err)
	}
	must(t, syscall.Mount("", small, "", syscall.MS_REMOUNT, "size=16m"))
	o = l.open(there)
	defer o.Close()
	r, err := o.Run(context.Background(), 1)
	if err != nil || r.Crowned == "" {
		t.Errorf("%+v, %v", r, err)
	}
}
