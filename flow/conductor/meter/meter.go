// Package meter pays what the arms of a window use: it holds room before a call, writes down what the call cost before the
// answer is handed on, and signs a receipt for it.
//
// Invariants:
//   - What a call gave, and what it cost, is on disk before anybody sees the answer; a call on record is never made again.
//   - Together the holds of an account never exceed what it may spend. A call may cost more than its hold; from then on nothing goes on.
//   - A refusal says nothing about a model: it costs nothing and is no outcome. Money that others merely hold is no refusal.
//   - What an account may spend in a window is fixed when it is first bound; a restart leaves what is left.
//   - An arm's provider key is in nothing that is written or handed on.
//
// Specification: docs/spec/metering.md.
package meter

import (
	"errors"
	"os"
	"sync"
	"time"

	"assay/conductor/outcome"
	"assay/conductor/receipt"
	"assay/core/fault"
	"assay/core/limit"
	"assay/core/money"
	"assay/core/name"
	"assay/core/secret"
	"assay/core/sign"
	"assay/run/lines"
)

// The refusals of this room.
var (
	Congested     = fault.NewCode("meter.congested", fault.Unready, "the account's money is held by other calls under way: try again when they have ended")
	Closed        = fault.NewCode("meter.closed", fault.NotAllowed, "the arm is closed: it makes no further calls")
	UnderWay      = fault.NewCode("meter.under_way", fault.Conflict, "a call of this id is under way")
	OtherKind     = fault.NewCode("meter.other_kind", fault.Conflict, "the id is on record as a call and is asked as a replay, or the other way round")
	BoundElse     = fault.NewCode("meter.bound_otherwise", fault.Conflict, "the arm was bound to another hotkey or another account")
	OtherWindow   = fault.NewCode("meter.other_window", fault.Conflict, "the meter's file belongs to another window or to another gateway key")
	FutureAccount = fault.NewCode("meter.future_account", fault.Conflict, "an account journal from the future: a later window than the one that is run is settled in it")
	BadLine       = fault.NewCode("meter.bad_line", fault.Uncertain, "a line of the file is none that a meter writes")
	BadAmount     = fault.NewCode("meter.bad_amount", fault.Invalid, "a credit is above zero, a settlement and a limit not below, and all within the range of accounts")
	BadName       = fault.NewCode("meter.bad_name", fault.Invalid, "an account and a credit are named without blanks, in 1 to 256 bytes")
	SaidElse      = fault.NewCode("meter.said_otherwise", fault.Conflict, "a credit of this id, or a settlement of this window and account, stands with another amount")
)

// NoAllowance is what a call or replay is refused with when the account's money is gone.
const NoAllowance = "no allowance left"

// PriceWait is how long a call waits for money that others hold.
const PriceWait = 30 * time.Second

// format is the name of a window meter's file.
const format = "assay/meter/1"

// Settings are what a window's meter is opened with.
type Settings struct {
	Window int64
	Signer sign.Signer // the gateway's
	// RowDigest returns the digest of an outcome row that a replay's receipt names.
	RowDigest func(k outcome.Key, r outcome.Row) (string, error)
	// Idempotent says that workers answer a call that is sent again under its id as before, unpaid. Then holds need not be written
	// down. Else each is on disk before its call is sent, and counts as spent until the call's result is on record.
	Idempotent bool
}

// Window meters the arms of one window in one file. It is safe for concurrent use.
type Window struct {
	set  Settings
	path string
	file *lines.File
	read *os.File // the same, for what was on record when it was opened

	mu       sync.Mutex
	changed  chan struct{} // closed and made anew when money comes free
	prices   map[string]money.Pico
	accounts map[accountID]*account
	arms     map[string]*Arm
	order    []string // duels in the order in which they were bound
}

// Binding says what an arm may spend, and who pays it.
type Binding struct {
	Duel    string     // "w<window>-<arm>-<attempt>", see receipt.Duel
	Hotkey  string     // whose arm it is, as receipts name it; "" for a policy
	Payer   string     // hotkey of the account that pays; "" for the owner
	Limit   money.Pico // what the account may spend in this window; used when Limited and when it is the account's first binding
	Limited bool
	OwnKey  bool // paid with the miner's own provider key: bounded by Limit and never settled with the owner
}

// accountID names what is spent together: attempts of an arm share it, so that a restart finds what is left.
type accountID struct {
	payer  string
	ownKey bool
}

type account struct {
	ledger  *limit.Ledger
	limit   money.Pico
	limited bool
	owed    money.Pico // settled spend, as the ledger knows it
	lost    money.Pico // part of the held money that belongs to calls whose result is not known
}

