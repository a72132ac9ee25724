package run

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"assay/core/fault"
)

// Journal keeps the records of many runs, each run's in order.
type Journal interface {
	// Enter returns what the journal holds of a run, oldest first, and takes the run: until Leave, Enter refuses it.
	Enter(run string) ([]Record, error)
	// Append writes a record of an entered run behind all others and returns its position, perhaps before it is on disk.
	// It keeps nothing of the record's bytes.
	Append(r Record) (position int64, err error)
	// Sync returns when the record at position and all before it are on disk.
	Sync(position int64) error
	// Leave gives an entered run back.
	Leave(run string)
}

// Kind is what a record says. The words stand in the journal.
type Kind string

// The kinds. A run's records are Begin, then pairs of Intent and Result (or Doubt) and single Results, then End.
const (
	Begin  Kind = "begin"  // the run starts; the key says what it is about
	Intent Kind = "intent" // the effect of this key is about to begin
	Result Kind = "result" // the effect of this key gave this event
	Doubt  Kind = "doubt"  // nobody knows what became of the effect of this key; the machine was told this event
	End    Kind = "end"    // the machine is done
)

// Record is one line of a journal.
type Record struct {
	Run   string // up to 512 bytes of UTF-8
	Kind  Kind
	Key   string // up to 512 bytes of UTF-8; empty in End
	Event []byte // one line of JSON in Result and Doubt
}

// maxName is the longest run id or key in bytes.
const maxName = 512

// check refuses a record that could not be read back.
func (r Record) check() error {
	if r.Run == "" || len(r.Run) > maxName || len(r.Key) > maxName || !utf8.ValidString(r.Run) || !utf8.ValidString(r.Key) {
		return BadRecord.With(fault.Str("run", r.Run), fault.Str("key", r.Key))
	}
	hasEvent := false
	switch r.Kind {
	case Begin, Intent, End:
	case Result, Doubt:
		hasEvent = true
	default:
		return BadRecord.With(fault.Str("kind", string(r.Kind)))
	}
	if hasEvent != (r.Event != nil) || (r.Kind == End && r.Key != "") {
		return BadRecord.With(fault.Str("run", r.Run), fault.Str("kind", string(r.Kind)))
	}
	if hasEvent && !oneValue(r.Event) {
		return BadRecord.With(fault.Str("run", r.Run), fault.Str("key", r.Key))
	}
	return nil
}

// oneValue reports whether text is one JSON value without blanks around it and without line ends.
func oneValue(text []byte) bool {
	if len(text) == 0 || text[0] <= ' ' || text[len(text)-1] <= ' ' {
		return false
	}
	for _, c := range text {
		if c == '\n' || c == '\r' {
			return false
		}
	}
	return jsontext.Value(text).IsValid()
}

// order is how far a run's records have come: the part of a run that says which record may follow.
type order struct {
	about  string
	begun  bool
	ended  bool
	intent string // key of an intent without a result; only with open
	open   bool
}

// admit moves on by one record or refuses it.
func (o *order) admit(r Record) error {
	ok := o.begun && !o.ended
	switch r.Kind {
	case Begin:
		ok = !o.begun
	case Intent, End:
		ok = ok && !o.open
	case Result:
		ok = ok && (!o.open || o.intent == r.Key)
	case Doubt:
		ok = ok && o.open && o.intent == r.Key
	}
	if !ok {
		return Misplaced.With(fault.Str("run", r.Run), fault.Str("kind", string(r.Kind)), fault.Str("key", r.Key))
	}
	switch r.Kind {
	case Begin:
		o.begun, o.about = true, r.Key
	case Intent:
		o.open, o.intent = true, r.Key
	case Result, Doubt:
		o.open, o.intent = false, ""
	case End:
		o.ended = true
	}
	return nil
}
