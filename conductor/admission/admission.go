// Package admission decides whether a miner's artifact is the pinned architecture with other weights, and nothing else.
//
// Invariants:
//   - Names are judged before any file is opened; of weight files the header is read and tensor data never is.
//   - Nothing in a tree is run, imported, unpickled or sniffed: a file's name says what reads it.
//   - Every length is checked against the file's size before memory is taken for it.
//   - A refusal is a value. Only a tree that cannot be read is an error, and it admits nobody.
//   - Admit returns the first of Findings; both are one pass over the same rules.
//   - What Strict admits, Compat admits too: Strict is Compat's rules and further ones.
//
// Specification: docs/spec/admission.md.
package admission

import (
	"errors"
	"fmt"
	"io/fs"

	"assay/conductor"
	"assay/conductor/profile"
	"assay/core/fault"
)

// Kind is the word of a refusal.
type Kind string

// The refusals that both profiles know, in the order in which they are looked for.
const (
	PickleArchive        Kind = "pickle_archive"        // subject: path
	BundledCode          Kind = "bundled_code"          // subject: path
	ConfigMissing        Kind = "config_missing"        // no subject
	ConfigNotJSON        Kind = "config_not_json"       // no subject
	CustomCodeConfig     Kind = "custom_code_config"    // subject: key
	ArchitectureMismatch Kind = "architecture_mismatch" // subject: dotted field
	NoWeightFile         Kind = "no_weight_file"        // no subject
	MalformedWeightFile  Kind = "malformed_weight_file" // subject: path
	DuplicateTensor      Kind = "duplicate_tensor"      // subject: tensor
	ExtraTensor          Kind = "extra_tensor"          // subject: tensor
	MissingTensor        Kind = "missing_tensor"        // subject: tensor
	ReshapedTensor       Kind = "reshaped_tensor"       // subject: tensor
	WrongDtype           Kind = "wrong_dtype"           // subject: tensor
	TokenizerMissing     Kind = "tokenizer_missing"     // subject: path
	TokenizerMismatch    Kind = "tokenizer_mismatch"    // no subject
)

// The refusals of bounds (both profiles, with their own bounds) and of Strict alone.
const (
	TooManyFiles    Kind = "too_many_files"    // no subject
	BadName         Kind = "bad_name"          // subject: path
	OversizedFile   Kind = "oversized_file"    // subject: path
	TooManyTensors  Kind = "too_many_tensors"  // subject: path
	Link            Kind = "link"              // Strict; subject: path
	SpecialFile     Kind = "special_file"      // Strict; subject: path
	UnknownFileType Kind = "unknown_file_type" // Strict; subject: path
	DuplicateKey    Kind = "duplicate_key"     // Strict; subject: path
	UnknownDtype    Kind = "unknown_dtype"     // Strict; subject: tensor
	SizeMismatch    Kind = "size_mismatch"     // Strict; subject: tensor
	BadOffsets      Kind = "bad_offsets"       // Strict; subject: path
	LooseHeader     Kind = "loose_header"      // Strict; subject: path
	BadIndex        Kind = "bad_index"         // Strict; subject: path
)

// Finding is one reason to refuse a tree. Text is the sentence for people; Subject is the path, field or tensor as it
// stands in the tree, so foreign text.
type Finding struct {
	Kind    Kind   `json:"kind"`
	Subject string `json:"subject"`
	Text    string `json:"text"`
}

// Verdict is the answer about one tree. The zero Verdict admits nobody.
type Verdict struct {
	admitted bool
	refusal  Finding
}

// Admitted reports whether the tree was looked at and nothing was found.
func (v Verdict) Admitted() bool { return v.admitted }

// Refusal returns the first refusal; its zero when the tree was admitted.
func (v Verdict) Refusal() Finding { return v.refusal }

// Err returns nil for an admitted tree and conductor.Refused otherwise.
func (v Verdict) Err() error {
	if v.admitted {
		return nil
	}
	return refused(v.refusal)
}

func refused(f Finding) error {
	return conductor.Refused.With(fault.Str("kind", string(f.Kind)), fault.Str("refusal", f.Text))
}

// Admit judges tree against ref and stops at the first refusal. The error is for trees that cannot be read.
func Admit(tree fs.FS, ref *Reference, p profile.Profile) (Verdict, error) {
	found, err := judge(tree, ref, p, true)
	switch {
	case err != nil:
		return Verdict{}, err
	case len(found) > 0:
		return Verdict{refusal: found[0]}, nil
	}
	return Verdict{admitted: true}, nil
}

// Findings judges tree against ref and returns every refusal, the one that Admit returns first.
// What a refusal hides (the fields of a config that is not JSON, the tensors of a malformed file) is not guessed at.
func Findings(tree fs.FS, ref *Reference, p profile.Profile) ([]Finding, error) {
	return judge(tree, ref, p, false)
}

func judge(tree fs.FS, ref *Reference, p profile.Profile, firstOnly bool) ([]Finding, error) {
	if ref == nil || ref.Tokenizer.IsZero() {
		return nil, BadReference.With(fault.Str("defect", "it is empty or its tokenizer digest is not pinned"))
	}
	s := &survey{tree: tree, ref: ref, profile: p, bounds: boundsOf(p), firstOnly: firstOnly}
	if err := s.run(); err != nil {
		return nil, err
	}
	return s.found, nil
}

// survey is one pass over a tree. Without a reference it collects one.
type survey struct {
	tree      fs.FS
	ref       *Reference
	profile   profile.Profile
	bounds    bounds
	firstOnly bool

	files []file // regular files in path order
	found []Finding
	read  Reference
}

// errEnough ends a pass that wants the first refusal only, or that cannot go on behind one.
var errEnough = errors.New("enough is known")

func (s *survey) run() error {
	for _, stage := range []func() error{s.names, s.config, s.weights, s.tokenizer} {
		if err := stage(); err == errEnough {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading the artifact: %w", err)
		}
	}
	return nil
}

func (s *survey) strict() bool { return s.profile.Strict() }

// refuse notes a finding. Its error ends the pass.
func (s *survey) refuse(k Kind, subject, text string) error {
	s.found = append(s.found, Finding{k, subject, text})
	if s.firstOnly {
		return errEnough
	}
	return nil
}

// refuseAll notes findings that were collected for later.
func (s *survey) refuseAll(list []Finding) error {
	for _, f := range list {
		if err := s.refuse(f.Kind, f.Subject, f.Text); err != nil {
			return err
		}
	}
	return nil
}
