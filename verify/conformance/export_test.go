package conformance

import (
	"io/fs"

	"github.com/go-json-experiment/json/jsontext"
)

// RunAll is Run in any profile.
var RunAll = runAll

// Trees returns the two folders of an admission line.
func Trees(in jsontext.Value) (reference, tree fs.FS, err error) {
	v, err := read[admissionIn](in)
	return v.Reference.fs(), v.Tree.fs(), err
}
