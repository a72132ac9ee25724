package admission_test

import (
	"bytes"
	"testing"

	"assay/conductor/admission"
)

// FuzzReference reads an inventory that somebody sends: what is read is written again the same way.
func FuzzReference(f *testing.F) {
	f.Add([]byte(`{"config":{"model_type":"toy"},"tensors":[{"name":"w","dtype":"F32","shape":[1]}],"tokenizer_digest":"e06520a7e06520a7e06520a7e06520a7e06520a7e06520a7e06520a7e06520a7","v":1}`))
	f.Add([]byte(`{"v":1,"tokenizer_digest":"UNPINNED"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		ref, err := admission.ParseReference(text)
		if err != nil {
			return
		}
		once, err := ref.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := admission.ParseReference(once)
		if err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if twice, err := back.Encode(); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s, then %s: %v", once, twice, err)
		}
	})
}
