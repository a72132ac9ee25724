package meter_test

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"

	"assay/conductor/catalog"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/profile"
	"assay/conductor/receipt"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/conductor/worker"
	"assay/core/money"
	"assay/core/sign"
	"assay/flow/conductor/meter"
)

const cent = money.Dollar / 100

var gateway = sign.NewEd25519([32]byte{1})

// payer is what plays an arm asks of it.
type payer interface {
	Call(ctx context.Context, id string, r worker.Request, send func(context.Context) (episode.Event, error)) (episode.Event, error)
	Replay(ctx context.Context, id string, r worker.Request, k outcome.Key, row outcome.Row) (refused string, err error)
	Find(id string) (episode.Event, bool)
}

var _ payer = (*meter.Arm)(nil)

func rowDigest(k outcome.Key, r outcome.Row) (string, error) {
	return receipt.TextHash(k.Task + k.Model + strconv.Itoa(k.Attempt) + r.Text), nil
}

func settings() meter.Settings {
	return meter.Settings{Window: 7, Signer: gateway, RowDigest: rowDigest}
}

// request asks a model of the snapshot.
func request(tb testing.TB, model string) worker.Request {
	tb.Helper()
	slice, err := window.Slice("n", []task.Spec{{ID: "t-1", Benchmark: "hle", Prompt: "What?", Tools: []string{"READ"}}})
	if err != nil {
		tb.Fatal(err)
	}
	s, err := catalog.New([]catalog.Entry{{ID: model, In: 1, Out: 1, Context: 1}}, profile.Strict)
	if err != nil {
		tb.Fatal(err)
	}
	m, _ := s.Lookup(model)
	return worker.NewRequest(slice[0], m)
}

// desk is one window's meter in a folder, and who counts what is sent.
type desk struct {
	testing.TB
	path string
	set  meter.Settings
	w    *meter.Window
	sent int
}

func open(tb testing.TB) *desk {
	tb.Helper()
	d := &desk{TB: tb, path: filepath.Join(tb.TempDir(), "meter"), set: settings()}
	d.again()
	tb.Cleanup(d.close)
	return d
}

// again closes the meter and opens it again, as after a crash behind the last fsync.
func (d *desk) again() {
	d.Helper()
	d.close()
	var err error
	if d.w, err = meter.Open(d.path, d.set); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) close() {
	d.Helper()
	if d.w != nil {
		if err := d.w.Close(); err != nil {
			d.Fatal(err)
		}
		d.w = nil
	}
}

func (d *desk) bind(b meter.Binding) *meter.Arm {
	d.Helper()
	a, err := d.w.Bind(b, nil)
	if err != nil {
		d.Fatal(err)
	}
	return a
}

// limited is the binding of a miner's arm.
func limited(duel string, amount money.Pico) meter.Binding {
	return meter.Binding{Duel: duel, Hotkey: "5Fminer", Payer: "5Fminer", Limit: amount, Limited: true}
}

func answered(text string, cost money.Pico) episode.Event {
	return episode.Event{Told: episode.Answered, Text: text, Cost: cost, TokensIn: 100, TokensOut: 7, Served: "flash-2", Provider: "P"}
}

// call makes a call that gives e.
func (d *desk) call(a *meter.Arm, id, model string, e episode.Event) episode.Event {
	d.Helper()
	got, err := a.Call(d.Context(), id, request(d, model), d.send(e, nil))
	if err != nil {
		d.Fatal(err)
	}
	return got
}

func (d *desk) send(e episode.Event, err error) func(context.Context) (episode.Event, error) {
	return func(context.Context) (episode.Event, error) {
		d.sent++
		return e, err
	}
}

func (d *desk) left(a *meter.Arm, want money.Pico) {
	d.Helper()
	if left, limited := a.Left(); left != want || !limited {
		d.Errorf("left are %s, limited %v, want %s", left, limited, want)
	}
}

func (d *desk) receipts(a *meter.Arm) []receipt.Receipt {
	d.Helper()
	rs, err := a.Receipts()
	if err != nil {
		d.Fatal(err)
	}
	return rs
}
