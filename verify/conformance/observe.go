package conformance

import (
	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/profile"
	"assay/conductor/reading"
	"assay/core/canon"
	"assay/verify/vector"
)

func runObserve(p profile.Profile, op string, in jsontext.Value) (any, error) {
	v, err := vector.Read[struct {
		Tree   treeIn         `json:"tree"`
		Beside jsontext.Value `json:"beside"` // lies outside: no call may reach it
		Call   struct {
			Name  string         `json:"name"`
			Arg   string         `json:"arg"`
			Start jsontext.Value `json:"start"`
		} `json:"call"`
	}](in)
	if err != nil {
		return nil, err
	}
	if op != "observe" && op != "" {
		return nil, vector.UnknownOp(op)
	}
	c := reading.Call{Name: v.Call.Name, Arg: v.Call.Arg, Start: string(v.Call.Start)}
	output, truncated, err := reading.Inspect(v.Tree.fs(), c, p, reading.Budget{})
	return canon.Object{"output": output, "truncated": truncated}, err
}
