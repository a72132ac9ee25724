package conformance

import (
	"io/fs"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/profile"
	"assay/verify/vector"
)

// RunAll is Run in any profile.
func RunAll(p profile.Profile, vectors fs.FS, progress func(Group)) ([]Group, error) {
	return vector.Run(p, Groups(), vectors, progress)
}

// Trees returns the two folders of an admission line.
func Trees(in jsontext.Value) (reference, tree fs.FS, err error) {
	v, err := vector.Read[admissionIn](in)
	return v.Reference.fs(), v.Tree.fs(), err
}
