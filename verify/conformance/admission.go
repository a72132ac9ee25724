package conformance

import (
	"encoding/binary"
	"io/fs"
	"testing/fstest"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/admission"
	"assay/conductor/profile"
	"assay/core/canon"
	"assay/verify/vector"
)

// treeIn is a folder as vectors write it.
type treeIn struct {
	Files       map[string]string   `json:"files"`
	Base64      map[string][]byte   `json:"base64"`
	Links       map[string]string   `json:"links"`
	Dirs        []string            `json:"dirs"`
	Safetensors map[string]weightIn `json:"safetensors"`
}

// weightIn is a weight file: the header's length, the header, and zeros.
type weightIn struct {
	Header    string  `json:"header"`
	Length    *uint64 `json:"length"` // nil is the header's own
	DataBytes int     `json:"data_bytes"`
}

func (w weightIn) bytes() []byte {
	n := uint64(len(w.Header))
	if w.Length != nil {
		n = *w.Length
	}
	b := binary.LittleEndian.AppendUint64(nil, n)
	b = append(b, w.Header...)
	return append(b, make([]byte, w.DataBytes)...)
}

// fs makes the folder in memory. testing/fstest brings nothing but testing/iotest with it: no flags, no package testing.
func (t treeIn) fs() fs.FS {
	tree := fstest.MapFS{}
	for p, text := range t.Files {
		tree[p] = &fstest.MapFile{Data: []byte(text)}
	}
	for p, b := range t.Base64 {
		tree[p] = &fstest.MapFile{Data: b}
	}
	for p, to := range t.Links {
		tree[p] = &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
	}
	for _, p := range t.Dirs {
		tree[p] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
	}
	for p, w := range t.Safetensors {
		tree[p] = &fstest.MapFile{Data: w.bytes()}
	}
	return tree
}

type admissionIn struct {
	Reference treeIn `json:"reference"`
	Tree      treeIn `json:"tree"`
}

func runAdmission(p profile.Profile, op string, in jsontext.Value) (any, error) {
	v, err := vector.Read[admissionIn](in)
	if err != nil {
		return nil, err
	}
	if op != "admit" {
		return nil, vector.UnknownOp(op)
	}
	ref, err := admission.ReadReference(v.Reference.fs(), profile.Compat)
	if err != nil {
		return nil, err
	}
	verdict, err := admission.Admit(v.Tree.fs(), ref, p)
	if err != nil {
		return nil, err
	}
	first := verdict.Refusal()
	return canon.Object{
		"admitted": verdict.Admitted(), "kind": vector.OrNull(string(first.Kind)), "subject": vector.OrNull(first.Subject),
		"reference": canon.Object{"config": canon.Object(ref.Config), "tensors": len(ref.Tensors), "tokenizer_digest": ref.Tokenizer.String()},
	}, nil
}
