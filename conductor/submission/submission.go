// Package submission says what a miner hands in and when it is judged: the manifest of an artifact, and a window's queue.
//
// Invariants:
//   - A manifest has one spelling; its SHA-256 is what the chain's ready signal commits, so nothing in it changes afterwards.
//   - Only Parse and Seal make a Manifest whose signature was checked; the zero Manifest is refused by every consumer.
//   - No path of a manifest leaves its folder, stands twice, or takes a name that the bucket keeps for itself.
//   - The queue is a function of what the chain and the publications hold: a stranger computes the same places.
//   - What is committed at or behind the block that draws the slice is not judged on that slice.
//
// Specification: docs/spec/manifest.md.
package submission

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"assay/conductor"
	"assay/core/canon"
	"assay/core/digest"
	"assay/core/fault"
	"assay/core/sign"
	"assay/core/ss58"
)

// Digest is a SHA-256 digest.
type Digest = [sha256.Size]byte

// Bounds of a manifest.
const (
	MaxFiles    = 1024    // as many as admission looks at
	MaxManifest = 1 << 20 // bytes
	MaxPath     = 512     // bytes of one path
)

// Scheme is the only signature scheme.
const Scheme = "ed25519"

// File is one file of an artifact.
type File struct {
	Path   string // slash-separated, relative
	Size   int64  // bytes
	SHA256 Digest
}

// Draft is what a miner says of an artifact before it is signed.
type Draft struct {
	Registration Digest // chain.RegistrationID of the hotkey
	Hotkey       string // ss58 of the ed25519 key that signs
	Files        []File // in any order
	ModelName    string // "" makes protocol version 1, a name version 2
}

// Manifest is a checked and signed draft. Make it with Seal or Parse.
type Manifest struct {
	draft Draft
	tree  Digest
	text  []byte
}

// Registration returns the registration that the artifact is submitted under.
func (m *Manifest) Registration() Digest { return m.draft.Registration }

// Hotkey returns the address that signed.
func (m *Manifest) Hotkey() string { return m.draft.Hotkey }

// ModelName returns the artifact's public name, "" for none.
func (m *Manifest) ModelName() string { return m.draft.ModelName }

// Files returns the files in the order of their paths. The list is not to be changed.
func (m *Manifest) Files() []File { return m.draft.Files }

// Tree returns the tree digest.
func (m *Manifest) Tree() Digest { return m.tree }

// Bytes returns the manifest's only spelling, which is not to be changed. It is empty for the zero Manifest.
func (m *Manifest) Bytes() []byte { return m.text }

// Digest returns the SHA-256 of Bytes: the artifact's identity.
func (m *Manifest) Digest() Digest { return sha256.Sum256(m.text) }

// Size returns the bytes of all files.
func (m *Manifest) Size() int64 {
	var n int64
	for _, f := range m.draft.Files {
		n += f.Size
	}
	return n
}

// Seal checks and signs a draft.
func Seal(d Draft, s sign.Signer) (*Manifest, error) {
	if d.Hotkey != ss58.Encode(s.Public()) {
		return nil, bad("the key that signs is not the hotkey's")
	}
	d.Files = append([]File(nil), d.Files...)
	if err := d.check(); err != nil {
		return nil, err
	}
	body, err := canon.ASCII(d.record())
	if err != nil {
		return nil, conductor.BadManifest.Because(err)
	}
	sig, err := s.Sign(body)
	if err != nil {
		return nil, sign.SignerFailed.Because(err)
	}
	if !sign.Verify(s.Public(), body, sig) {
		return nil, sign.SignerFailed.Because(errors.New("its signature does not verify under its own key"))
	}
	text, err := d.encode(sig)
	if err == nil && len(text) > MaxManifest {
		err = conductor.BadManifest.With(fault.Int("bytes", int64(len(text))), fault.Int("max_bytes", MaxManifest))
	}
	if err != nil {
		return nil, err
	}
	return &Manifest{draft: d, tree: TreeDigest(d.Files), text: text}, nil
}