func (a *account) bound() limit.Limits {
	if a.limited {
		return limit.MoneyOnly(a.limit)
	}
	return limit.MoneyOnly(limit.Unlimited)
}

// heldByOthers reports whether calls under way hold money that may come back.
func (a *account) heldByOthers() bool {
	return a.ledger.Snapshot().Spent.Money-a.ledger.Spent().Money > a.lost
}

// Open opens the meter of a window at path, or creates it. What it holds is taken up: balances are those before. A file
// of another window or another gateway key is OtherWindow, a damaged one lines.Damaged or BadLine; both stay as they are.
func Open(path string, s Settings) (*Window, error) {
	w := &Window{
		set: s, path: path, changed: make(chan struct{}), prices: map[string]money.Pico{},
		accounts: map[accountID]*account{}, arms: map[string]*Arm{},
	}
	past := &replayer{window: w, open: map[string]hold{}, at: lines.Start(format)}
	file, err := lines.Open(path, format, past.take)
	if err != nil {
		return nil, err
	}
	w.file = file
	if w.read, err = os.Open(path); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if !past.header {
		if err := w.write(op{Op: opWindow, Window: s.Window, Gateway: s.Signer.Public().String()}); err != nil {
			_ = file.Close()
			return nil, err
		}
	}
	past.finish()
	return w, nil
}

// Close lets the file go. Calls under way end with an error.
func (w *Window) Close() error { return errors.Join(w.file.Close(), w.read.Close()) }

// write appends one line and returns when it is on disk.
func (w *Window) write(o op) error {
	payload, err := o.payload()
	if err != nil {
		return err
	}
	return w.file.Write(payload)
}

// Bind opens an arm, or finds it again with what is left. The redactor, which may be nil, hides the arm's provider key in
// everything that a worker says.
func (w *Window) Bind(b Binding, r *secret.Redactor) (*Arm, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a := w.arms[b.Duel]; a != nil {
		if a.Hotkey != b.Hotkey || a.Payer != b.Payer || a.OwnKey != b.OwnKey {
			return nil, BoundElse.With(fault.Str("duel", b.Duel))
		}
		a.redactor = r
		return a, nil
	}
	if err := w.check(b); err != nil {
		return nil, err
	}
	if acc := w.accounts[accountID{b.Payer, b.OwnKey}]; acc != nil {
		b.Limit, b.Limited = acc.limit, acc.limited // what was bound first stands
	}
	if err := w.write(op{Op: opOpen, Duel: b.Duel, Hotkey: b.Hotkey, Payer: b.Payer, Limit: b.Limit, Limited: b.Limited, OwnKey: b.OwnKey}); err != nil {
		return nil, err
	}
	a := w.bind(b)
	a.redactor = r
	return a, nil
}

// check refuses a binding that could not be read again.
func (w *Window) check(b Binding) error {
	d, err := receipt.ParseDuel(b.Duel)
	switch {
	case err != nil:
		return err
	case d.Window != w.set.Window:
		return OtherWindow.With(fault.Str("duel", b.Duel))
	case !isAccount(b.Hotkey):
		return BadName.With(fault.Str("hotkey", b.Hotkey))
	case !isAccount(b.Payer):
		return BadName.With(fault.Str("payer", b.Payer))
	case b.Limit < 0:
		return BadAmount.With(fault.Str("dollars", b.Limit.String()))
	}
	return nil
}

// isAccount reports whether s can name a miner's account, or is the owner's "".
func isAccount(s string) bool { return s == "" || name.CheckID(s) == name.Sound }

// bind enters a checked binding. w.mu is held, or nobody else knows w.
func (w *Window) bind(b Binding) *Arm {
	id := accountID{b.Payer, b.OwnKey}
	acc := w.accounts[id]
	if acc == nil {
		acc = &account{limit: b.Limit, limited: b.Limited}
		acc.ledger = limit.Open(acc.bound())
		w.accounts[id] = acc
	}
	a := &Arm{
		Binding: b, window: w, account: acc, known: map[string]*past{}, underWay: map[string]bool{},
		charged: map[string]bool{}, sent: map[string]bool{}, lost: map[string]*held{},
	}
	w.arms[b.Duel] = a
	w.order = append(w.order, b.Duel)
	return a
}

// Duels returns the arms in the order in which they were bound.
func (w *Window) Duels() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.order...)
}

// Arm returns a bound arm, or nil.
func (w *Window) Arm(duel string) *Arm {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.arms[duel]
}

// Owed returns what each account of a miner has spent of the owner's money: what Funds.Settle takes off when the window ends.
func (w *Window) Owed() map[string]money.Pico {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]money.Pico{}
	for id, acc := range w.accounts {
		if id.payer != "" && !id.ownKey {
			out[id.payer] = acc.owed
		}
	}
	return out
}
