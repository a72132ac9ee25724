package meter

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"sync"
	"time"

	"assay/core/canon"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/name"
	"assay/run"
	"assay/run/lines"
)

// fundsFormat is the name of the funds' file.
const fundsFormat = "assay/funds/1"

// AnyWindow opens funds for who runs no window, such as the command that credits an account.
const AnyWindow = math.MaxInt64

// Funds are the miners' accounts with the owner, in one file that several processes may use: each takes the file for the
// moment of an append, reading what others appended first.
type Funds struct {
	path   string
	window int64

	mu    sync.Mutex
	state fundsState
}

type fundsState struct {
	balance map[string]money.Pico
	credits map[string]fundsOp // by id
	settled map[settlement]money.Pico
	window  int64 // the one that is run
}

type settlement struct {
	window int64
	hotkey string
}

// fundsOp is a line of the file, in UTF-8 canonical JSON:
//
//	{"amount_pico":5000000000000,"hotkey":"5F…","id":"invoice-17","op":"credit"}
//	{"amount_pico":1871000000,"hotkey":"5F…","op":"settle","window":7}
type fundsOp struct {
	Op     string     `json:"op"`
	ID     string     `json:"id"`
	Window int64      `json:"window"`
	Hotkey string     `json:"hotkey"`
	Amount money.Pico `json:"amount_pico"`
}

const (
	opCredit = "credit"
	opSettle = "settle"
)

func (o fundsOp) payload() ([]byte, error) {
	m := canon.Object{"op": o.Op, "hotkey": o.Hotkey, "amount_pico": int64(o.Amount)}
	if o.Op == opCredit {
		m["id"] = o.ID
	} else {
		m["window"] = o.Window
	}
	return canon.UTF8(m)
}

// OpenFunds reads the accounts at path, or creates the file. window is the one that is run: an account journal in which a later
// one is settled is FutureAccount and stays as it is.
func OpenFunds(ctx context.Context, path string, window int64) (*Funds, error) {
	f := &Funds{path: path, window: window}
	if err := f.Refresh(); err == nil {
		return f, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return f, f.append(ctx, func(*fundsState) (fundsOp, bool, error) { return fundsOp{}, false, nil })
}

// Refresh takes up what other processes appended.
func (f *Funds) Refresh() error {
	s := newFundsState(f.window)
	if err := lines.ReadFile(f.path, fundsFormat, s.take); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = *s
	return nil
}

// Balance returns what an account held at the last Refresh or append. It is below zero when its last window cost more than
// it held.
func (f *Funds) Balance(hotkey string) money.Pico {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.balance[hotkey]
}

// Credit adds to an account. id names the payment: the same credit again changes nothing, another one of the id is SaidElse.
func (f *Funds) Credit(ctx context.Context, id, hotkey string, amount money.Pico) error {
	o := fundsOp{Op: opCredit, ID: id, Hotkey: hotkey, Amount: amount}
	return f.append(ctx, func(s *fundsState) (fundsOp, bool, error) {
		past, there := s.credits[id]
		if there && past != o {
			return o, false, SaidElse.With(fault.Str("id", id))
		}
		return o, !there, nil
	})
}

// Settle takes off an account what a window cost it. The same settlement again changes nothing, another one of the window and
// account is SaidElse.
func (f *Funds) Settle(ctx context.Context, window int64, hotkey string, amount money.Pico) error {
	o := fundsOp{Op: opSettle, Window: window, Hotkey: hotkey, Amount: amount}
	return f.append(ctx, func(s *fundsState) (fundsOp, bool, error) {
		past, there := s.settled[settlement{window, hotkey}]
		if there && past != amount {
			return o, false, SaidElse.With(fault.Int("window", window), fault.Str("hotkey", hotkey))
		}
		return o, !there, nil
	})
}

// How long an append waits for a process that holds the file, and how often it looks.
const (
	lockWait = 10 * time.Second
	lockLook = 20 * time.Millisecond
)

// append takes the file, reads it, and appends what decide says, if it says so.
func (f *Funds) append(ctx context.Context, decide func(*fundsState) (fundsOp, bool, error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := newFundsState(f.window)
	file, err := openWaiting(ctx, f.path, func() func(int64, []byte) error {
		s = newFundsState(f.window) // of what is read at last
		return s.take
	})
	if err != nil {
		return err
	}
	if err := s.write(file, decide); err != nil {
		return errors.Join(err, file.Close())
	}
	f.state = *s
	return file.Close()
}

// write appends what decide says, unless it could not be read again.
func (s *fundsState) write(file *lines.File, decide func(*fundsState) (fundsOp, bool, error)) error {
	o, add, err := decide(s)
	if err != nil || !add {
		return err
	}
	if err := s.apply(o); err != nil {
		return err
	}
	payload, err := o.payload()
	if err != nil {
		return err
	}
	return file.Write(payload)
}

// openWaiting opens the file, waiting while another process holds it.
func openWaiting(ctx context.Context, path string, each func() func(int64, []byte) error) (*lines.File, error) {
	late := time.NewTimer(lockWait)
	defer late.Stop()
	look := time.NewTicker(lockLook)
	defer look.Stop()
	for {
		file, err := lines.Open(path, fundsFormat, each())
		if fault.Of(err) != run.Locked {
			return file, err
		}
		select {
		case <-look.C:
		case <-late.C:
			return nil, err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func newFundsState(window int64) *fundsState {
	return &fundsState{
		balance: map[string]money.Pico{}, credits: map[string]fundsOp{}, settled: map[settlement]money.Pico{}, window: window,
	}
}

func (s *fundsState) take(_ int64, payload []byte) error {
	var o fundsOp
	if err := canon.Strict(payload, &o); err != nil {
		return BadLine.Because(err)
	}
	return s.apply(o)
}

// apply takes up one line, written or to be written.
func (s *fundsState) apply(o fundsOp) error {
	if name.CheckID(o.Hotkey) != name.Sound || o.Op == opCredit && name.CheckID(o.ID) != name.Sound {
		return BadName.With(fault.Str("hotkey", o.Hotkey), fault.Str("id", o.ID))
	}
	change := o.Amount
	switch o.Op {
	case opCredit:
		if _, there := s.credits[o.ID]; there {
			return BadLine.With(fault.Str("id", o.ID))
		}
		if o.Amount <= 0 {
			return BadAmount.With(fault.Str("dollars", o.Amount.String()))
		}
		s.credits[o.ID] = o
	case opSettle:
		key := settlement{o.Window, o.Hotkey}
		if _, there := s.settled[key]; there || o.Window < 0 {
			return BadLine.With(fault.Int("window", o.Window))
		}
		if o.Window > s.window {
			return FutureAccount.With(fault.Int("settled", o.Window), fault.Int("run", s.window))
		}
		if o.Amount < 0 {
			return BadAmount.With(fault.Str("dollars", o.Amount.String()))
		}
		s.settled[key], change = o.Amount, -o.Amount
	default:
		return BadLine.With(fault.Str("op", o.Op))
	}
	sum, err := s.balance[o.Hotkey].Add(change)
	if err != nil {
		return BadAmount.Because(err)
	}
	s.balance[o.Hotkey] = sum
	return nil
}
