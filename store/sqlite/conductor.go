package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"assay/conductor/submission"
	"assay/core/fault"
	"assay/store"
)

// querier is what statements run on: the writing connection, or a reader's transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// session is one transaction.
type session struct {
	ctx context.Context
	q   querier
}

func records(ctx context.Context, q querier) store.Tx {
	s := &session{ctx, q}
	return store.Tx{Conductor: store.Conductor{
		Submissions: submissions{s}, Windows: windows{s}, Shots: shots{s}, Coronations: coronations{s},
	}}
}

// exec runs a statement and returns the rows that it changed.
func (s *session) exec(query string, args ...any) (int64, error) {
	r, err := s.q.ExecContext(s.ctx, query, args...)
	if err != nil {
		return 0, wrap(s.ctx, err)
	}
	n, err := r.RowsAffected()
	return n, wrap(s.ctx, err)
}

// one reads one row: false where there is none.
func (s *session) one(into []any, query string, args ...any) (bool, error) {
	err := s.q.QueryRowContext(s.ctx, query, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, wrap(s.ctx, err)
}

// list reads every row by scan.
func list[T any](s *session, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := s.q.QueryContext(s.ctx, query, args...)
	if err != nil {
		return nil, wrap(s.ctx, err)
	}
	defer func() { _ = rows.Close() }() // its error is rows.Err's
	out := []T{}
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, wrap(s.ctx, err)
		}
		out = append(out, v)
	}
	return out, wrap(s.ctx, rows.Err())
}

type submissions struct{ *session }

func (s submissions) Put(c submission.Commitment) error {
	if c.Hotkey == "" || c.Block < 0 {
		return store.Invalid.With(fault.Str("hotkey", c.Hotkey), fault.Int("block", c.Block))
	}
	n, err := s.exec(`INSERT INTO conductor_submission (hotkey, block, registration, manifest) VALUES ($1, $2, $3, $4)
		ON CONFLICT (hotkey) DO NOTHING`, c.Hotkey, c.Block, hex.EncodeToString(c.Registration[:]), hex.EncodeToString(c.Manifest[:]))
	if err != nil || n == 1 {
		return err
	}
	if have, err := s.Get(c.Hotkey); err != nil || have != c {
		return errors.Join(err, store.Conflict.With(fault.Str("hotkey", c.Hotkey), fault.Int("block", have.Block)))
	}
	return nil
}

const submissionColumns = "SELECT hotkey, block, registration, manifest FROM conductor_submission "

func (s submissions) Get(hotkey string) (submission.Commitment, error) {
	found, err := list(s.session, scanSubmission, submissionColumns+"WHERE hotkey = $1", hotkey)
	if err == nil && len(found) == 0 {
		err = store.NotFound.With(fault.Str("hotkey", hotkey))
	}
	if err != nil {
		return submission.Commitment{}, err
	}
	return found[0], nil
}

func (s submissions) List() ([]submission.Commitment, error) {
	return list(s.session, scanSubmission, submissionColumns+"ORDER BY block, hotkey")
}

func scanSubmission(rows *sql.Rows) (c submission.Commitment, err error) {
	var registration, manifest string
	if err = rows.Scan(&c.Hotkey, &c.Block, &registration, &manifest); err == nil {
		err = errors.Join(scanDigest(&c.Registration, registration), scanDigest(&c.Manifest, manifest))
	}
	return c, err
}

func scanDigest(into *submission.Digest, text string) error {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(into) {
		return fmt.Errorf("a digest of the database is %q", text)
	}
	copy(into[:], b)
	return nil
}

type windows struct{ *session }

func (s windows) Open(number, block int64, nonce string) error {
	if number < 1 || block < 0 || nonce == "" {
		return store.Invalid.With(fault.Int("window", number), fault.Int("block", block), fault.Str("nonce", nonce))
	}
	n, err := s.exec("INSERT INTO conductor_window (number, block, nonce, phase) VALUES ($1, $2, $3, $4) ON CONFLICT (number) DO NOTHING",
		number, block, nonce, int64(store.Opened))
	if err != nil || n == 1 {
		return err
	}
	have, err := s.Get(number)
	if err == nil && (have.Block != block || have.Nonce != nonce) {
		err = store.Conflict.With(fault.Int("window", number), fault.Int("block", have.Block), fault.Str("nonce", have.Nonce))
	}
	return err
}

