package funding_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/conductor"
	"assay/conductor/funding"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/sign"
	"assay/core/ss58"
)

var (
	miner  = sign.NewEd25519([32]byte{3})
	hotkey = ss58.Encode(miner.Public())
	want   = funding.Expected{Hotkey: hotkey, Registration: strings.Repeat("ab", 32)}
)

func record(tb testing.TB, change func(*funding.Record)) string {
	tb.Helper()
	r := funding.Record{Hotkey: hotkey, Registration: want.Registration, Cap: 5 * money.Dollar, Ciphertext: []byte("age-encryption.org/v1")}
	r, err := r.Sign(miner)
	if err != nil {
		tb.Fatal(err)
	}
	if change != nil {
		change(&r)
	}
	line, err := r.Line()
	if err != nil {
		tb.Fatal(err)
	}
	return string(line)
}

func TestARecordIsWhatThePageSays(t *testing.T) {
	v, err := funding.Check([]byte(record(t, nil)), want)
	if err != nil {
		t.Fatal(err)
	}
	r := v.Record()
	text := `{"cap_usd":5.0,"ciphertext":"YWdlLWVuY3J5cHRpb24ub3JnL3Yx","hotkey":"` + hotkey + `","registration_id":"` + want.Registration + `","sig":"` + r.Sig + `","v":1}` + "\n"
	if d := cmp.Diff(text, record(t, nil)); d != "" {
		t.Error(d)
	}
	r.Ciphertext[0] ^= 1
	if bytes.Equal(r.Ciphertext, v.Record().Ciphertext) {
		t.Error("a checked record was changed from outside")
	}
	plain, err := funding.AppendPlain(nil, want, `sk-"\key`)
	if d := cmp.Diff(`{"hotkey":"`+hotkey+`","key":"sk-\"\\key","registration_id":"`+want.Registration+`","v":1}`, string(plain)); d != "" || err != nil {
		t.Error(d, err)
	}
	if key, err := funding.Plain(v, plain); err != nil || key != `sk-"\key` {
		t.Errorf("%q, %v", key, err)
	}
}

