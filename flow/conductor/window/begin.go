package window

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"assay/conductor"
	"assay/conductor/publication"
	"assay/conductor/round"
	"assay/conductor/submission"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/sign"
	"assay/run/crash"
	"assay/store"
)

// begun is what a window begins with, as it is kept: later runs read it here and not from the chain.
type begun struct {
	V           int      `json:"v"`
	Window      int64    `json:"window"`
	Block       int64    `json:"block"`
	Nonce       string   `json:"nonce"`
	Season      string   `json:"season"` // digest of the rules and the schedule's root
	King        string   `json:"king"`
	KingGone    bool     `json:"king_gone"`
	Coronations []string `json:"coronations"`
	Base        int64    `json:"base"` // leaves of the log before the window's
	Queue       []queued `json:"queue"`
}

// queued is a submission's place.
type queued struct {
	Hotkey       string            `json:"hotkey"`
	Block        int64             `json:"block"`
	Registration string            `json:"registration"`
	Manifest     string            `json:"manifest"`
	Status       submission.Status `json:"status"`
	Detail       string            `json:"detail"`
}

// drawn is a window that has been drawn.
type drawn struct {
	begun
	record window.Record
	slice  []task.Pinned
}

// Draw opens a window: it fixes what the window begins with, draws the slice and publishes the record. A window that is
// open already is only read. Before the window's first block it is NotOpen.
func (o *Owner) Draw(ctx context.Context, n int64) (*window.Record, error) {
	d, err := o.draw(ctx, n)
	if err != nil {
		return nil, err
	}
	return &d.record, nil
}

func (o *Owner) draw(ctx context.Context, n int64) (*drawn, error) {
	if n < 1 || n > o.Windows {
		return nil, Over.With(fault.Int("window", n), fault.Int("windows", o.Windows))
	}
	b, err := o.begin(ctx, n)
	if err != nil {
		return nil, err
	}
	if b.Season != o.seasonDigest() {
		return nil, OtherSetup.With(fault.Int("window", n))
	}
	revealed, err := o.revealed(n)
	if err != nil {
		return nil, err
	}
	d := &drawn{begun: *b}
	d.record, d.slice, err = window.Build(window.Basis{
		Epoch: n, Entry: o.entries[n-1], Pool: o.pool, Catalog: o.snapshot.Freeze(), Nonce: b.Nonce, Revealed: revealed,
		Instructions: o.rules.Instructions, RulesDigest: o.digest,
	})
	if err != nil {
		return nil, fmt.Errorf("drawing window %d: %w", n, err)
	}
	return d, o.publishOpening(ctx, d)
}

func (o *Owner) seasonDigest() string {
	return hexOf([]byte(o.digest + "\x00" + o.manifest.Root + "\x00" + o.Funding + "\x00" + o.OwnerBudget))
}

// begin returns what the window begins with, and fixes it when the window is new.
func (o *Owner) begin(ctx context.Context, n int64) (*begun, error) {
	path := o.work(n, "begun.json")
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		var b begun
		if err := canon.Unmarshal(bytes.TrimSuffix(text, []byte{'\n'}), &b); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		if b.V != 1 || b.Window != n {
			return nil, OtherSetup.With(fault.Str("file", path), fault.Int("window", b.Window))
		}
		return &b, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("reading what the window begins with: %w", err)
	}
	b, err := o.look(ctx, n)
	if err != nil {
		return nil, err
	}
	if text, err = canon.Marshal(b); err != nil {
		return nil, err
	}
	return b, writeOnce(path, append(text, '\n'))
}

// writeOnce writes a private file as a whole.
func writeOnce(path string, text []byte) error {
	crash.Point("window/begin")
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, errors.Join(err, os.Remove(path+".new")))
	}
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	err = errors.Join(d.Sync(), d.Close())
	crash.Point("window/begun")
	return err
}

