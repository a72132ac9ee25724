package chain

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"assay/core/canon"
	"assay/core/fault"
	"assay/core/ss58"
)

// The heads of the two signals.
const (
	readyHead    = "r2ready:v1:"
	scheduleHead = "schedule:v1:"
)

// Digest is a SHA-256 digest.
type Digest = [sha256.Size]byte

// Ready is a miner's word that an artifact lies in the bucket.
type Ready struct {
	Registration Digest // RegistrationID of who committed
	Manifest     Digest // SHA-256 of the manifest's bytes
}

// ReadySignal returns "r2ready:v1:" and 86 base64url characters: registration, then manifest.
func ReadySignal(r Ready) string {
	return readyHead + base64.RawURLEncoding.EncodeToString(append(r.Registration[:], r.Manifest[:]...))
}

// ParseReady reads exactly what ReadySignal writes; anything else is no submission.
func ParseReady(signal string) (Ready, error) {
	text, ok := strings.CutPrefix(signal, readyHead)
	b, err := base64.RawURLEncoding.DecodeString(text)
	var r Ready
	if !ok || err != nil || len(b) != len(r.Registration)+len(r.Manifest) {
		return Ready{}, BadSignal.With(fault.Str("signal", signal)).Because(err)
	}
	copy(r.Registration[:], b)
	copy(r.Manifest[:], b[len(r.Registration):])
	if ReadySignal(r) != signal { // line ends inside, or bits behind the last byte
		return Ready{}, BadSignal.With(fault.Str("signal", signal))
	}
	return r, nil
}

// ScheduleSignal returns "schedule:v1:" and the root of a schedule's manifest as 64 hexadecimal digits.
func ScheduleSignal(root Digest) string { return scheduleHead + hex.EncodeToString(root[:]) }

// ParseSchedule reads exactly what ScheduleSignal writes.
func ParseSchedule(signal string) (Digest, error) {
	text, ok := strings.CutPrefix(signal, scheduleHead)
	b, err := hex.DecodeString(text)
	var root Digest
	if !ok || err != nil || len(b) != len(root) {
		return Digest{}, BadSignal.With(fault.Str("signal", signal)).Because(err)
	}
	copy(root[:], b)
	if ScheduleSignal(root) != signal {
		return Digest{}, BadSignal.With(fault.Str("signal", signal))
	}
	return root, nil
}

// RegistrationID names one registration of a hotkey: registering again gives another. It is the SHA-256 of
// "v3-registration-v1", a zero byte and the canonical JSON of {hotkey, netuid, registration_block, uid}.
func RegistrationID(netuid int, n Neuron) (Digest, error) {
	_, err := ss58.Decode(n.Hotkey)
	if err != nil || n.Registered <= 0 || n.UID < 0 || n.UID > MaxUID || netuid < 0 || netuid > MaxUID {
		return Digest{}, BadIdentity.With(fault.Str("hotkey", n.Hotkey), fault.Int("uid", int64(n.UID)), fault.Int("registered", n.Registered)).Because(err)
	}
	record, err := canon.ASCII(canon.Object{
		"hotkey": n.Hotkey, "netuid": netuid, "registration_block": n.Registered, "uid": n.UID,
	})
	if err != nil {
		return Digest{}, BadIdentity.Because(err)
	}
	return sha256.Sum256(append([]byte("v3-registration-v1\x00"), record...)), nil
}

// Calendar divides the chain into windows. Window 1 opens at the genesis.
type Calendar struct {
	Genesis int64 // block that opens window 1
	Blocks  int64 // blocks of one window
}

// Window returns the number, from 1, of the window that a block lies in: (block - genesis) / blocks + 1.
func (c Calendar) Window(block int64) (int64, error) {
	if c.Blocks <= 0 || c.Genesis < 0 || block < c.Genesis {
		return 0, BadCalendar.With(fault.Int("block", block), fault.Int("genesis", c.Genesis), fault.Int("window_blocks", c.Blocks))
	}
	return (block-c.Genesis)/c.Blocks + 1, nil
}

// Opens returns the block that opens a window: the one whose hash is the window's nonce.
func (c Calendar) Opens(window int64) (int64, error) {
	if c.Blocks <= 0 || c.Genesis < 0 || window < 1 || window-1 > (1<<62-c.Genesis)/c.Blocks {
		return 0, BadCalendar.With(fault.Int("window", window), fault.Int("genesis", c.Genesis), fault.Int("window_blocks", c.Blocks))
	}
	return c.Genesis + (window-1)*c.Blocks, nil
}