// Parse reads exactly what Seal writes, and checks the signature by the hotkey that the manifest names. Whether that hotkey may
// submit here is the caller's question.
func Parse(text []byte) (*Manifest, error) {
	if len(text) > MaxManifest {
		return nil, conductor.BadManifest.With(fault.Int("bytes", int64(len(text))), fault.Int("max_bytes", MaxManifest))
	}
	var w wire
	if err := canon.Strict(text, &w); err != nil {
		return nil, conductor.BadManifest.Because(err)
	}
	d, sig, err := w.draft()
	if err != nil {
		return nil, err
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	again, err := d.encode(sig)
	if err != nil {
		return nil, err
	}
	if string(again) != string(text) {
		return nil, bad("the text is not spelled as it would be written, or its digests and versions do not belong to its files")
	}
	key, err := ss58.Decode(d.Hotkey)
	if err != nil {
		return nil, conductor.BadManifest.Because(err)
	}
	body, err := canon.ASCII(d.record())
	if err != nil {
		return nil, conductor.BadManifest.Because(err)
	}
	if !sign.Verify(key, body, sig) {
		return nil, conductor.ManifestForged.With(fault.Str("hotkey", d.Hotkey))
	}
	return &Manifest{draft: d, tree: TreeDigest(d.Files), text: again}, nil
}

func bad(defect string) error { return conductor.BadManifest.With(fault.Str("defect", defect)) }

// wire is the manifest's JSON text.
type wire struct {
	Files []struct {
		Path   string `json:"path"`
		SHA256 string `json:"sha256"`
		Size   int64  `json:"size"`
	} `json:"files"`
	Hotkey       string `json:"hotkey"`
	ModelName    string `json:"model_name"`
	Version      int    `json:"protocol_version"`
	Registration string `json:"registration_id"`
	Signature    string `json:"signature"`
	Scheme       string `json:"signature_scheme"`
	Tree         string `json:"tree_digest"`
}

// draft reads the parts. What it does not look at, the comparison with the only spelling does.
func (w *wire) draft() (d Draft, sig []byte, err error) {
	d = Draft{Hotkey: w.Hotkey, ModelName: w.ModelName}
	if len(w.Files) > MaxFiles {
		return d, nil, conductor.BadManifest.With(fault.Int("files", int64(len(w.Files))), fault.Int("max_files", MaxFiles))
	}
	registration, err := digest.Parse[Draft](w.Registration)
	if err != nil {
		return d, nil, conductor.BadManifest.Because(err).With(fault.Str("member", "registration_id"))
	}
	d.Registration = Digest(registration)
	for _, f := range w.Files {
		sum, err := digest.Parse[File](f.SHA256)
		if err != nil {
			return d, nil, conductor.BadManifest.Because(err).With(fault.Str("path", f.Path))
		}
		d.Files = append(d.Files, File{f.Path, f.Size, Digest(sum)})
	}
	if sig, err = hex.DecodeString(w.Signature); err != nil {
		return d, nil, conductor.BadManifest.Because(err).With(fault.Str("member", "signature"))
	}
	return d, sig, nil
}

// record returns what is signed: every member but the signature.
func (d *Draft) record() canon.Object {
	files := make([]any, len(d.Files))
	for i, f := range d.Files {
		files[i] = canon.Object{"path": f.Path, "size": f.Size, "sha256": hex.EncodeToString(f.SHA256[:])}
	}
	tree := TreeDigest(d.Files)
	o := canon.Object{
		"files": files, "hotkey": d.Hotkey, "protocol_version": 1, "registration_id": hex.EncodeToString(d.Registration[:]),
		"signature_scheme": Scheme, "tree_digest": hex.EncodeToString(tree[:]),
	}
	if d.ModelName != "" {
		o["model_name"], o["protocol_version"] = d.ModelName, 2
	}
	return o
}

func (d *Draft) encode(sig []byte) ([]byte, error) {
	o := d.record()
	o["signature"] = hex.EncodeToString(sig)
	text, err := canon.ASCII(o)
	if err != nil {
		return nil, conductor.BadManifest.Because(err)
	}
	return text, nil
}

// check sorts the files and refuses what no manifest may say.
func (d *Draft) check() error {
	if d.ModelName != "" {
		if err := CheckName(d.ModelName); err != nil {
			return err
		}
	}
	return checkFiles(d.Files)
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{2,39}$`)

// reservedName begins the names of the owner's own policies.
const reservedName = "thirtyspokes-"

// CheckName refuses what is no public name of an artifact: 3 to 40 characters of a-z, 0-9, dot, dash and underscore that begin
// with a letter or digit, and not with the owner's prefix.
func CheckName(name string) error {
	if !nameForm.MatchString(name) || strings.HasPrefix(name, reservedName) {
		return conductor.BadModelName.With(fault.Str("name", name))
	}
	return nil
}

// TreeDigest returns the digest of files in the order of their paths: over each file's path, a zero byte, its size in decimal
// digits, a zero byte and the 32 bytes of its SHA-256.
func TreeDigest(files []File) Digest {
	h := sha256.New()
	var line []byte
	for _, f := range files {
		line = append(append(line[:0], f.Path...), 0)
		line = append(strconv.AppendInt(line, f.Size, 10), 0)
		h.Write(append(line, f.SHA256[:]...))
	}
	return Digest(h.Sum(nil))
}

// maxSize is the most bytes that all files together may have: sums of sizes then never overflow.
const maxSize = math.MaxInt64 / 2
