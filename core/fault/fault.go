// Package fault gives every refusal a name, a kind and a fixed public sentence.
//
// Invariants:
//   - Kind says what a caller does next, Code says which refusal it was, and the cause is for the operator's log only.
//   - The public sentence is a constant: foreign bytes reach a reader only through a typed Field, quoted and clipped.
package fault

import (
	"errors"
	"strconv"
	"strings"

	"assay/core/text"
)

// Kind is what to do next about a refusal. The list is closed.
type Kind uint8

// The kinds, in the order of house rule 5.
const (
	Internal        Kind = iota // our own bug
	Invalid                     // the input breaks a rule; fix it and send it again
	Unauthenticated             // the signature or nonce does not hold
	Forbidden                   // who asks may not
	NotFound                    // there is no such thing
	NotAllowed                  // the thing exists, this cannot be done to it
	Conflict                    // another value already stands
	TooLarge                    // over a declared bound
	Exhausted                   // a budget is gone
	Unready                     // come back later
	Uncertain                   // it may or may not have happened; reconcile
)

var kindNames = [...]string{
	"internal", "invalid", "unauthenticated", "forbidden", "not found", "not allowed",
	"conflict", "too large", "exhausted", "unready", "uncertain",
}

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Code names one refusal. Codes compare with ==. The zero Code is no refusal and belongs to nobody.
type Code struct {
	name   string
	kind   Kind
	public string
}

// NewCode declares a refusal: name is "room.what" and is never reused, public is the sentence that strangers read.
func NewCode(name string, kind Kind, public string) Code {
	return Code{name: name, kind: kind, public: public}
}

// Name returns the code's dotted name, for instance "conductor.no_rate".
func (c Code) Name() string { return c.name }

// Word returns the part of the name behind its last dot.
func (c Code) Word() string { return c.name[strings.LastIndexByte(c.name, '.')+1:] }

// Kind returns what to do next.
func (c Code) Kind() Kind { return c.kind }

// Public returns the fixed sentence.
func (c Code) Public() string { return c.public }

// Because makes an error of the code. The cause is printed by Error, never by Public.
func (c Code) Because(cause error) *Error { return &Error{code: c, cause: cause} }

// With makes an error of the code that names its subject in typed fields.
func (c Code) With(fields ...Field) *Error { return &Error{code: c, fields: fields} }

// Unknown is the code of an error that carries none: a bug of ours until shown otherwise.
var Unknown = NewCode("internal", Internal, "internal error")

// Field is one typed extension of an error.
type Field struct{ key, value string }

// maxField is the longest text in bytes that a field shows of a foreign value.
const maxField = 200

// Str is a text field; its value is shown quoted and clipped to 200 bytes.
func Str(key, value string) Field {
	return Field{key, text.Quote(value, maxField)}
}

// Int is a whole-number field.
func Int(key string, value int64) Field { return Field{key, strconv.FormatInt(value, 10)} }

// Float is a number field.
func Float(key string, value float64) Field {
	return Field{key, strconv.FormatFloat(value, 'g', -1, 64)}
}

// Error is a refusal: a code, typed fields and a private cause.
type Error struct {
	code   Code
	fields []Field
	cause  error
}

// With returns a copy of e that carries the further fields.
func (e *Error) With(fields ...Field) *Error {
	return &Error{code: e.code, cause: e.cause, fields: append(e.fields[:len(e.fields):len(e.fields)], fields...)}
}

// Because returns a copy of e with the given private cause.
func (e *Error) Because(cause error) *Error {
	return &Error{code: e.code, cause: cause, fields: e.fields}
}

// Code returns the refusal's code.
func (e *Error) Code() Code { return e.code }

// Public returns the fixed sentence followed by the fields: what a stranger may read.
func (e *Error) Public() string {
	if len(e.fields) == 0 {
		return e.code.public
	}
	var b strings.Builder
	b.WriteString(e.code.public)
	for i, f := range e.fields {
		b.WriteString(map[bool]string{true: ": ", false: ", "}[i == 0])
		b.WriteString(f.key + " " + f.value)
	}
	return b.String()
}

// Error returns Public and the private cause, for logs and for the operator's own terminal.
func (e *Error) Error() string {
	if e.cause == nil {
		return e.Public()
	}
	return e.Public() + ": " + e.cause.Error()
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is an *Error of the same code, so that errors.Is(err, Code.With()) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.code == e.code && t.cause == nil && len(t.fields) == 0
}

// Of returns the code of the outermost *Error in err's chain, or Unknown. Of(nil) is the zero Code.
func Of(err error) Code {
	if err == nil {
		return Code{}
	}
	var e *Error
	if errors.As(err, &e) {
		return e.code
	}
	return Unknown
}
