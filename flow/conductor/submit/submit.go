// Package submit carries an artifact from a miner's disk to the owner's, and a winner from there to the public.
//
// Invariants:
//   - What is committed on the chain lies in the bucket before the commitment: files first, the manifest last, the signal behind it.
//   - No object is ever seen half-written, and nothing that was not hashed by the owner is ever judged.
//   - Whatever was cut off goes on when it is called again: objects whose size and digest are right are not sent a second time.
//   - A miner's fault (wrong bytes, missing or further objects, a forged manifest) is told apart from a disk's.
//
// Specification: docs/spec/manifest.md.
package submit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"assay/chain"
	"assay/conductor"
	"assay/conductor/admission"
	"assay/conductor/profile"
	"assay/conductor/submission"
	"assay/core/fault"
	"assay/core/sign"
	"assay/core/ss58"
	"assay/run/crash"
)

// The refusals of this room.
var (
	Committed = fault.NewCode("submit.committed", fault.Conflict, "the hotkey has committed another artifact, and a hotkey is judged once for ever: register another hotkey for another artifact")
	Special   = fault.NewCode("submit.special", fault.Invalid, "an artifact holds regular files only: no links, pipes or devices")
	TooMany   = fault.NewCode("submit.too_many", fault.TooLarge, "the folder holds more files than an artifact may have")
	Changed   = fault.NewCode("submit.changed", fault.Conflict, "a file changed while it was read; run the command again when nobody writes to it")
	Busy      = fault.NewCode("submit.busy", fault.Unready, "another process is writing this artifact")
	Mismatch  = fault.NewCode("submit.mismatch", fault.NotAllowed, "an object is not what was committed")
	Extra     = fault.NewCode("submit.extra", fault.NotAllowed, "an object lies there that the manifest does not name")
	Lacking   = fault.NewCode("submit.lacking", fault.NotAllowed, "an object that was committed is not there")
	Foreign   = fault.NewCode("submit.foreign", fault.NotAllowed, "the manifest belongs to another hotkey or registration than the commitment")
	NotKept   = fault.NewCode("submit.not_kept", fault.NotFound, "the artifact store holds no checked copy of the artifact")
	Damaged   = fault.NewCode("submit.damaged", fault.Conflict, "the artifact store's copy is not as it was written; look at the disk, remove the copy's folder and fetch it again")
	BadBucket = fault.NewCode("submit.bad_bucket", fault.Invalid, "a bucket is a folder that is there")
)

// MinersFault reports whether an error of Fetch is the submitter's doing: the artifact is refused then. Any other error is the
// owner's to mend, and costs nobody a shot.
func MinersFault(err error) bool {
	switch fault.Of(err) {
	case Mismatch, Extra, Lacking, Foreign, Special, TooMany, conductor.BadManifest, conductor.ManifestForged, conductor.BadPath, conductor.BadModelName:
		return true
	}
	return false
}

// RefusedTree is the error for a tree that admission refuses. Its code is conductor.Refused.
type RefusedTree struct {
	Findings []admission.Finding // at least one, in admission's order
}

// Error says the first finding.
func (r *RefusedTree) Error() string { return r.Unwrap().Error() }

// Unwrap returns the refusal.
func (r *RefusedTree) Unwrap() error {
	return conductor.Refused.With(fault.Str("kind", string(r.Findings[0].Kind)), fault.Str("refusal", r.Findings[0].Text))
}

// Progress is told that n further bytes of total were hashed or copied; what is "hashing", "copying" or "checking". It is called
// from several goroutines at once.
type Progress func(what string, n, total int64)

// Settings say what is submitted, by whom and where to.
type Settings struct {
	Tree      fs.FS // the artifact; nothing outside it can be read through it
	Reference *admission.Reference
	Profile   profile.Profile
	Name      string // public name, "" for none
	Signer    sign.Signer
	Chain     chain.Client // as the signer's hotkey
	Netuid    int
	Bucket    *Bucket
	Funding   func(registration chain.Digest) ([]byte, error) // makes the funding record; nil leaves what lies there
	Progress  Progress                                        // may be nil
}

// Receipt says what was submitted.
type Receipt struct {
	Manifest *submission.Manifest
	Ready    chain.Ready
	Sent     int  // files written
	Skipped  int  // files that were there already
	Already  bool // the chain held the commitment already
}

// Submit admits, hashes and copies an artifact and commits it on the chain. After an error it is called again.
func Submit(ctx context.Context, s Settings) (*Receipt, error) {
	found, err := admission.Findings(s.Tree, s.Reference, s.Profile)
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		return nil, &RefusedTree{found}
	}
	if s.Name != "" { // before an hour of hashing
		if err := submission.CheckName(s.Name); err != nil {
			return nil, err
		}
	}
	hotkey := ss58.Encode(s.Signer.Public())
	registration, committed, err := s.look(ctx, hotkey)
	if err != nil {
		return nil, err
	}
	files, err := HashTree(ctx, s.Tree, s.Progress)
	if err != nil {
		return nil, err
	}
	m, err := submission.Seal(submission.Draft{Registration: registration, Hotkey: hotkey, Files: files, ModelName: s.Name}, s.Signer)
	if err != nil {
		return nil, err
	}
	r := &Receipt{Manifest: m, Ready: chain.Ready{Registration: registration, Manifest: m.Digest()}}
	if committed != nil && *committed != r.Ready {
		return nil, alreadyCommitted(hotkey, *committed)
	}
	if err := s.send(ctx, r); err != nil {
		return nil, err
	}
	if r.Already = committed != nil; r.Already {
		return r, nil
	}
	crash.Point("submit: before the commitment")
	if err := s.commit(ctx, hotkey, r.Ready); err != nil {
		return nil, err
	}
	crash.Point("submit: behind the commitment")
	return r, nil
}

