package window_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"assay/chain"
	"assay/chain/fake"
	"assay/conductor/admission"
	"assay/conductor/catalog"
	"assay/conductor/policy"
	"assay/conductor/profile"
	"assay/conductor/publication"
	"assay/conductor/score"
	"assay/conductor/state"
	"assay/conductor/task"
	rules "assay/conductor/window"
	"assay/conductor/world"
	"assay/core/secret"
	"assay/core/sign"
	"assay/core/ss58"
	"assay/flow/conductor/play"
	"assay/flow/conductor/submit"
	"assay/flow/conductor/window"
	"assay/store/sqlite"
	"assay/worlds"
)

const netuid = 3

// league is an owner with a chain, buckets and miners, on the embedded world.
type league struct {
	t      testing.TB
	dir    string
	world  *world.World
	season window.Season
	ref    *admission.Reference
	served map[string]int // how often a tree was served
	grader play.Grader
	// workers wraps the recorded workers; nil leaves them.
	workers func(play.Workers) play.Workers
}

var (
	owner   = sign.NewEd25519([32]byte{1})
	gateway = sign.NewEd25519([32]byte{2})
	ownerID = ss58.Encode(owner.Public())
)

func newLeague(t testing.TB) *league {
	t.Helper()
	w, defects := world.Read(worlds.Embedded())
	if w == nil {
		t.Fatal(defects)
	}
	l := &league{t: t, dir: t.TempDir(), world: w, served: map[string]int{}, grader: play.Metrics{World: w}}
	l.season = window.Season{
		V: 1, Origin: "assay.test/conductor", Profile: "strict", Netuid: netuid, Genesis: 100, WindowBlocks: 50, Windows: 5, PerBenchmark: 12, Minimum: 2,
		GateTasks: 60, Duels: 3, Concurrency: 4, Funding: window.OwnerPays, Aliases: map[string][]string{},
	}
	l.season = l.fit(l.season)
	var err error
	if l.ref, err = admission.ReadReference(memory(files("ref", "")), profile.Strict); err != nil {
		t.Fatal(err)
	}
	l.edit(func(s *fake.State) {
		*s = fake.State{
			Seed: "x", Head: 60, Neurons: []chain.Neuron{{UID: 0, Hotkey: ownerID, Registered: 1}},
			Parameters: chain.Parameters{WeightsRateLimit: 10, ImmunityPeriod: 200},
		}
	})
	for _, d := range []string{"bucket", "artifacts", "models"} {
		if err := os.MkdirAll(filepath.Join(l.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// fit fits the season on all of the world's recorded answers.
func (l *league) fit(s window.Season) window.Season {
	l.t.Helper()
	entries := make([]catalog.Entry, len(l.world.Models))
	for i, m := range l.world.Models {
		entries[i] = catalog.Entry{ID: m.ID, In: m.In, Out: m.Out, Context: m.Context}
	}
	snap, err := catalog.New(entries, profile.Strict)
	must(l.t, err)
	renderer, err := state.NewRenderer(state.Instructions(), snap, profile.Strict)
	must(l.t, err)
	specs := make([]task.Spec, len(l.world.Tasks))
	for i, t := range l.world.Tasks {
		specs[i] = t.Spec()
	}
	slice, err := rules.Slice("fit", specs)
	must(l.t, err)
	arms := map[string][]score.Row{}
	for _, name := range []string{policy.Cheapest, policy.Strongest, policy.Cascade} {
		p, err := policy.New(name, "fit", snap)
		must(l.t, err)
		a := play.Arm{
			Conductor: play.Fixed{Policy: p}, Workers: play.Recorded{World: l.world}, Grader: play.Metrics{World: l.world}, Renderer: renderer,
			Profile: profile.Strict, Concurrency: 4, Now: time.Now,
		}
		results, err := a.Run(context.Background(), slice)
		must(l.t, err)
		for _, r := range results {
			arms[name] = append(arms[name], r.Row())
		}
	}
	s, err = window.FitSeason(s, arms)
	must(l.t, err)
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (l *league) chainFile() string { return filepath.Join(l.dir, "chain.json") }

func (l *league) edit(do func(*fake.State)) {
	l.t.Helper()
	if _, err := os.Stat(l.chainFile()); err != nil {
		must(l.t, fake.Write(l.chainFile(), &fake.State{}))
	}
	must(l.t, fake.Edit(context.Background(), l.chainFile(), func(s *fake.State) error { do(s); return nil }))
}

// files returns a tree that admission admits, whose Conductor plays as the word in its config says.
func files(data, plays string) map[string]string {
	header := `{"w":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}}`
	return map[string]string{
		"config.json": fmt.Sprintf(`{"model_type":"toy","plays":%q}`, plays), "tokenizer.json": "{}", "tokenizer_config.json": "{}",
		"w.safetensors": string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + (data + strings.Repeat("\x00", 8))[:8],
	}
}

func memory(files map[string]string) fs.FS {
	m := fstest.MapFS{}
	for path, text := range files {
		m[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// submit registers a miner and hands in a Conductor that plays as the word says.
func (l *league) submit(n byte, plays string) (hotkey string) {
	l.t.Helper()
	return l.submitWith(n, plays, func(*submit.Settings) {})
}

func hexOf(d [32]byte) string { return fmt.Sprintf("%x", d) }

func (l *league) submitWith(n byte, plays string, change func(*submit.Settings)) (hotkey string) {
	l.t.Helper()
	signer := sign.NewEd25519([32]byte{100, n})
	hotkey = ss58.Encode(signer.Public())
	l.edit(func(s *fake.State) {
		s.Head++
		s.Neurons = append(s.Neurons, chain.Neuron{UID: int(n), Hotkey: hotkey, Registered: s.Head})
	})
	b, err := submit.OpenBucket(filepath.Join(l.dir, "bucket"))
	must(l.t, err)
	defer b.Close()
	set := submit.Settings{
		Tree: memory(files(plays, plays)), Reference: l.ref, Signer: signer, Chain: fake.New(l.chainFile(), hotkey), Netuid: netuid, Bucket: b,
	}
	change(&set)
	_, err = submit.Submit(context.Background(), set)
	must(l.t, err)
	return hotkey
}

// open opens the owner.
func (l *league) open(change ...func(*window.Deps)) *window.Owner {
	l.t.Helper()
	o, err := l.tryOpen(change...)
	must(l.t, err)
	return o
}

func (l *league) tryOpen(change ...func(*window.Deps)) (*window.Owner, error) {
	buckets := map[string]*submit.Bucket{}
	for _, d := range []string{"bucket", "artifacts", "models"} {
		b, err := submit.OpenBucket(filepath.Join(l.dir, d))
		must(l.t, err)
		buckets[d] = b
	}
	db := filepath.Join(l.dir, "owner", "state.db")
	must(l.t, os.MkdirAll(filepath.Dir(db), 0o700))
	ctx := context.Background()
	if _, err := os.Stat(db); err != nil {
		st, err := sqlite.Create(ctx, db)
		must(l.t, err)
		must(l.t, st.Close())
	}
	st, err := sqlite.Open(ctx, db)
	must(l.t, err)
	d := window.Deps{
		Dir: filepath.Join(l.dir, "owner"), Public: filepath.Join(l.dir, "public"), Season: l.season, World: l.world,
		Source: publication.Source{Name: "atlas", Rows: len(l.world.Models)}, Chain: fake.New(l.chainFile(), ownerID), Netuid: netuid, Store: st,
		Bucket: buckets["bucket"], Artifacts: buckets["artifacts"], Kept: filepath.Join(l.dir, "artifacts"), Models: buckets["models"], Reference: l.ref,
		Owner: owner, Gateway: gateway, Idempotent: true, Grader: l.grader, Serve: l.serve,
		Now: func() time.Time { return time.Unix(1_790_000_000, 0) }, Log: slog.New(slog.DiscardHandler),
		Workers: func(secret.Value) (play.Workers, *secret.Redactor, error) {
			var w play.Workers = window.Recorded{Recorded: play.Recorded{World: l.world}}
			if l.workers != nil {
				w = l.workers(w)
			}
			return w, nil, nil
		},
	}
	for _, c := range change {
		c(&d)
	}
	o, err := window.Open(d)
	if err != nil {
		_ = st.Close()
		return nil, err
	}
	l.t.Cleanup(func() { _ = st.Close() })
	return o, nil
}

// serve makes a Conductor of what a tree's config says.
func (l *league) serve(_ context.Context, s window.Serving) (play.Conductor, func() error, error) {
	text, err := os.ReadFile(filepath.Join(s.Tree, "config.json"))
	if err != nil {
		return nil, nil, err
	}
	var c struct{ Plays string }
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, nil, err
	}
	l.served[c.Plays]++
	return playing{l, c.Plays}, func() error { return nil }, nil
}

type playing struct {
	l    *league
	word string
}

// Turn plays: "oracle" asks the model that is worth most on the task, "constant ID" always that model, "silent" nothing.
func (p playing) Turn(_ context.Context, a play.Ask) (play.Said, error) {
	word, arg, _ := strings.Cut(p.word, " ")
	switch {
	case word == "silent":
		return play.Said{Tokens: -1}, nil
	case word == "unservable":
		return play.Said{}, fmt.Errorf("out of memory")
	case a.Step > 1:
		return play.Said{Text: "STOP", Tokens: -1}, nil
	case word == "oracle":
		return play.Said{Text: "DELEGATE " + p.l.best(a.TaskID), Tokens: -1}, nil
	}
	return play.Said{Text: "DELEGATE " + arg, Tokens: -1}, nil
}

// best returns the model whose recorded answer is worth most at the season's rate.
func (l *league) best(id string) string {
	i, _ := l.world.Task(id)
	rates := publication.Rules{Exchange: l.season.Exchange}.Rates()
	best, top := "", -1e9
	for m, model := range l.world.Models {
		worth, _ := l.world.Worth(i, m)
		if f := rates[l.world.Tasks[i].Benchmark].Final(worth, l.world.Outcome(i, m).Cost.Dollars()); f > top {
			best, top = model.ID, f
		}
	}
	return best
}
