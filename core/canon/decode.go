package canon

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assay/core/fault"
)

// Decode reads one JSON text strictly: duplicate members, lone surrogates, bytes that are not UTF-8,
// numbers that overflow and anything behind the value are refused.
// A literal with a fraction or an exponent is a float64, any other number an Int.
func Decode(text []byte) (any, error) { return decode(text, false) }

// DecodeLast is Decode, except that of members with equal keys the last counts.
func DecodeLast(text []byte) (any, error) { return decode(text, true) }

// DecodeObject is Decode for a document that must be an object.
func DecodeObject(text []byte) (Object, error) {
	v, err := Decode(text)
	if err != nil {
		return nil, err
	}
	o, ok := v.(Object)
	if !ok {
		return nil, WrongType.Because(errNotObject)
	}
	return o, nil
}

func decode(text []byte, lastWins bool) (any, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(lastWins))
	v, err := readValue(d)
	if err != nil {
		return nil, Refuse(text, err)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, Syntax.Because(errors.New("text behind the value"))
	}
	return v, nil
}

func readValue(d *jsontext.Decoder) (any, error) {
	tok, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return tok.Bool(), nil
	case '"':
		return tok.String(), nil
	case '0':
		return number(tok.String())
	case '[':
		list := []any{}
		for d.PeekKind() != ']' {
			e, err := readValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, e)
		}
		_, err := d.ReadToken()
		return list, err
	}
	o := Object{}
	for d.PeekKind() != '}' {
		key, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		name := key.String() // before the next read, which reuses the token's buffer
		if o[name], err = readValue(d); err != nil {
			return nil, err
		}
	}
	_, err = d.ReadToken()
	return o, err
}

func number(s string) (any, error) {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, NotFinite.With()
		}
		return f, nil
	}
	if s == "-0" {
		s = "0"
	}
	return Int(s), nil
}

// Refuse maps the error of a reader of text to this room's codes. An error that carries a code already keeps it.
func Refuse(text []byte, err error) error {
	var own *fault.Error
	var syntax *jsontext.SyntacticError
	var meaning *json.SemanticError
	switch {
	case errors.As(err, &own):
		return err
	case errors.Is(err, jsontext.ErrDuplicateName):
		return DuplicateKey.Because(err)
	case errors.Is(err, json.ErrUnknownName):
		return UnknownMember.Because(err)
	case errors.As(err, &syntax) && badText(syntax):
		return LoneSurrogate.Because(err)
	case errors.As(err, &syntax) && atWord(text, syntax):
		return NotFinite.Because(err)
	case errors.As(err, &meaning):
		return WrongType.Because(err)
	}
	return Syntax.Because(err)
}

// badText reports whether a reader stopped at bytes that are not UTF-8 or at half of a surrogate pair. The reader exports no
// error for either, so its own words decide; what it quotes of the text stands behind them.
func badText(err *jsontext.SyntacticError) bool {
	said := err.Err.Error()
	return said == "invalid UTF-8" || strings.HasPrefix(said, "invalid surrogate pair ")
}

// atWord reports whether a reader stopped at NaN or Infinity: words that other readers take for numbers.
func atWord(text []byte, err *jsontext.SyntacticError) bool {
	rest := bytes.TrimLeft(text[min(max(err.ByteOffset, 0), int64(len(text))):], "-:,[ \t\r\n")
	return bytes.HasPrefix(rest, []byte("NaN")) || bytes.HasPrefix(rest, []byte("Infinity"))
}

// Text returns what a JSON string says, and "" for any other value. Halves of surrogate pairs and bytes that are not UTF-8
// become U+FFFD.
func Text(raw jsontext.Value) string {
	if raw.Kind() != '"' {
		return ""
	}
	b, _ := jsontext.AppendUnquote(nil, raw) // an error means that something was replaced
	return string(b)
}

// Strict reads text into the Go value that v points to: keys must match in case, and unknown or duplicate members,
// bad UTF-8 and anything behind the value are refused.
func Strict(text []byte, v any) error {
	if err := json.Unmarshal(text, v, json.RejectUnknownMembers(true)); err != nil {
		return Refuse(text, err)
	}
	return nil
}

// Lenient is Strict without the refusal of unknown members, for documents that others may extend.
func Lenient(text []byte, v any) error {
	if err := json.Unmarshal(text, v); err != nil {
		return Refuse(text, err)
	}
	return nil
}
