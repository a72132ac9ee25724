package canon

import (
	"bytes"

	"github.com/go-json-experiment/json"

	"assay/core/fault"
)

// Spelling refuses a text that says the same as another one that would have been written.
var Spelling = fault.NewCode("canon.spelling", fault.Invalid, "the text is not spelled as it would be written")

// Float is a float64 in a Go struct that Marshal writes as AppendFloat does: 1.0 and not 1.
type Float float64

// MarshalJSON writes the number.
func (f Float) MarshalJSON() ([]byte, error) {
	if f-f != 0 {
		return nil, NotFinite.With()
	}
	return AppendFloat(nil, float64(f)), nil
}

// Marshal writes a Go value with json tags in the UTF8 form. Fields that are float64 must be of type Float, else whole
// numbers lose their point.
func Marshal(v any) ([]byte, error) { return marshal(v, UTF8) }

// MarshalASCII is Marshal in the ASCII form, the form of signed records.
func MarshalASCII(v any) ([]byte, error) { return marshal(v, ASCII) }

func marshal(v any, form func(any) ([]byte, error)) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, Refuse(nil, err)
	}
	tree, err := Decode(text)
	if err != nil {
		return nil, err
	}
	return form(tree)
}

// Record returns a Go value with json tags as an Object, for signing.
func Record(v any) (Object, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, Refuse(nil, err)
	}
	return DecodeObject(text)
}

// Unmarshal reads what Marshal wrote into v, strictly: a text that Marshal would not write byte for byte is refused.
func Unmarshal(text []byte, v any) error {
	if err := Strict(text, v); err != nil {
		return err
	}
	again, err := Marshal(v)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, text) {
		return Spelling.With(fault.Int("byte", int64(differ(again, text))))
	}
	return nil
}

// differ returns the offset of the first byte in which the texts differ.
func differ(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
