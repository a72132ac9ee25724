package digest_test

import (
	"strings"
	"testing"

	"assay/core/canon"
	"assay/core/digest"
	"assay/core/fault"
)

type topic struct{}

const ofABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // SHA-256 of "abc", from the standard

func TestSumAndParse(t *testing.T) {
	d := digest.Sum[topic]([]byte("abc"))
	if d.String() != ofABC || string(d.AppendHex([]byte("x"))) != "x"+ofABC || digest.HexOfBytes([]byte("abc")) != ofABC || digest.First32([]byte("abc")) != 0xba7816bf {
		t.Errorf("the digest of abc is %s", d)
	}
	if again, err := digest.Parse[topic](ofABC); err != nil || again != d || again.IsZero() {
		t.Errorf("Parse = %s, %v", again, err)
	}
	if !(digest.Of[topic]{}).IsZero() {
		t.Error("the zero digest is not zero")
	}
}

func TestParseAcceptsOneSpelling(t *testing.T) {
	for _, s := range []string{"", ofABC[1:], ofABC + "0", strings.ToUpper(ofABC), "0x" + ofABC[2:], strings.Repeat("g", 64), ofABC[:63] + "\n", strings.Repeat("é", 32)} {
		if d, err := digest.Parse[topic](s); fault.Of(err) != digest.Malformed || !d.IsZero() {
			t.Errorf("Parse(%q) = %s, %v", s, d, err)
		}
	}
}

func TestDigestsOfValuesAreOfTheirCanonicalBytes(t *testing.T) {
	got, err := digest.HexOf(canon.Object{"b": 1, "a": "ü"})
	if want := digest.HexOfBytes([]byte(`{"a":"\u00fc","b":1}`)); err != nil || got != want {
		t.Errorf("HexOf = %s, %v, want %s", got, err, want)
	}
	if got, want := digest.HexOfString("ü\""), digest.HexOfBytes([]byte(`"\u00fc\""`)); got != want {
		t.Errorf("HexOfString = %s, want %s", got, want)
	}
	if _, err := digest.HexOf("\xff"); fault.Of(err) != canon.LoneSurrogate {
		t.Errorf("a value without canonical bytes: %v", err)
	}
}
