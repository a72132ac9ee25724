package world

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assay/core/canon"
	"assay/core/fault"
	"assay/core/text"
)

// doubt says which fields of a row cannot be judged any more: they are wrong already, or they lie behind the place where the
// row ceases to be JSON. A nil doubt is none.
type doubt struct {
	wrong, seen map[string]bool
	cut         bool // the row was not read to its end
}

// of reports whether nothing more can be said of a field.
func (d *doubt) of(field string) bool {
	return d != nil && (d.wrong[field] || d.cut && !d.seen[field])
}

// Decode reads one JSON value into v. It notes everything that is wrong with it, returns false then, and leaves in v what
// could be read.
func (b *Builder) Decode(at Place, text []byte, v any) bool { return b.decode(at, text, v) == nil }

func (b *Builder) decode(at Place, text []byte, v any) *doubt {
	err := canon.Lenient(text, v)
	if err == nil {
		return nil
	}
	w := walk{b: b, at: at, text: text, lines: lineCounter{text: text}, doubt: doubt{wrong: map[string]bool{}, seen: map[string]bool{}}}
	if s := reflect.ValueOf(v).Elem(); s.Kind() == reflect.Struct {
		s.SetZero()
		w.object(s)
	}
	if !w.told {
		b.badJSON(at, text, "", err)
		w.doubt.cut = true
	}
	return &w.doubt
}

// walk reads an object member by member, because a decoder stops at the first that does not fit.
type walk struct {
	b      *Builder
	at     Place
	text   []byte
	lines  lineCounter    // of text, from 0
	fields map[string]any // where members go, by their keys
	told   bool           // a defect was noted
	doubt  doubt
}

func (w *walk) object(s reflect.Value) {
	d := jsontext.NewDecoder(bytes.NewReader(w.text), jsontext.AllowDuplicateNames(true))
	if d.PeekKind() != '{' {
		w.doubt.cut = true
		return // the decoder's own error says it
	}
	d.ReadToken()
	w.fields = map[string]any{}
	for i := range s.NumField() {
		if key, _, _ := strings.Cut(s.Type().Field(i).Tag.Get("json"), ","); key != "" {
			w.fields[key] = s.Field(i).Addr().Interface()
		}
	}
	for d.PeekKind() != '}' && !w.b.more {
		tok, err := d.ReadToken()
		if err != nil {
			w.end(err)
			return
		}
		name := tok.String() // before the next read, which reuses the token's buffer
		value, err := d.ReadValue()
		if err != nil {
			w.end(err)
			return
		}
		w.member(name, value, int(d.InputOffset())-len(value))
	}
	if w.b.more {
		w.told, w.doubt.cut = true, true
		return // nothing that is found further on would be listed
	}
	if _, err := d.ReadToken(); err != nil {
		w.end(err)
		return
	}
	if rest := bytes.TrimLeft(w.text[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		w.told, w.doubt.cut = true, true
		w.b.Defect(w.at, NotJSON, "not one JSON value: text behind it%s", position(w.text, len(w.text)-len(rest)))
	}
}

// end notes that the object cannot be read on.
func (w *walk) end(err error) {
	w.told, w.doubt.cut = true, true
	w.b.badJSON(w.at, w.text, "", canon.Refuse(w.text, err))
}

func (w *walk) member(name string, value []byte, offset int) {
	at := w.at
	if at.Line > 0 {
		at.Line += w.lines.at(offset)
	}
	if w.doubt.seen[name] {
		w.told, w.doubt.wrong[name] = true, true
		w.b.Defect(at, DuplicateKey, "duplicate key "+Quote(name))
		return
	}
	w.doubt.seen[name] = true
	var unknown jsontext.Value
	into, known := w.fields[name]
	if !known {
		into = &unknown
	}
	if err := canon.Lenient(value, into); err != nil {
		w.told, w.doubt.wrong[name] = true, true
		w.b.badJSON(at, value, name, err)
	}
}

// badJSON notes what core/canon refused of text, which is the value of a field or, for "", a whole value. A decoder's own words
// may quote without a bound, so none of them are shown.
func (b *Builder) badJSON(at Place, text []byte, field string, err error) {
	var meaning *json.SemanticError
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) && at.Line == 0 { // a whole file
		at.Line = 1 + bytes.Count(text[:min(max(int(syntax.ByteOffset), 0), len(text))], []byte("\n"))
	}
	switch code := fault.Of(err); {
	case code == canon.DuplicateKey && errors.As(err, &syntax):
		b.Defect(at, DuplicateKey, "duplicate key "+Quote(syntax.JSONPointer.LastToken()))
	case code == canon.WrongType && errors.As(err, &meaning):
		b.Defect(at, WrongType, mismatch(strings.TrimPrefix(field+string(meaning.JSONPointer), "/"), meaning))
	case code == canon.NotFinite:
		b.Defect(at, NotJSON, "not JSON: NaN and Infinity are no JSON numbers")
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		b.Defect(at, NotJSON, "not JSON: the text ends in the middle")
	case code == canon.LoneSurrogate && errors.As(err, &syntax):
		b.Defect(at, NotJSON, "not UTF-8, or half of a surrogate pair,%s", position(text, int(syntax.ByteOffset)))
	case errors.As(err, &syntax):
		b.Defect(at, NotJSON, "not JSON: %s", unexpected(text, int(syntax.ByteOffset)))
	default:
		b.Defect(at, NotJSON, "")
	}
}

