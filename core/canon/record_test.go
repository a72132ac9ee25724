package canon_test

import (
	"math"
	"testing"

	"assay/core/canon"
	"assay/core/fault"
)

type note struct {
	Word  string      `json:"word"`
	Share canon.Float `json:"share"`
	Count int64       `json:"count"`
	List  []string    `json:"list,omitzero"`
}

func TestAStructIsWrittenInCanonicalForm(t *testing.T) {
	n := note{Word: "grö<ß>", Share: 1, Count: 3}
	got, err := canon.Marshal(n)
	if want := `{"count":3,"share":1.0,"word":"grö<ß>"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	got, err = canon.MarshalASCII(n)
	if want := `{"count":3,"share":1.0,"word":"gr\u00f6<\u00df>"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	o, err := canon.Record(n)
	if err != nil || o["share"] != 1.0 || o["count"] != canon.Int("3") {
		t.Errorf("%v, %v", o, err)
	}
	if _, err := canon.Marshal(note{Share: canon.Float(math.NaN())}); fault.Of(err) != canon.NotFinite {
		t.Errorf("NaN: %v", err)
	}
}

func TestUnmarshalKnowsOneSpelling(t *testing.T) {
	for text, want := range map[string]fault.Code{
		`{"count":3,"share":1.0,"word":"w"}`:           {},
		`{"count":3,"share":1.0,"word":"\u0077"}`:      canon.Spelling,
		`{"count":3,"share":1,"word":"w"}`:             canon.Spelling,
		`{"share":1.0,"count":3,"word":"w"}`:           canon.Spelling,
		`{"count":3,"share":1.0,"word":"w"} `:          canon.Spelling,
		`{"count":3,"share":1.0,"word":"w","list":[]}`: canon.Spelling,
		`{"count":3,"share":1.0,"word":"w","x":1}`:     canon.UnknownMember,
		`{"count":3,"share":1.0}`:                      canon.Spelling,
		`{`:                                            canon.Syntax,
	} {
		var n note
		if err := canon.Unmarshal([]byte(text), &n); fault.Of(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
