package world

import (
	"strconv"

	"assay/conductor"
	"assay/core/fault"
	"assay/core/text"
)

// The defects of a world's files.
var (
	MissingFile   = fault.NewCode("world.missing_file", fault.NotFound, "a file of the world is missing")
	AmbiguousFile = fault.NewCode("world.ambiguous_file", fault.Invalid, "a file of the world stands there both plain and compressed")
	Unreadable    = fault.NewCode("world.unreadable", fault.Invalid, "a file of the world cannot be read to its end")
	TooLarge      = fault.NewCode("world.too_large", fault.TooLarge, "a world exceeds its bounds")
	NotJSON       = fault.NewCode("world.not_json", fault.Invalid, "not one JSON value in UTF-8")
	NotCSV        = fault.NewCode("world.not_csv", fault.Invalid, "not a table of comma-separated values")
	DuplicateKey  = fault.NewCode("world.duplicate_key", fault.Invalid, "an object holds a key twice")
	WrongType     = fault.NewCode("world.wrong_type", fault.Invalid, "a value has another type than its field")
	MissingField  = fault.NewCode("world.missing_field", fault.Invalid, "a field that must say something is missing or empty")
	DuplicateID   = fault.NewCode("world.duplicate_id", fault.Invalid, "an id stands twice")
	BadID         = fault.NewCode("world.bad_id", fault.Invalid, "an id is too long, or holds white space or what cannot be seen")
	BadPrice      = fault.NewCode("world.bad_price", fault.Invalid, "a list price is a number of dollars that is not negative")
	BadCost       = fault.NewCode("world.bad_cost", fault.Invalid, "a cost is a number of dollars that is not negative")
	BadTokens     = fault.NewCode("world.bad_tokens", fault.Invalid, "a count of tokens is a whole number that is not negative")
	BadContext    = fault.NewCode("world.bad_context", fault.Invalid, "a context length is a positive whole number")
	BadScore      = fault.NewCode("world.bad_score", fault.Invalid, "a score lies in zero to one, and a failure scores nothing")
	NoGrader      = fault.NewCode("world.no_grader", fault.Invalid, "a score is neither recorded nor can it be recomputed")
	UnknownTask   = fault.NewCode("world.unknown_task", fault.NotFound, "an outcome is of a task that the world does not hold")
	UnknownModel  = fault.NewCode("world.unknown_model", fault.NotFound, "an outcome is of a model that the world does not hold")
	NoOutcome     = fault.NewCode("world.no_outcome", fault.NotFound, "outcomes are recorded, but not for every task and model")
	Empty         = fault.NewCode("world.empty", fault.Invalid, "a world holds at least one model and one task")
	More          = fault.NewCode("world.more", fault.TooLarge, "there are more defects than are listed")
)

// Defect is one thing that is wrong with a world's files.
type Defect struct {
	File   string
	Line   int // from 1; 0 where the whole file is meant
	Code   fault.Code
	Detail string // what is wrong there, foreign text quoted and clipped; never empty
}

// String returns the defect in one line, for instance `tasks.jsonl.gz:17: duplicate task id "x"`.
func (d Defect) String() string {
	s := d.File
	if d.Line > 0 {
		s += ":" + strconv.Itoa(d.Line)
	}
	if s != "" {
		s += ": "
	}
	return s + d.Detail
}

// Err returns nil for no defects, else an error of conductor.BadWorld that says how many there are.
func Err(defects []Defect) error {
	if len(defects) == 0 {
		return nil
	}
	return conductor.BadWorld.With(fault.Int("defects", int64(len(defects))))
}

// Quote shows foreign text: quoted, clipped to 60 bytes.
func Quote(s string) string { return text.Quote(s, 60) }
