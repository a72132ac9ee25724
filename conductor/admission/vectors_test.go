package admission_test

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"assay/conductor/admission"
	"assay/conductor/profile"
	"assay/core/canon"
)

// treeSpec is a tree as the vectors write it.
type treeSpec struct {
	Files       map[string]string     `json:"files"`
	Base64      map[string]string     `json:"base64"`
	Links       map[string]string     `json:"links"`
	Dirs        []string              `json:"dirs"`
	Safetensors map[string]weightSpec `json:"safetensors"`
}

type weightSpec struct {
	Header    string  `json:"header"`
	Length    *uint64 `json:"length"`
	DataBytes int     `json:"data_bytes"`
}

func (w weightSpec) bytes() []byte {
	n := uint64(len(w.Header))
	if w.Length != nil {
		n = *w.Length
	}
	return append(append(binary.LittleEndian.AppendUint64(nil, n), w.Header...), make([]byte, w.DataBytes)...)
}

func (s treeSpec) fs(t testing.TB) fstest.MapFS {
	t.Helper()
	m := fstest.MapFS{}
	for p, text := range s.Files {
		m[p] = &fstest.MapFile{Data: []byte(text)}
	}
	for p, text := range s.Base64 {
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		m[p] = &fstest.MapFile{Data: b}
	}
	for p, to := range s.Links {
		m[p] = &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
	}
	for _, p := range s.Dirs {
		m[p] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
	}
	for p, w := range s.Safetensors {
		m[p] = &fstest.MapFile{Data: w.bytes()}
	}
	return m
}

type vector struct {
	ID    string
	Op    string
	Quirk string
	In    struct{ Reference, Tree treeSpec }
	Want  struct {
		Admitted  bool
		Kind      string
		Subject   string
		Reference struct {
			Config  json.RawMessage
			Tensors int
			Digest  string `json:"tokenizer_digest"`
		}
	}
}

func vectors(t *testing.T) []vector {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		f, err := os.Open(filepath.Join(dir, "..", "shared", "vectors", "conductor", "admission.jsonl"))
		if err != nil {
			continue
		}
		defer f.Close()
		var out []vector
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<24)
		for sc.Scan() {
			var v vector
			if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
				t.Fatal(err)
			}
			out = append(out, v)
		}
		if err := sc.Err(); err != nil || len(out) == 0 {
			t.Fatalf("no vectors read: %v", err)
		}
		return out
	}
	t.Skip("the shared vectors are not beside the repository; nothing is compared with them here")
	return nil
}

func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.ID, func(t *testing.T) {
			if v.Op != "admit" {
				t.Fatalf("unknown op %q", v.Op)
			}
			ref, err := admission.ReadReference(v.In.Reference.fs(t), profile.Compat)
			if err != nil {
				t.Fatal(err)
			}
			compareReference(t, v, ref)
			tree := v.In.Tree.fs(t)
			got, err := admission.Admit(tree, ref, profile.Compat)
			if err != nil {
				t.Fatal(err)
			}
			if got.Admitted() != v.Want.Admitted || string(got.Refusal().Kind) != v.Want.Kind || got.Refusal().Subject != v.Want.Subject {
				t.Errorf("admitted %v, %+v; want %v %s %q", got.Admitted(), got.Refusal(), v.Want.Admitted, v.Want.Kind, v.Want.Subject)
			}
			compareStrict(t, v, tree, ref, got)
		})
	}
}

func compareReference(t *testing.T, v vector, ref *admission.Reference) {
	t.Helper()
	want, err := canon.DecodeObject(v.Want.Reference.Config)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any(want), ref.Config); diff != "" {
		t.Errorf("reference config (-want +got):\n%s", diff)
	}
	if len(ref.Tensors) != v.Want.Reference.Tensors || ref.Tokenizer.String() != v.Want.Reference.Digest {
		t.Errorf("reference has %d tensors and digest %s; want %d and %s", len(ref.Tensors), ref.Tokenizer, v.Want.Reference.Tensors, v.Want.Reference.Digest)
	}
}

// compareStrict wants Strict to find whatever Compat finds, and to refuse the lines that pin an accident.
func compareStrict(t *testing.T, v vector, tree fs.FS, ref *admission.Reference, compat admission.Verdict) {
	t.Helper()
	found, err := admission.Findings(tree, ref, profile.Strict)
	if err != nil {
		t.Fatal(err)
	}
	if v.Quirk != "" && len(found) == 0 {
		t.Errorf("strict admits the accident %s", v.Quirk)
	}
	if compat.Admitted() {
		return
	}
	for _, f := range found {
		if f == compat.Refusal() {
			return
		}
	}
	t.Errorf("strict does not find %+v among %+v", compat.Refusal(), found)
}
