// Package keys seals a miner's provider key for the owner, and opens it for the one arm that it pays.
//
// Invariants:
//   - A key is opened from a funding.Verified only, so its record's signature was checked before.
//   - Neither the owner's identity nor an opened key has a textual way out of here but secret.Value.
//   - An identity file that others may read or change is refused, and no file is ever overwritten.
//
// Specification: docs/spec/funding.md.
package keys

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"assay/conductor/funding"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/secret"
	"assay/core/sign"
	"assay/core/ss58"
	"assay/run"
)

// The refusals of this room.
var (
	BadIdentity  = fault.NewCode("keys.bad_identity", fault.Invalid, "an identity file holds one age X25519 identity")
	OpenIdentity = fault.NewCode("keys.identity_mode", fault.Invalid, "an identity file is a regular file that only its owner may read: chmod 600")
	Exists       = fault.NewCode("keys.identity_exists", fault.Conflict, "the identity file exists already: another identity could not open what was sealed for this one")
	BadRecipient = fault.NewCode("keys.bad_recipient", fault.Invalid, "a recipient is one age X25519 recipient, age1…")
	CannotOpen   = fault.NewCode("keys.cannot_open", fault.Forbidden, "the sealed key cannot be opened with this identity: it was sealed for another recipient or is damaged")
)

// maxIdentity is the longest identity file in bytes.
const maxIdentity = 4 << 10

// Identity is the owner's: what was sealed for its recipient, it opens. Make it with Create or Load.
type Identity struct {
	recipient string
	decrypt   func(io.Reader) (io.Reader, error) // a closure, so that no verb of fmt reaches the secret
}

// Recipient returns what miners seal for, "age1…".
func (i *Identity) Recipient() string { return i.recipient }

func identityOf(x *age.X25519Identity) *Identity {
	return &Identity{x.Recipient().String(), func(src io.Reader) (io.Reader, error) { return age.Decrypt(src, x) }}
}

// Create makes an identity and writes it to a new file with mode 0600. A file that exists is refused.
func Create(path string) (*Identity, error) {
	x, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, fmt.Errorf("making an identity: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, Exists.With(fault.Str("file", path))
	}
	if err != nil {
		return nil, fmt.Errorf("creating the identity file: %w", err)
	}
	_, err = fmt.Fprintf(f, "# public key: %s\n%s\n", x.Recipient(), x)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = run.SyncDirectory(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("writing the identity file: %w", err), os.Remove(path))
	}
	return identityOf(x), nil
}

// Load reads an identity file, as Create or age-keygen writes it. Its mode must keep everybody else out.
func Load(path string) (*Identity, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // before it is opened: a pipe would wait for ever
		return nil, OpenIdentity.With(fault.Str("file", path))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the identity file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("opening the identity file: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return nil, OpenIdentity.With(fault.Str("file", path), fault.Str("mode", info.Mode().String()))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxIdentity+1))
	if err != nil {
		return nil, fmt.Errorf("reading the identity file: %w", err)
	}
	return parseIdentity(path, text)
}

// parseIdentity reads the text of an identity file. Causes are dropped: they quote lines of it.
func parseIdentity(path string, text []byte) (*Identity, error) {
	if len(text) > maxIdentity {
		return nil, BadIdentity.With(fault.Str("file", path))
	}
	all, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil || len(all) != 1 {
		return nil, BadIdentity.With(fault.Str("file", path))
	}
	x, ok := all[0].(*age.X25519Identity)
	if !ok {
		return nil, BadIdentity.With(fault.Str("file", path))
	}
	return identityOf(x), nil
}

// Funding is what a miner offers.
type Funding struct {
	Registration string     // registration id
	Cap          money.Pico // what the miner's arm may spend in a window
	Key          secret.Value
}

// Seal seals a provider key for the owner's recipient and returns the signed funding record, one line with its end. The
// record is the signer's hotkey's.
func Seal(recipient string, f Funding, hotkey sign.Signer) ([]byte, error) {
	to, err := age.ParseX25519Recipient(strings.TrimSpace(recipient))
	if err != nil {
		return nil, BadRecipient.With(fault.Str("recipient", recipient))
	}
	whose := funding.Expected{Hotkey: ss58.Encode(hotkey.Public()), Registration: f.Registration}
	plain, err := funding.AppendPlain(nil, whose, f.Key.Reveal())
	if err != nil {
		return nil, err
	}
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, to)
	if err != nil {
		return nil, fmt.Errorf("sealing the key: %w", err)
	}
	_, err = w.Write(plain)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("sealing the key: %w", err)
	}
	r, err := funding.Record{Hotkey: whose.Hotkey, Registration: whose.Registration, Cap: f.Cap, Ciphertext: sealed.Bytes()}.Sign(hotkey)
	if err != nil {
		return nil, err
	}
	return r.Line()
}

// Open unseals the key of a checked record. A text that this identity cannot open, or that was changed, is CannotOpen; one
// that was sealed for another record is conductor.FundingForeign. Give the key to the arm's client and to its redactor,
// and to nobody else.
func (i *Identity) Open(v funding.Verified) (secret.Value, error) {
	r := v.Record()
	src, err := i.decrypt(bytes.NewReader(r.Ciphertext))
	if err != nil {
		return secret.Value{}, CannotOpen.With(fault.Str("hotkey", r.Hotkey)).Because(err)
	}
	plain, err := io.ReadAll(io.LimitReader(src, funding.MaxCiphertext))
	if err != nil {
		return secret.Value{}, CannotOpen.With(fault.Str("hotkey", r.Hotkey)).Because(err)
	}
	key, err := funding.Plain(v, plain)
	if err != nil {
		return secret.Value{}, err
	}
	return secret.New(key), nil
}