// position says where in its line a byte stands.
func position(text []byte, offset int) string {
	offset = min(max(offset, 0), len(text))
	return " at byte " + strconv.Itoa(offset-bytes.LastIndexByte(text[:offset], '\n'))
}

// unexpected says what stands where something else had to.
func unexpected(text []byte, offset int) string {
	offset = min(max(offset, 0), len(text))
	before, rest := bytes.TrimRight(text[:offset], " \t\r\n"), bytes.TrimLeft(text[offset:], " \t\r\n")
	if bytes.HasPrefix(rest, []byte(",")) { // some errors point at the comma, some behind it
		before, rest = append(before[:len(before):len(before)], ','), bytes.TrimLeft(rest[1:], " \t\r\n")
	}
	if bytes.HasSuffix(before, []byte(",")) && len(rest) > 0 && (rest[0] == '}' || rest[0] == ']') {
		return "a comma before the closing " + string(rest[:1]) + position(text, len(before)-1)
	}
	_, size := utf8.DecodeRune(text[offset:])
	end := offset + size
	if word := bytes.TrimLeftFunc(text[offset:], isWord); len(word) < len(text)-offset { // a decoder stops within a word
		offset, end = len(bytes.TrimRightFunc(text[:offset], isWord)), len(text)-len(word)
	}
	return "unexpected " + Quote(string(text[offset:end])) + position(text, offset)
}

func isWord(r rune) bool {
	return r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// mismatch says what a field must be and what it is.
func mismatch(field string, e *json.SemanticError) string {
	who := "field " + Quote(field)
	if field == "" {
		who = "the value"
	}
	t := e.GoType
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return who + " has the wrong type"
	}
	must := map[reflect.Kind]string{
		reflect.String: "a string", reflect.Float64: "a number", reflect.Int64: "a whole number", reflect.Bool: "true or false",
		reflect.Slice: "a list", reflect.Struct: "an object", reflect.Map: "an object",
	}[t.Kind()]
	is := kindName(e.JSONKind)
	if e.JSONKind == '0' && (t.Kind() == reflect.Int64 || t.Kind() == reflect.Float64) {
		must, is = must+" within range", text.Clip(string(e.JSONValue), 60)
		if strings.ContainsAny(is, ".eE") && t.Kind() == reflect.Int64 {
			must = "a whole number"
		}
	}
	return who + " must be " + must + ", is " + is
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[':
		return "a list"
	}
	return "an object"
}