func TestTheChecksStandInOrder(t *testing.T) {
	good := record(t, nil)
	swap := func(old, new string) string {
		bad := strings.Replace(good, old, new, 1)
		if bad == good {
			t.Fatalf("%s is not in the record", old)
		}
		return bad
	}
	otherKey := sign.NewEd25519([32]byte{4})
	foreign, err := funding.Record{Hotkey: ss58.Encode(otherKey.Public()), Registration: want.Registration, Cap: 1, Ciphertext: []byte("x")}.Sign(otherKey)
	if err != nil {
		t.Fatal(err)
	}
	foreignLine, err := foreign.Line()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text string
		want fault.Code
	}{
		"no JSON":                    {"funding", conductor.BadFunding},
		"an unknown member":          {swap(`"v":1`, `"v":1,"x":1`), conductor.BadFunding},
		"another version":            {swap(`"v":1`, `"v":2`), conductor.BadFunding},
		"a blank":                    {swap(`"v":1`, `"v": 1`), conductor.BadFunding},
		"another spelling of money":  {swap(`5.0`, `5`), conductor.BadFunding},
		"money as text":              {swap(`5.0`, `"5.0"`), conductor.BadFunding},
		"no address":                 {swap(hotkey, hotkey[1:]), conductor.BadFunding},
		"no registration":            {swap(want.Registration, want.Registration[1:]), conductor.BadFunding},
		"no base64":                  {swap(`"YWdl`, `"YWd!`), conductor.BadFunding},
		"no ciphertext":              {swap("YWdlLWVuY3J5cHRpb24ub3JnL3Yx", ""), conductor.BadFunding},
		"too much ciphertext":        {swap("YWdlLWVuY3J5cHRpb24ub3JnL3Yx", strings.Repeat("YWdl", funding.MaxCiphertext/3+1)), conductor.BadFunding},
		"too long":                   {good + strings.Repeat(" ", funding.MaxRecord), conductor.BadFunding},
		"a short signature":          {swap(`"sig":"`, `"sig":"0`), conductor.BadFunding},
		"K1 an altered ciphertext":   {swap("YWdlLWVu", "YWdlLWVv"), conductor.FundingForged},
		"K1 an altered cap":          {swap("5.0", "50.0"), conductor.FundingForged},
		"K1 an altered registration": {swap(`"ab`, `"ac`), conductor.FundingForged},
		"K1 another signer":          {swap(hotkey, foreign.Hotkey), conductor.FundingForged},
		"K1 another hotkey":          {string(foreignLine), conductor.FundingForeign},
	} {
		v, err := funding.Check([]byte(c.text), want)
		if fault.Of(err) != c.want || !v.IsZero() {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := want
	other.Registration = strings.Repeat("cd", 32)
	if v, err := funding.Check([]byte(good), other); fault.Of(err) != conductor.FundingForeign || !v.IsZero() {
		t.Errorf("another registration: %v", err)
	}
}

// capped signs by hand what Sign refuses to sign.
func capped(t *testing.T, amount money.Pico) string {
	t.Helper()
	r := funding.Record{Hotkey: hotkey, Registration: want.Registration, Cap: amount, Ciphertext: []byte("x"), Sig: strings.Repeat("0", 128)}
	line, err := r.Line()
	if err != nil {
		t.Fatal(err)
	}
	head, tail, _ := strings.Cut(string(line), `"sig":"`+r.Sig+`",`)
	sig, err := miner.Sign([]byte(head + strings.TrimSuffix(tail, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	const digits = "0123456789abcdef"
	var hex []byte
	for _, b := range sig {
		hex = append(hex, digits[b>>4], digits[b&15])
	}
	return head + `"sig":"` + string(hex) + `",` + tail
}

func TestBehaviourK3_ACapThatIsNotAboveZero(t *testing.T) {
	if _, err := funding.Check([]byte(capped(t, 1)), want); err != nil {
		t.Fatal(err)
	}
	for _, amount := range []money.Pico{0, -1, -5 * money.Dollar} {
		if v, err := funding.Check([]byte(capped(t, amount)), want); fault.Of(err) != conductor.FundingCap || !v.IsZero() {
			t.Errorf("%s: %v", amount, err)
		}
		r := funding.Record{Hotkey: hotkey, Registration: want.Registration, Cap: amount, Ciphertext: []byte("x")}
		if _, err := r.Sign(miner); fault.Of(err) != conductor.FundingCap {
			t.Errorf("%s was signed: %v", amount, err)
		}
	}
}

func TestBehaviourK4_AKeyWithBlanksAround(t *testing.T) {
	v, err := funding.Check([]byte(record(t, nil)), want)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "short", " sk-12345678", "sk-12345678 ", "sk-12345678\n", "\tsk-12345678", "sk-1234\x005678", "sk-ünicode-key", strings.Repeat("k", funding.MaxKey+1)} {
		if _, err := funding.AppendPlain(nil, want, key); fault.Of(err) != conductor.FundingKey {
			t.Errorf("%q was written: %v", key, err)
		}
	}
	plain := `{"hotkey":"` + hotkey + `","key":"sk-12345678","registration_id":"` + want.Registration + `","v":1}`
	if key, err := funding.Plain(v, []byte(plain)); err != nil || key != "sk-12345678" {
		t.Fatalf("%q, %v", key, err)
	}
	for old, c := range map[string]struct {
		new  string
		want fault.Code
	}{
		`"sk-12345678"`:             {`" sk-12345678"`, conductor.FundingKey},
		`"key":"sk-12345678"`:       {`"key":"sk-12345678 "`, conductor.FundingKey},
		`sk-12345678`:               {`sk-12345678\u0041`, conductor.BadFunding},
		`"v":1`:                     {`"v":2`, conductor.BadFunding},
		`,"v":1}`:                   {`}`, conductor.BadFunding},
		`{"hotkey"`:                 {`{"x":1,"hotkey"`, conductor.BadFunding},
		`"hotkey":"` + hotkey + `"`: {`"hotkey":"` + ss58.Encode([32]byte{9}) + `"`, conductor.FundingForeign},
		`"registration_id":"ab`:     {`"registration_id":"cd`, conductor.FundingForeign},
	} {
		bad := strings.Replace(plain, old, c.new, 1)
		key, err := funding.Plain(v, []byte(bad))
		if fault.Of(err) != c.want || key != "" {
			t.Errorf("%s: %q, %v", bad, key, err)
		}
		if err != nil && strings.Contains(err.Error(), "sk-1234") {
			t.Errorf("a refusal quotes the key: %v", err)
		}
	}
	if _, err := funding.Plain(funding.Verified{}, []byte(plain)); fault.Of(err) != conductor.BadFunding {
		t.Errorf("the zero Verified opened a text: %v", err)
	}
	if _, err := funding.AppendPlain(nil, funding.Expected{Hotkey: "5F", Registration: want.Registration}, "sk-12345678"); fault.Of(err) != conductor.BadFunding {
		t.Errorf("%v", err)
	}
	if _, err := funding.AppendPlain(nil, funding.Expected{Hotkey: hotkey, Registration: "x"}, "sk-12345678"); fault.Of(err) != conductor.BadFunding {
		t.Errorf("%v", err)
	}
}

func TestARecordIsSignedByItsHotkeyOnly(t *testing.T) {
	r := funding.Record{Hotkey: hotkey, Registration: want.Registration, Cap: 1, Ciphertext: []byte("x")}
	if _, err := r.Sign(sign.NewEd25519([32]byte{4})); fault.Of(err) != conductor.FundingForeign {
		t.Errorf("%v", err)
	}
	if _, err := r.Sign(broken{miner}); fault.Of(err) != sign.SignerFailed {
		t.Errorf("%v", err)
	}
	if _, err := r.Line(); fault.Of(err) != conductor.BadFunding {
		t.Errorf("a record without a signature was written: %v", err)
	}
}

// broken signs nothing that holds.
type broken struct{ sign.Signer }

func (broken) Sign([]byte) ([]byte, error) { return make([]byte, 64), nil }

func FuzzCheck(f *testing.F) {
	f.Add([]byte(record(f, nil)))
	f.Add([]byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if r, err := funding.Parse(text); err == nil {
			if line, err := r.Line(); err != nil || !bytes.Equal(bytes.TrimSuffix(line, []byte("\n")), bytes.TrimSuffix(text, []byte("\n"))) {
				t.Errorf("%q is written again as %q, %v", text, line, err)
			}
		}
		if v, err := funding.Check(text, want); (err == nil) == v.IsZero() {
			t.Errorf("%v", err)
		}
	})
}
