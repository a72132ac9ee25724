package admission

import (
	"fmt"
	"io/fs"
	"slices"

	"assay/conductor/profile"
	"assay/core/canon"
	"assay/core/digest"
	"assay/core/fault"
)

// BadReference refuses a reference inventory that is not complete.
var BadReference = fault.NewCode("admission.bad_reference", fault.Invalid, "not a reference inventory")

func defect(s string) fault.Field { return fault.Str("defect", s) }

// Reference is what an admitted tree must equal. ReadReference takes it of a tree, ParseReference and UnmarshalJSON read it back.
//
//	{"config":{"model_type":"toy","text_config.num_experts":4},
//	 "tensors":[{"name":"lm_head","dtype":"BF16","shape":[32,4]}],
//	 "tokenizer_digest":"e06520a7…","v":1}
type Reference struct {
	Config    map[string]any            // by dotted field; values as core/canon reads them
	Tensors   []Tensor                  // by name
	Tokenizer digest.Of[TokenizerFiles] // over tokenizer.json and tokenizer_config.json
}

// ReadReference takes the inventory of a tree by the rules that trees are admitted by. A tree that they refuse is no
// reference: the error is conductor.Refused then.
func ReadReference(tree fs.FS, p profile.Profile) (*Reference, error) {
	s := &survey{tree: tree, profile: p, bounds: boundsOf(p), firstOnly: true}
	if err := s.run(); err != nil {
		return nil, err
	}
	if len(s.found) > 0 {
		return nil, refused(s.found[0])
	}
	return &s.read, nil
}

// Encode returns the inventory in canonical JSON.
func (r *Reference) Encode() ([]byte, error) {
	tensors := make([]any, len(r.Tensors))
	for i, t := range r.Tensors {
		shape := make([]any, len(t.Shape))
		for j, d := range t.Shape {
			shape[j] = d
		}
		tensors[i] = canon.Object{"name": t.Name, "dtype": t.Dtype, "shape": shape}
	}
	return canon.ASCII(canon.Object{
		"v": 1, "config": canon.Object(r.Config), "tensors": tensors, "tokenizer_digest": r.Tokenizer.String(),
	})
}

// MarshalJSON is Encode.
func (r *Reference) MarshalJSON() ([]byte, error) { return r.Encode() }

// UnmarshalJSON is ParseReference.
func (r *Reference) UnmarshalJSON(text []byte) error {
	read, err := ParseReference(text)
	if err == nil {
		*r = *read
	}
	return err
}

// ParseReference reads an inventory that Encode wrote, strictly.
func ParseReference(text []byte) (*Reference, error) {
	var doc struct {
		V         int            `json:"v"`
		Config    map[string]any `json:"config"`
		Tensors   []Tensor       `json:"tensors"`
		Tokenizer string         `json:"tokenizer_digest"`
	}
	if err := canon.Strict(text, &doc); err != nil {
		return nil, BadReference.Because(err)
	}
	if doc.V != 1 {
		return nil, BadReference.With(defect("unknown version"), fault.Int("v", int64(doc.V)))
	}
	if len(doc.Config) == 0 || len(doc.Tensors) == 0 {
		return nil, BadReference.With(defect("no config fields or no tensors"))
	}
	whole, err := canon.DecodeObject(text) // for the config's numbers: 4 and 4.0 are two values
	if err != nil {
		return nil, BadReference.Because(err)
	}
	r := &Reference{Config: whole["config"].(canon.Object), Tensors: doc.Tensors}
	for i, t := range r.Tensors {
		if i > 0 && r.Tensors[i-1].Name >= t.Name {
			return nil, BadReference.With(defect("tensors are not in the order of their names"), fault.Str("tensor", t.Name))
		}
		if t.Dtype == "" || t.Shape == nil || slices.Min(append(slices.Clone(t.Shape), 0)) < 0 {
			return nil, BadReference.With(defect("a tensor has no dtype or no shape"), fault.Str("tensor", t.Name))
		}
	}
	if r.Tokenizer, err = ParseTokenizerDigest(doc.Tokenizer); err != nil {
		return nil, fmt.Errorf("reading the reference: %w", err)
	}
	return r, nil
}
