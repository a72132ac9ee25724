package canon_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/core/canon"
	"assay/core/fault"
)

func TestDecodeIsStrict(t *testing.T) {
	for text, want := range map[string]fault.Code{
		``: canon.Syntax, ` `: canon.Syntax, `{`: canon.Syntax, `{"a":1,}`: canon.Syntax, `[1,]`: canon.Syntax, `01`: canon.Syntax,
		`1.`: canon.Syntax, `.5`: canon.Syntax, `+1`: canon.Syntax, `1e`: canon.Syntax, `'a'`: canon.Syntax, `{a:1}`: canon.Syntax,
		`1 2`: canon.Syntax, `{} x`: canon.Syntax, "\ufeff1": canon.Syntax, "\"a\nb\"": canon.Syntax, `"\x41"`: canon.Syntax,
		`truE`: canon.Syntax, `True`: canon.Syntax, `undefined`: canon.Syntax,
		`{"a":1,"a":1}`: canon.DuplicateKey, `{"a":{"b":1,"\u0062":2}}`: canon.DuplicateKey,
		`"\ud800"`: canon.LoneSurrogate, `"\udc00\ud800"`: canon.LoneSurrogate, "\"\xff\"": canon.LoneSurrogate, "\"\xed\xa0\x80\"": canon.LoneSurrogate,
		`{"UTF-8":[1,}`: canon.Syntax, `{"invalid surrogate pair ":[}`: canon.Syntax, `["invalid UTF-8" x]`: canon.Syntax, `"\surrogate"`: canon.Syntax,
		`{"a":"\ud800",}`: canon.LoneSurrogate,
		`NaN`:             canon.NotFinite, `[1, -NaN]`: canon.NotFinite, `{"a" : NaN}`: canon.NotFinite, `[-Infinity]`: canon.NotFinite, `1e400`: canon.NotFinite, `-1e309`: canon.NotFinite,
	} {
		if v, err := canon.Decode([]byte(text)); fault.Of(err) != want {
			t.Errorf("Decode(%q) = %v, %v, want %s", text, v, err, want.Name())
		}
	}
}

func TestDecodeTellsIntegersFromFloats(t *testing.T) {
	for text, want := range map[string]any{
		`1`: canon.Int("1"), `1.0`: 1.0, `1e0`: 1.0, `-0`: canon.Int("0"), `-0.0`: math.Copysign(0, -1), `1E+2`: 100.0, `1e-400`: 0.0,
		`123456789012345678901234567890`: canon.Int("123456789012345678901234567890"),
		`"\ud83d\ude00\/"`:               "😀/", ` [ null , true ] `: []any{nil, true}, `{"a":{"b":[]}}`: canon.Object{"a": canon.Object{"b": []any{}}},
	} {
		got, err := canon.Decode([]byte(text))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("Decode(%s): %v %s", text, err, diff)
		}
	}
}

