package admission

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"

	"assay/core/digest"
)

// TokenizerFiles is what a tokenizer digest is a digest of: for each of the two files in this order its name, its
// length as eight bytes with the little end first, and its bytes. The lengths keep a byte from moving between them.
type TokenizerFiles struct{}

var tokenizerFiles = []string{"tokenizer.json", "tokenizer_config.json"}

// tokenizer digests the two files as they stream by.
func (s *survey) tokenizer() error {
	sum := sha256.New()
	complete := true
	for _, name := range tokenizerFiles {
		if !s.has(name) {
			complete = false
			if err := s.refuse(TokenizerMissing, name, "tokenizer file missing: "+name); err != nil {
				return err
			}
			continue
		}
		ok, err := s.digestFile(sum, name)
		if err != nil {
			return err
		}
		complete = complete && ok
	}
	if !complete {
		return nil
	}
	sum.Sum(s.read.Tokenizer[:0])
	if s.ref != nil && s.read.Tokenizer != s.ref.Tokenizer {
		return s.refuse(TokenizerMismatch, "", fmt.Sprintf("tokenizer digest mismatch: %s, the reference has %s", s.read.Tokenizer, s.ref.Tokenizer))
	}
	return nil
}

func (s *survey) digestFile(sum hash.Hash, name string) (bool, error) {
	f, size, err := s.open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if most := s.bounds.tokenizerFile; size > most {
		return false, s.refuse(OversizedFile, name, fmt.Sprintf("%s has %d bytes; at most %d are read", name, size, most))
	}
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(size))
	sum.Write([]byte(name))
	sum.Write(length[:])
	n, err := io.Copy(sum, io.LimitReader(f, size+1))
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF // the file changed while it was read
	}
	return true, err
}

// ParseTokenizerDigest reads a pinned tokenizer digest. The word UNPINNED, which worlds carry before they are pinned,
// is none.
func ParseTokenizerDigest(s string) (digest.Of[TokenizerFiles], error) {
	d, err := digest.Parse[TokenizerFiles](s)
	if err != nil || d.IsZero() {
		return digest.Of[TokenizerFiles]{}, BadReference.With(defect("the tokenizer digest is not pinned"))
	}
	return d, nil
}
