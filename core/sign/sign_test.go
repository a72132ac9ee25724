package sign_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay/core/canon"
	"assay/core/fault"
	"assay/core/sign"
)

// seed is RFC 8032's first test key.
var seed = [32]byte(unhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

func seal(t *testing.T, record canon.Object) ([]byte, sign.Key) {
	t.Helper()
	s := sign.NewEd25519(seed)
	line, err := sign.Seal(record, s)
	if err != nil {
		t.Fatal(err)
	}
	return line, s.Public()
}

func TestKeyOfRFC8032(t *testing.T) {
	s := sign.NewEd25519(seed)
	if got := s.Public().String(); got != "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a" {
		t.Errorf("public key %s", got)
	}
	sig, err := s.Sign(nil)
	want := "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
	if hex.EncodeToString(sig) != want || err != nil {
		t.Errorf("signature %x, %v", sig, err)
	}
	if !sign.Verify(s.Public(), nil, sig) || sign.Verify(s.Public(), []byte{0}, sig) || sign.Verify(s.Public(), nil, sig[:63]) || sign.Verify(sign.Key{}, nil, sig) {
		t.Error("Verify does not tell the signature from others")
	}
}

func TestEnvelopeBytes(t *testing.T) {
	line, key := seal(t, canon.Object{"b": []any{canon.Int("1"), 1.0, nil}, "a": "größe"})
	// The signature was made by another implementation, OpenSSL's.
	const want = `{"record":{"a":"gr\u00f6\u00dfe","b":[1,1.0,null]},"sig":"d9bfb13c718e950954cef5ca4225c70a93a9b517d486947f288c979eff7356a857918a4857987f4ea8dc98fa31175a607e2ad3239df03318aedb846543f9ed0f","v":1}`
	if string(line) != want {
		t.Errorf("%s", line)
	}
	record, err := sign.Open(line, key)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(canon.Object{"b": []any{canon.Int("1"), 1.0, nil}, "a": "größe"}, record); diff != "" {
		t.Error(diff)
	}
}

func TestBehaviourK1_AnyAlteredByteIsRefused(t *testing.T) {
	line, key := seal(t, canon.Object{"epoch": 7, "text": "é\u2028", "list": []any{1.5, true, nil, canon.Object{}}})
	for i := range line {
		for bit := range 8 {
			bad := append([]byte(nil), line...)
			bad[i] ^= 1 << bit
			if record, err := sign.Open(bad, key); err == nil || record != nil {
				t.Fatalf("byte %d bit %d: %s is taken: %v", i, bit, bad, record)
			}
		}
		short, long := append(append([]byte(nil), line[:i]...), line[i+1:]...), append(append(append([]byte(nil), line[:i]...), ' '), line[i:]...)
		for _, bad := range [][]byte{line[:i], short, long} {
			if _, err := sign.Open(bad, key); err == nil {
				t.Fatalf("%s is taken", bad)
			}
		}
	}
	for _, end := range []string{"\n", " ", "\x00", "{}"} {
		if _, err := sign.Open(append(line[:len(line):len(line)], end...), key); fault.Of(err) != sign.NotEnvelope {
			t.Errorf("with %q behind it: %v", end, err)
		}
	}
}

func TestOpenRefusesByCode(t *testing.T) {
	line, key := seal(t, canon.Object{"a": 1})
	other := sign.NewEd25519([32]byte{1}).Public()
	sig := string(line[strings.Index(string(line), `"sig":"`)+7:][:128])
	for name, c := range map[string]struct {
		text string
		key  sign.Key
		want fault.Code
	}{
		"another key":              {string(line), other, sign.BadSignature},
		"the zero key":             {string(line), sign.Key{}, sign.BadSignature},
		"another record":           {`{"record":{"a":2},"sig":"` + sig + `","v":1}`, key, sign.BadSignature},
		"a float for an integer":   {`{"record":{"a":1.0},"sig":"` + sig + `","v":1}`, key, sign.BadSignature},
		"members in another order": {`{"sig":"` + sig + `","record":{"a":1},"v":1}`, key, sign.NotEnvelope},
		"a further member":         {`{"record":{"a":1},"sig":"` + sig + `","u":0,"v":1}`, key, sign.NotEnvelope},
		"a member twice":           {`{"record":{"a":1},"record":{"a":1},"sig":"` + sig + `","v":1}`, key, sign.NotEnvelope},
		"upper-case digits":        {`{"record":{"a":1},"sig":"` + strings.ToUpper(sig) + `","v":1}`, key, sign.NotEnvelope},
		"version 2":                {`{"record":{"a":1},"sig":"` + sig + `","v":2}`, key, sign.NotEnvelope},
		"version 1.0":              {`{"record":{"a":1},"sig":"` + sig + `","v":1.0}`, key, sign.NotEnvelope},
		"no version":               {`{"record":{"a":1},"sig":"` + sig + `"}`, key, sign.NotEnvelope},
		"a list as record":         {`{"record":[1],"sig":"` + sig + `","v":1}`, key, sign.NotEnvelope},
		"null as record":           {`{"record":null,"sig":"` + sig + `","v":1}`, key, sign.NotEnvelope},
		"an empty signature":       {`{"record":{"a":1},"sig":"","v":1}`, key, sign.NotEnvelope},
		"no signature":             {`{"record":{"a":1},"sig":null,"v":1}`, key, sign.NotEnvelope},
		"no digits":                {`{"record":{"a":1},"sig":"` + strings.Repeat("zz", 64) + `","v":1}`, key, sign.NotEnvelope},
		"an escaped letter":        {`{"record":{"\u0061":1},"sig":"` + sig + `","v":1}`, key, sign.NotEnvelope},
		"a number":                 {`1`, key, sign.NotEnvelope},
		"nothing":                  {``, key, sign.NotEnvelope},
	} {
		if record, err := sign.Open([]byte(c.text), c.key); fault.Of(err) != c.want || record != nil {
			t.Errorf("%s: %v, %v", name, record, err)
		}
	}
}

func TestZeroVerifiedGivesNothing(t *testing.T) {
	var zero sign.Verified
	if record, err := zero.Record(); record != nil || fault.Of(err) != sign.Unverified || zero.Bytes() != "" {
		t.Errorf("%v, %v, %q", record, err, zero.Bytes())
	}
}

func TestVerifiedIsNotChangedThroughItsRecord(t *testing.T) {
	line, key := seal(t, canon.Object{"a": 1})
	v, err := sign.Check(line, key)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := v.Record()
	first["a"] = canon.Int("2")
	second, err := v.Record()
	if err != nil || second["a"] != canon.Int("1") || v.Bytes() != `{"a":1}` || v.Key() != key {
		t.Errorf("%v, %v, %s", second, err, v.Bytes())
	}
}

// TestSmallOrderKeysVerifyNothing shows first that the library alone takes a forged signature under such a key.
func TestSmallOrderKeysVerifyNothing(t *testing.T) {
	forged := make([]byte, 64) // R is the neutral point, S is zero: holds whenever the challenge is a multiple of the key's order
	forged[0] = 1
	for _, y := range []string{
		"0000000000000000000000000000000000000000000000000000000000000000", "0100000000000000000000000000000000000000000000000000000000000000",
		"0000000000000000000000000000000000000000000000000000000000000080", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa", "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	} {
		key, taken := sign.Key(unhex(y)), 0
		for i := range 200 {
			msg := fmt.Append(nil, i)
			if ed25519.Verify(key[:], msg, forged) {
				taken++
			}
			if sign.Verify(key, msg, forged) {
				t.Fatalf("%s: forged", y)
			}
		}
		if taken == 0 {
			t.Errorf("%s is no key of small order", y)
		}
		if _, err := sign.ParseKey(y); fault.Of(err) != sign.BadKey {
			t.Errorf("ParseKey(%s): %v", y, err)
		}
	}
}

func TestParseKey(t *testing.T) {
	good := sign.NewEd25519(seed).Public()
	if got, err := sign.ParseKey(good.String()); err != nil || got != good {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "0x" + good.String(), strings.ToUpper(good.String()), good.String()[1:], good.String() + "0", strings.Repeat("g", 64)} {
		if got, err := sign.ParseKey(bad); fault.Of(err) != sign.BadKey || got != (sign.Key{}) {
			t.Errorf("ParseKey(%q) = %v, %v", bad, got, err)
		}
	}
}

// broken signs what it is told to.
type broken struct {
	sign.Signer
	sig []byte
	err error
}

func (b broken) Sign([]byte) ([]byte, error) { return b.sig, b.err }

func TestSealLetsNoBadSignatureOut(t *testing.T) {
	good := sign.NewEd25519(seed)
	for name, s := range map[string]broken{
		"an error": {good, nil, errors.New("no card in the reader")}, "nothing": {good, nil, nil}, "a signature of another text": {good, ed25519.Sign(ed25519.NewKeyFromSeed(seed[:]), []byte("x")), nil},
	} {
		if line, err := sign.Seal(canon.Object{}, s); line != nil || fault.Of(err) != sign.SignerFailed {
			t.Errorf("%s: %s, %v", name, line, err)
		}
	}
	if _, err := sign.Seal(canon.Object{"a": math.NaN()}, good); err == nil {
		t.Error("a record without a form was sealed")
	}
}

func TestSignerShowsNoSeed(t *testing.T) {
	s := sign.NewEd25519(seed)
	for _, verb := range []string{"%v", "%+v", "%#v", "%x", "%s", "%d", "%q"} {
		shown := strings.ToLower(fmt.Sprintf(verb, struct{ hidden sign.Signer }{s}))
		for _, form := range []string{hex.EncodeToString(seed[:]), fmt.Sprint(seed[:4])[1:8], "0x9d, 0x61", "[157 97"} {
			if strings.Contains(shown, form) {
				t.Errorf("%s shows %s", verb, form)
			}
		}
	}
}

func TestEveryRecordComesBack(t *testing.T) {
	s := sign.NewEd25519(seed)
	rapid.Check(t, func(t *rapid.T) {
		record := canon.Object{}
		for _, k := range rapid.SliceOfDistinct(rapid.String(), rapid.ID[string]).Draw(t, "keys") {
			record[k] = rapid.OneOf(rapid.String().AsAny(), rapid.Float64Range(-1e300, 1e300).AsAny(), rapid.Bool().AsAny()).Draw(t, "value")
		}
		line, err := sign.Seal(record, s)
		if err != nil {
			t.Skip(err) // a string that is not UTF-8
		}
		got, err := sign.Open(line, s.Public())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(record, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzOpen holds that what opens is what sealing would have written.
func FuzzOpen(f *testing.F) {
	s := sign.NewEd25519(seed)
	for _, record := range []canon.Object{{}, {"a": 1}, {"a": []any{1.5, "é", nil}}} {
		line, err := sign.Seal(record, s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Add([]byte(`{"record":{},"sig":"","v":1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		record, err := sign.Open(line, s.Public())
		if err != nil {
			if c := fault.Of(err); c != sign.NotEnvelope && c != sign.BadSignature {
				t.Errorf("refused as %s", c.Name())
			}
			return
		}
		again, err := sign.Seal(record, s)
		if err != nil || string(again) != string(line) {
			t.Errorf("%s opens and seals as %s, %v", line, again, err)
		}
	})
}

func BenchmarkSealAndOpen(b *testing.B) {
	s := sign.NewEd25519(seed)
	record := canon.Object{"text": strings.Repeat("a line of a record ", 50)}
	for b.Loop() {
		line, err := sign.Seal(record, s)
		if err == nil {
			_, err = sign.Open(line, s.Public())
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