func TestDecodeLastKeepsTheLastOfEqualKeys(t *testing.T) {
	got, err := canon.DecodeLast([]byte(`{"a":1,"b":{"c":1,"c":2},"a":3}`))
	want := canon.Object{"a": canon.Int("3"), "b": canon.Object{"c": canon.Int("2")}}
	if diff := cmp.Diff(any(want), got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestDecodeObjectWantsAnObject(t *testing.T) {
	if _, err := canon.DecodeObject([]byte(`[{}]`)); fault.Of(err) != canon.WrongType {
		t.Errorf("a list: %v", err)
	}
	if o, err := canon.DecodeObject([]byte(`{"a":1}`)); err != nil || o["a"] != canon.Int("1") {
		t.Errorf("an object: %v, %v", o, err)
	}
}

func TestNestingIsReadToItsBound(t *testing.T) {
	nest := func(open, closing string, n int) []byte {
		return []byte(strings.Repeat(open, n) + "1" + strings.Repeat(closing, n))
	}
	for _, c := range []struct {
		open, closing string
	}{{"[", "]"}, {`{"a":`, "}"}} {
		for _, n := range []int{1, 200, 5000} {
			text := nest(c.open, c.closing, n)
			v, err := canon.Decode(text)
			if err != nil {
				t.Fatalf("%d levels: %v", n, err)
			}
			if got, err := canon.UTF8(v); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%d levels did not come back: %v", n, err)
			}
		}
		for _, n := range []int{15_000, 1_000_000} {
			if _, err := canon.Decode(nest(c.open, c.closing, n)); fault.Of(err) != canon.Syntax {
				t.Errorf("%d levels: %v", n, err)
			}
		}
	}
}

func TestForms(t *testing.T) {
	v := canon.Object{
		"b": []any{nil, true, int64(-1), uint64(math.MaxUint64), 2, canon.Int("30"), 1e16, 1.0, canon.Raw("raw")},
		"a": "ü\x7f\u2028😀\"\\\b\f\n\r\t\x00", "ﬀ": []string{"x"}, "😀": canon.Object{},
	}
	for name, c := range map[string]struct {
		write func(any) ([]byte, error)
		want  string
	}{
		"UTF8":  {canon.UTF8, "{\"a\":\"ü\x7f\u2028😀\\\"\\\\\\b\\f\\n\\r\\t\\u0000\",\"b\":[null,true,-1,18446744073709551615,2,30,1e+16,1.0,raw],\"ﬀ\":[\"x\"],\"😀\":{}}"},
		"ASCII": {canon.ASCII, `{"a":"\u00fc\u007f\u2028\ud83d\ude00\"\\\b\f\n\r\t\u0000","b":[null,true,-1,18446744073709551615,2,30,1e+16,1.0,raw],"\ufb00":["x"],"\ud83d\ude00":{}}`},
	} {
		got, err := c.write(v)
		if diff := cmp.Diff(c.want, string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func TestFormsRefuseWhatHasNone(t *testing.T) {
	for name, c := range map[string]struct {
		v    any
		want fault.Code
	}{
		"NaN": {math.NaN(), canon.NotFinite}, "infinity inside": {[]any{math.Inf(-1)}, canon.NotFinite},
		"bytes": {"\xff", canon.LoneSurrogate}, "bytes in a key": {canon.Object{"\xc0": 1}, canon.LoneSurrogate},
	} {
		for _, write := range []func(any) ([]byte, error){canon.UTF8, canon.ASCII} {
			if got, err := write(c.v); fault.Of(err) != c.want || got != nil {
				t.Errorf("%s: %s, %v", name, got, err)
			}
		}
	}
}

func TestStructReaders(t *testing.T) {
	type doc struct {
		Name string `json:"name"`
		N    int    `json:"n"`
	}
	for text, want := range map[string][2]fault.Code{ // what Strict and Lenient refuse
		`{"name":"a","n":1}`:          {},
		`{"name":"a","n":1,"more":0}`: {canon.UnknownMember, {}},
		`{"Name":"a"}`:                {canon.UnknownMember, {}},
		`{"n":"1"}`:                   {canon.WrongType, canon.WrongType},
		`{"n":1.5}`:                   {canon.WrongType, canon.WrongType},
		`{"n": NaN}`:                  {canon.NotFinite, canon.NotFinite},
		`{"name":["UTF-8",}`:          {canon.Syntax, canon.Syntax},
		`{"n":1,"n":1}`:               {canon.DuplicateKey, canon.DuplicateKey},
		`{"n":1} {}`:                  {canon.Syntax, canon.Syntax},
		`{"name":"\ud800"}`:           {canon.LoneSurrogate, canon.LoneSurrogate},
	} {
		if err := canon.Strict([]byte(text), new(doc)); fault.Of(err) != want[0] {
			t.Errorf("Strict(%s) = %v, want %q", text, err, want[0].Name())
		}
		if err := canon.Lenient([]byte(text), new(doc)); fault.Of(err) != want[1] {
			t.Errorf("Lenient(%s) = %v, want %q", text, err, want[1].Name())
		}
	}
}

// What is read and written is read again as the same value and written as the same bytes, in both forms.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"b":[1,1.0,-0,-0.0,1e-7],"a":"\ud83d\ude00\u007f"}`, `123456789012345678901234567890`, `[[[[]]]]`, `{"a":{"a":{}}}`,
		`"\u2028"`, ` null `, `1e400`, `{"a":1,"a":2}`, "\"\xff\"", `-0`, `0e5`, `NaN`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := canon.Decode(text)
		if last, lastErr := canon.DecodeLast(text); err == nil && (lastErr != nil || !cmp.Equal(v, last)) {
			t.Errorf("DecodeLast reads %q as %v, %v, not as %v", text, last, lastErr, v)
		}
		if err != nil {
			if fault.Of(err) == fault.Unknown {
				t.Errorf("%q: an error without a code: %v", text, err)
			}
			return
		}
		for _, write := range []func(any) ([]byte, error){canon.UTF8, canon.ASCII} {
			once, err := write(v)
			if err != nil {
				t.Fatalf("%q was read and cannot be written: %v", text, err)
			}
			again, err := canon.Decode(once)
			if err != nil || !cmp.Equal(v, again) {
				t.Fatalf("%q is read as %v, %v, want %v", once, again, err, v)
			}
			if twice, _ := write(again); !bytes.Equal(once, twice) {
				t.Fatalf("%q became %q", once, twice)
			}
		}
	})
}

func BenchmarkASCII(b *testing.B) {
	v, err := canon.Decode([]byte(`{"model":"acme/large","messages":[{"role":"user","content":"` + strings.Repeat("some words, größer ", 200) + `"}],"temperature":0.0}`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := canon.ASCII(v); err != nil {
			b.Fatal(err)
		}
	}
}
