package canon_test

import (
	"testing"

	"pgregory.net/rapid"

	"assay/core/canon"
)

func TestPeek(t *testing.T) {
	text := []byte(`{"a":"x,\"b\":\"no\",","b":"y\\","c":-1.5,"d":null,"e":{"f":true}}`)
	for member, want := range map[string]string{"a": `"x,\"b\":\"no\","`, "b": `"y\\"`, "c": "-1.5", "d": "null", "f": "true", "g": ""} {
		if got := string(canon.Peek(text, member)); got != want {
			t.Errorf("%s: %s", member, got)
		}
	}
}

func TestProperty_peek_finds_what_decoding_finds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := canon.Object{"a": rapid.String().Draw(t, "a"), "m": rapid.String().Draw(t, "m"), "z": rapid.Int64().Draw(t, "z")}
		text, err := canon.UTF8(o)
		if err != nil {
			t.Skip("no text")
		}
		for k, v := range o {
			want, err := canon.UTF8(v)
			if err != nil {
				t.Fatal(err)
			}
			if got := canon.Peek(text, k); string(got) != string(want) {
				t.Fatalf("%s of %s: %s", k, text, got)
			}
		}
	})
}
