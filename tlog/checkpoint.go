package tlog

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"assay/core/fault"
	"assay/core/sign"
)

// Checkpoint says what a log held: its origin, its number of leaves and the root of its tree. Its text is three lines:
//
//	example.com/log
//	3
//	1Pksj7uJcg6ztVZ3x9fvrd/rENEaGoSguo8aIzN/qpU=
type Checkpoint struct {
	Origin string
	Size   int64
	Root   Hash
}

// Text returns the three lines, the bytes that are signed.
func (c Checkpoint) Text() string {
	return c.Origin + "\n" + strconv.FormatInt(c.Size, 10) + "\n" + c.Root.String() + "\n"
}

// Sign returns the checkpoint as a signed note. The key's name is the origin.
func (c Checkpoint) Sign(s sign.Signer) ([]byte, error) {
	v, err := NewVerifierKey(c.Origin, s.Public())
	if err != nil {
		return nil, err
	}
	if c.Size < 0 || c.Size > maxSize {
		return nil, BadCheckpoint.With(fault.Int("size", c.Size))
	}
	text, err := note.Sign(&note.Note{Text: c.Text()}, signer{v, s})
	if err != nil {
		return nil, sign.SignerFailed.Because(err)
	}
	if _, err := Open(text, v, Limits{}); err != nil { // a signer may be a program of somebody else
		return nil, sign.SignerFailed.Because(err)
	}
	return text, nil
}

// Limits bounds what is looked at of a checkpoint. A zero stands for the default.
type Limits struct {
	Bytes int // 65536 by default
	Lines int // signature lines, 64 by default and at most 100
}

const (
	defaultBytes = 64 << 10
	defaultLines = 64
	mostLines    = 100     // what x/mod takes
	maxSize      = 1 << 56 // leaves; no log is so long, and sums of sizes stay far from 63 bits
)

func (l Limits) filled() Limits {
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	if l.Lines <= 0 {
		l.Lines = defaultLines
	}
	l.Lines = min(l.Lines, mostLines)
	return l
}

// Cosignature is a further signature line of a checkpoint, by a key that is not the pinned one. It has not been verified.
type Cosignature struct {
	Name      string
	KeyID     uint32
	Signature []byte
}

// Signed is a checkpoint whose signature by the pinned key was verified. Only Open makes one; the zero Signed proves nothing.
type Signed struct {
	cp     Checkpoint
	note   string
	others []Cosignature
}

// Checkpoint returns what was signed.
func (s Signed) Checkpoint() Checkpoint { return s.cp }

// Note returns the bytes that were opened.
func (s Signed) Note() []byte { return []byte(s.note) }

// Cosignatures returns the other signature lines in their order, unverified, identical ones once.
func (s Signed) Cosignatures() []Cosignature { return s.others }

func (s Signed) check() error {
	if s.note == "" {
		return NoCheckpoint.With()
	}
	return nil
}

// Open verifies a checkpoint under a pinned key. The key's line is found by name and key id, wherever it stands; lines of other keys are
// kept and not verified. The origin must be the key's name and the three lines must have their only spelling.
func Open(text []byte, v VerifierKey, l Limits) (Signed, error) {
	l = l.filled()
	if len(text) == 0 || v.text == "" {
		return Signed{}, NoCheckpoint.With()
	}
	if len(text) > l.Bytes {
		return Signed{}, TooManyLines.With(fault.Int("bytes", int64(len(text))), fault.Int("limit", int64(l.Bytes)))
	}
	if n := bytes.Count(text, []byte("\n")) - 4; n > l.Lines {
		return Signed{}, TooManyLines.With(fault.Int("lines", int64(n)), fault.Int("limit", int64(l.Lines)))
	}
	n, err := note.Open(text, note.VerifierList(verifier{v}))
	if err != nil {
		return Signed{}, refusal(err)
	}
	c, err := parseText(n.Text)
	if err != nil {
		return Signed{}, err
	}
	if c.Origin != v.name {
		return Signed{}, OtherLog.With(fault.Str("origin", c.Origin), fault.Str("pinned", v.name))
	}
	s := Signed{cp: c, note: string(text)}
	for _, sig := range append(n.Sigs, n.UnverifiedSigs...) {
		raw, err := base64.StdEncoding.DecodeString(sig.Base64)
		if err != nil || base64.StdEncoding.EncodeToString(raw) != sig.Base64 {
			return Signed{}, BadCheckpoint.Because(errors.New("a signature has a second spelling")).With(fault.Str("key", sig.Name))
		}
		if sig.Name != v.name || sig.Hash != v.id {
			s.others = append(s.others, Cosignature{Name: sig.Name, KeyID: sig.Hash, Signature: raw[4:]})
		}
	}
	return s, nil
}

// refusal says what x/mod's refusal means here.
func refusal(err error) error {
	var bad *note.InvalidSignatureError
	var none *note.UnverifiedNoteError
	if errors.As(err, &bad) || errors.As(err, &none) {
		return NotSigned.Because(err)
	}
	return BadCheckpoint.Because(err)
}

// parseText reads the three lines.
func parseText(text string) (Checkpoint, error) {
	lines := strings.SplitN(text, "\n", 4)
	if len(lines) != 4 || lines[3] != "" {
		return Checkpoint{}, BadCheckpoint.Because(errors.New("the text is not three lines"))
	}
	size, err1 := strconv.ParseInt(lines[1], 10, 64)
	raw, err2 := base64.StdEncoding.DecodeString(lines[2])
	if err := errors.Join(err1, err2, checkName(lines[0])); err != nil {
		return Checkpoint{}, BadCheckpoint.Because(err)
	}
	if size < 0 || size > maxSize || len(raw) != HashSize {
		return Checkpoint{}, BadCheckpoint.With(fault.Int("size", size), fault.Int("root_bytes", int64(len(raw))))
	}
	c := Checkpoint{Origin: lines[0], Size: size, Root: Hash(raw)}
	if c.Text() != text {
		return Checkpoint{}, BadCheckpoint.Because(errors.New("the text has a second spelling"))
	}
	if size == 0 && c.Root != EmptyRoot() {
		return Checkpoint{}, BadCheckpoint.Because(errors.New("an empty log has another root"))
	}
	return c, nil
}
