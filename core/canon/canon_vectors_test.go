package canon_test

import (
	"assay/core/canon"
	"assay/core/digest"
	"bufio"
	"encoding/json"
	"os"
	"testing"
)

func TestTmp(t *testing.T) {
	f, err := os.Open("/work/shared/vectors/conductor/canonical_json.jsonl")
	if err != nil {
		t.Skip()
	}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<24)
	bad := 0
	for sc.Scan() {
		var l struct {
			ID   string
			In   struct{ JSON string }
			Want struct{ Canonical, Sha256 string }
		}
		json.Unmarshal(sc.Bytes(), &l)
		v, err := canon.DecodeLast([]byte(l.In.JSON))
		if err != nil {
			t.Error(l.ID, err)
			continue
		}
		b, err := canon.ASCII(v)
		if err != nil || string(b) != l.Want.Canonical || digest.HexOfBytes(b) != l.Want.Sha256 {
			bad++
			t.Error(l.ID, string(b), l.Want.Canonical, err)
		}
	}
}