// look reads from the chain, the store and the last reveal what a new window begins with.
func (o *Owner) look(ctx context.Context, n int64) (*begun, error) {
	block, err := o.calendar().Opens(n)
	if err != nil {
		return nil, err
	}
	head, err := o.Chain.Head(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the chain for its head: %w", err)
	}
	if head.Number < block {
		return nil, NotOpen.With(fault.Int("window", n), fault.Int("opens_at", block), fault.Int("head", head.Number))
	}
	last, err := o.lastReveal()
	if err != nil {
		return nil, err
	}
	if err := o.inTurn(ctx, n, last); err != nil {
		return nil, err
	}
	nonce, err := o.Chain.BlockHash(ctx, block)
	if err != nil {
		return nil, fmt.Errorf("asking the chain for block %d: %w", block, err)
	}
	b := &begun{V: 1, Window: n, Block: block, Nonce: nonce, Season: o.seasonDigest(), Coronations: []string{}, Base: o.public.Size()}
	if last != nil {
		b.King, b.Coronations = last.Reigns, last.Coronations
	}
	return b, o.enqueue(ctx, b)
}

// inTurn refuses a window that is not behind the last published one, or that another unfinished one stands before.
func (o *Owner) inTurn(ctx context.Context, n int64, last *round.Reveal) error {
	if last != nil && n <= last.Window {
		return NotNext.With(fault.Int("window", n), fault.Int("published", last.Window))
	}
	return o.Store.View(ctx, func(tx store.Tx) error {
		open, err := tx.Conductor.Windows.List(store.Published)
		if err != nil {
			return err
		}
		for _, w := range open {
			if w.Number < n {
				return NotNext.With(fault.Int("window", n), fault.Int("unfinished", w.Number))
			}
		}
		return nil
	})
}