func (s windows) Advance(number int64, to store.Phase) error {
	have, err := s.Get(number)
	switch {
	case err != nil:
		return err
	case to.String() == "":
		return store.Invalid.With(fault.Int("window", number), fault.Int("phase", int64(to)))
	case to <= have.Phase:
		return nil
	case to != have.Phase+1:
		return store.Conflict.With(fault.Int("window", number), fault.Str("phase", have.Phase.String()), fault.Str("asked", to.String()))
	}
	_, err = s.exec("UPDATE conductor_window SET phase = $2 WHERE number = $1", number, int64(to))
	return err
}

const windowColumns = "SELECT number, block, nonce, phase FROM conductor_window "

func (s windows) Get(number int64) (w store.Window, err error) {
	found, err := s.one([]any{&w.Number, &w.Block, &w.Nonce, &w.Phase}, windowColumns+"WHERE number = $1", number)
	if err == nil && !found {
		err = store.NotFound.With(fault.Int("window", number))
	}
	return w, err
}

func (s windows) List(below store.Phase) ([]store.Window, error) {
	return list(s.session, func(rows *sql.Rows) (w store.Window, err error) {
		return w, rows.Scan(&w.Number, &w.Block, &w.Nonce, &w.Phase)
	}, windowColumns+"WHERE phase < $1 ORDER BY number", int64(below))
}

type shots struct{ *session }

func (s shots) Judge(shot store.Shot) error {
	switch shot.Status {
	case submission.Duelled, submission.Refused, submission.Skipped, submission.Deferred, submission.Unqueued:
	default:
		return store.Invalid.With(fault.Str("status", string(shot.Status)))
	}
	if err := s.known(shot); err != nil {
		return err
	}
	var have store.Shot
	found, err := s.one([]any{&have.Hotkey, &have.Window, &have.Status, &have.Detail}, shotColumns+"WHERE hotkey = $1 AND window = $2", shot.Hotkey, shot.Window)
	if err != nil || found && have == shot {
		return err
	}
	spent, err := s.Spent(shot.Hotkey)
	if err != nil {
		return err
	}
	if found || spent != 0 {
		return store.Conflict.With(fault.Str("hotkey", shot.Hotkey), fault.Int("window", max(spent, have.Window)), fault.Str("status", string(have.Status)))
	}
	_, err = s.exec("INSERT INTO conductor_shot (hotkey, window, status, detail) VALUES ($1, $2, $3, $4)", shot.Hotkey, shot.Window, string(shot.Status), shot.Detail)
	return err
}

// known refuses a shot whose submission or window is not there, before the database does so in words of its own.
func (s shots) known(shot store.Shot) error {
	if _, err := submissions(s).Get(shot.Hotkey); err != nil {
		return err
	}
	_, err := windows(s).Get(shot.Window)
	return err
}

const shotColumns = "SELECT hotkey, window, status, detail FROM conductor_shot "

func (s shots) Spent(hotkey string) (window int64, err error) {
	_, err = s.one([]any{&window}, "SELECT window FROM conductor_shot WHERE hotkey = $1 AND status IN ('duelled', 'refused')", hotkey)
	return window, err
}

func (s shots) Judged() ([]string, error) {
	return list(s.session, func(rows *sql.Rows) (h string, err error) { return h, rows.Scan(&h) },
		"SELECT hotkey FROM conductor_shot WHERE status IN ('duelled', 'refused') ORDER BY hotkey")
}

func (s shots) OfWindow(number int64) ([]store.Shot, error) {
	return list(s.session, func(rows *sql.Rows) (h store.Shot, err error) {
		return h, rows.Scan(&h.Hotkey, &h.Window, &h.Status, &h.Detail)
	}, shotColumns+"WHERE window = $1 ORDER BY hotkey", number)
}

type coronations struct{ *session }

func (s coronations) Append(c store.Coronation) error {
	if _, err := submissions(s).Get(c.Hotkey); err != nil {
		return err
	}
	if _, err := windows(s).Get(c.Window); err != nil {
		return err
	}
	var last store.Coronation
	found, err := s.one([]any{&last.Window, &last.Hotkey}, "SELECT window, hotkey FROM conductor_coronation ORDER BY window DESC LIMIT 1")
	if err != nil || found && last == c {
		return err
	}
	if found && last.Window >= c.Window {
		return store.Conflict.With(fault.Int("window", last.Window), fault.Str("hotkey", last.Hotkey))
	}
	_, err = s.exec("INSERT INTO conductor_coronation (window, hotkey) VALUES ($1, $2)", c.Window, c.Hotkey)
	return err
}

func (s coronations) List() ([]store.Coronation, error) {
	return list(s.session, func(rows *sql.Rows) (c store.Coronation, err error) {
		return c, rows.Scan(&c.Window, &c.Hotkey)
	}, "SELECT window, hotkey FROM conductor_coronation ORDER BY window")
}