// look reads from the chain who the hotkey is and what it committed; nil for nothing. A commitment that this submission cannot be
// is refused before anything is hashed.
func (s *Settings) look(ctx context.Context, hotkey string) (chain.Digest, *chain.Ready, error) {
	graph, err := s.Chain.Metagraph(ctx)
	if err != nil {
		return chain.Digest{}, nil, err
	}
	neuron, ok := graph.Find(hotkey)
	if !ok {
		return chain.Digest{}, nil, chain.NotRegistered.With(fault.Str("hotkey", hotkey))
	}
	registration, err := chain.RegistrationID(s.Netuid, neuron)
	if err != nil {
		return chain.Digest{}, nil, err
	}
	committed, err := commitment(ctx, s.Chain, hotkey)
	if err != nil || committed == nil {
		return registration, nil, err
	}
	text, err := s.Bucket.read(submissionPrefix(registration)+submission.ManifestName, submission.MaxManifest)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return chain.Digest{}, nil, err
	}
	if committed.Registration != registration || committed.Manifest != sha256.Sum256(text) {
		return chain.Digest{}, nil, alreadyCommitted(hotkey, *committed)
	}
	return registration, committed, nil
}

func alreadyCommitted(hotkey string, r chain.Ready) error {
	return Committed.With(fault.Str("hotkey", hotkey), fault.Str("manifest", hex.EncodeToString(r.Manifest[:])))
}

// commitment returns the ready signal that the chain holds of a hotkey; nil for none. Other signals are no submissions.
func commitment(ctx context.Context, c chain.Client, hotkey string) (*chain.Ready, error) {
	all, err := c.Commitments(ctx)
	if err != nil {
		return nil, err
	}
	for _, have := range all {
		if r, err := chain.ParseReady(have.Signal); err == nil && have.Hotkey == hotkey {
			return &r, nil
		}
	}
	return nil, nil
}

// commit signals, and looks once when it is not known whether that happened.
func (s *Settings) commit(ctx context.Context, hotkey string, r chain.Ready) error {
	err := s.Chain.Commit(ctx, chain.ReadySignal(r))
	if fault.Of(err) != chain.Unconfirmed {
		return err
	}
	have, look := commitment(ctx, s.Chain, hotkey)
	if look == nil && have != nil && *have == r {
		return nil
	}
	return errors.Join(err, look)
}

func submissionPrefix(registration chain.Digest) string {
	return "submissions/" + hex.EncodeToString(registration[:]) + "/"
}

// send brings the files into the bucket, and the manifest behind them.
func (s *Settings) send(ctx context.Context, r *Receipt) error {
	prefix := submissionPrefix(r.Ready.Registration)
	unlock, err := s.Bucket.lock(hex.EncodeToString(r.Ready.Registration[:]))
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.clear(prefix, r.Manifest); err != nil {
		return err
	}
	c := copying{from: s.Tree, to: s.Bucket, prefix: prefix, progress: s.Progress}
	if r.Sent, r.Skipped, err = c.all(ctx, r.Manifest); err != nil {
		return err
	}
	if s.Funding != nil {
		text, err := s.Funding(r.Ready.Registration)
		if err != nil {
			return fmt.Errorf("making the funding record: %w", err)
		}
		if err := s.Bucket.write(FundingPath(r.Ready.Registration), text); err != nil {
			return err
		}
	}
	crash.Point("submit: before the manifest")
	return s.Bucket.write(prefix+submission.ManifestName, r.Manifest.Bytes())
}

// clear removes what an earlier attempt with another tree left below the prefix: its manifest first, so that what is there never
// passes for a whole submission.
func (s *Settings) clear(prefix string, m *submission.Manifest) error {
	name := prefix + submission.ManifestName
	text, err := s.Bucket.read(name, submission.MaxManifest)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && string(text) == string(m.Bytes()) {
		return err
	}
	if err == nil {
		if err := s.Bucket.remove(name); err != nil {
			return err
		}
	}
	objects, err := s.Bucket.list(prefix)
	if err != nil {
		return err
	}
	_, extra, _ := compare(objects, m, true)
	for _, path := range extra {
		if err := s.Bucket.remove(prefix + path); err != nil {
			return err
		}
	}
	return nil
}

// FundingPath returns the object that holds the funding record of a registration.
func FundingPath(registration chain.Digest) string {
	return submissionPrefix(registration) + submission.FundingFolder + "/key.json"
}