// lastReveal reads the newest published reveal, nil where there is none.
func (o *Owner) lastReveal() (*round.Reveal, error) {
	text, err := fs.ReadFile(o.public.FS(), publication.LatestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var latest publication.Latest
	if err == nil {
		err = canon.Unmarshal(bytes.TrimSuffix(text, []byte{'\n'}), &latest)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", publication.LatestFile, err)
	}
	record, err := o.openPublished(path.Join(publication.WindowDir(latest.Window), publication.RevealFile))
	if err != nil {
		return nil, err
	}
	return round.ParseReveal(record)
}

// openPublished opens an envelope of ours.
func (o *Owner) openPublished(name string) (canon.Object, error) {
	text, err := fs.ReadFile(o.public.FS(), name)
	if err != nil {
		return nil, fmt.Errorf("reading what was published: %w", err)
	}
	record, err := sign.Open(bytes.TrimSuffix(text, []byte{'\n'}), o.Deps.Owner.Public())
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return record, nil
}

// revealed lists the tasks of all earlier windows.
func (o *Owner) revealed(n int64) ([]string, error) {
	entries, err := fs.ReadDir(o.public.FS(), publication.WindowsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what was published: %w", err)
	}
	var out []string
	for _, e := range entries {
		k, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil || k >= n {
			continue
		}
		record, err := o.openPublished(path.Join(publication.WindowDir(k), publication.RecordFile))
		if err != nil {
			return nil, err
		}
		ids, _ := record["task_ids"].([]any)
		for _, id := range ids {
			if s, ok := id.(string); ok {
				out = append(out, s)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// publishOpening publishes record, rules, catalog, pool and slice, unless that was done.
func (o *Owner) publishOpening(ctx context.Context, d *drawn) error {
	if o.public.Size() > d.Base {
		return nil // all or none, and all before the log
	}
	dir := publication.WindowDir(d.Window)
	b := o.public.Batch()
	if d.Base == 0 {
		if err := o.envelope(b, publication.ScheduleFile, o.manifest.Object()); err != nil {
			return err
		}
	}
	if err := o.envelope(b, path.Join(dir, publication.RecordFile), d.record.Object()); err != nil {
		return err
	}
	rules, err := canon.Marshal(o.rules)
	if err != nil {
		return err
	}
	if err := b.File(path.Join(dir, publication.RulesFile), rules); err != nil {
		return err
	}
	if err := o.publishCatalog(b, path.Join(dir, publication.CatalogFile)); err != nil {
		return err
	}
	if _, err := b.Numbered(path.Join(dir, publication.PoolDir), o.poolLines()); err != nil {
		return err
	}
	if _, err := b.Numbered(path.Join(dir, publication.TasksDir), o.taskLines(d.slice)); err != nil {
		return err
	}
	return b.Append(ctx, d.Base)
}

// poolLines yields the pool: digests of statements in a strict window, the statements themselves in a compat one, whose pool
// digest is over them.
func (o *Owner) poolLines() func(func([]byte, error) bool) {
	lines := make([]window.PoolLine, len(o.pool))
	specs := make(map[string]task.Spec, len(o.pool))
	for i, s := range o.pool {
		lines[i] = window.LineOf(s)
		specs[lines[i].String()] = s
	}
	return func(yield func([]byte, error) bool) {
		var buf []byte
		for _, l := range window.SortPool(lines) {
			var err error
			if buf = l.Append(buf[:0]); !o.profile.Strict() {
				buf, err = canon.Marshal(publication.TaskOfSpec(specs[string(buf)]))
			}
			if !yield(buf, err) {
				return
			}
		}
	}
}

func (o *Owner) taskLines(slice []task.Pinned) func(func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		for _, t := range slice {
			line := publication.TaskOf(t)
			line.Tree = o.Trees[t.ID()]
			if line, err := canon.Marshal(line); !yield(line, err) {
				return
			}
		}
	}
}

func (o *Owner) publishCatalog(b interface {
	File(name string, lines ...[]byte) error
}, name string) error {
	source := o.Source
	source.V, source.Dropped = publication.Version, len(o.Dropped)
	first, err := canon.Marshal(source)
	if err != nil {
		return err
	}
	lines := [][]byte{first}
	for _, d := range o.Dropped {
		line, err := canon.Marshal(d)
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	return b.File(name, lines...)
}

// envelope publishes a signed record.
func (o *Owner) envelope(b interface {
	File(name string, lines ...[]byte) error
}, name string, record canon.Object) error {
	line, err := sign.Seal(record, o.Deps.Owner)
	if err != nil {
		return fmt.Errorf("signing %s: %w", name, err)
	}
	return b.File(name, line)
}

// enqueue gives every submission its place and keeps the window and the submissions in the store.
func (o *Owner) enqueue(ctx context.Context, b *begun) error {
	graph, err := o.Chain.Metagraph(ctx)
	if err != nil {
		return fmt.Errorf("asking the chain who is registered: %w", err)
	}
	if b.King != "" {
		_, here := graph.Find(b.King)
		b.KingGone = !here
	}
	standing, err := o.standing(ctx, b, graph)
	if err != nil {
		return err
	}
	waiting := false
	b.Queue = []queued{}
	places := submission.Queue(standing)
	for _, p := range places {
		if p.Status == submission.Later {
			continue
		}
		waiting = waiting || p.Status == submission.Queued
		b.Queue = append(b.Queue, queued{
			Hotkey: p.Hotkey, Block: p.Block, Registration: hex.EncodeToString(p.Registration[:]), Manifest: hex.EncodeToString(p.Manifest[:]),
			Status: p.Status, Detail: p.Detail,
		})
	}
	if waiting && o.Reference == nil {
		return NoReference.With(fault.Int("window", b.Window))
	}
	return o.Store.Update(ctx, func(tx store.Tx) error {
		for _, p := range places {
			if _, err := tx.Conductor.Submissions.Get(p.Hotkey); err == nil {
				continue // the first one stands
			}
			if err := tx.Conductor.Submissions.Put(p.Commitment); err != nil {
				return err
			}
		}
		return tx.Conductor.Windows.Open(b.Window, b.Block, b.Nonce)
	})
}

// digestOf reads a digest that this package wrote.
func digestOf(s string) (submission.Digest, error) {
	var d submission.Digest
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(d) {
		return d, conductor.BadPublication.With(fault.Str("digest", s))
	}
	return submission.Digest(b), nil
}
