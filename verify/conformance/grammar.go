package conformance

import (
	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/action"
	"assay/conductor/catalog"
	"assay/conductor/profile"
	"assay/conductor/reading"
	"assay/core/canon"
	"assay/core/digest"
	"assay/verify/vector"
)

// snapshotOf is a world that a line sets up, so the profile does not judge it.
func snapshotOf(ids []string) (*catalog.Snapshot, error) {
	entries := make([]catalog.Entry, len(ids))
	for i, id := range ids {
		entries[i] = catalog.Entry{ID: id, In: 1, Out: 1, Context: 1}
	}
	return catalog.New(entries, profile.Compat)
}

func runParse(p profile.Profile, _ string, in jsontext.Value) (any, error) {
	v, err := vector.Read[struct {
		Raw string   `json:"raw"`
		IDs []string `json:"ids"`
	}](in)
	if err != nil {
		return nil, err
	}
	s, err := snapshotOf(v.IDs)
	if err != nil {
		return nil, err
	}
	a, failure := action.Parse(v.Raw, s, p)
	if failure != action.Readable {
		return nil, vector.Rejected(failure.String())
	}
	return canon.Object{"kind": a.Kind().String(), "model_id": vector.OrNull(a.Model().String())}, nil
}

func runTracker(p profile.Profile, _ string, in jsontext.Value) (any, error) {
	v, err := vector.Read[struct {
		IDs   []string `json:"ids"`
		Turns []string `json:"turns"`
	}](in)
	if err != nil {
		return nil, err
	}
	s, err := snapshotOf(v.IDs)
	if err != nil {
		return nil, err
	}
	var tracker action.Tracker
	outcomes := []any{}
	var forcedAt any
	for i, turn := range v.Turns {
		a, failure := action.Parse(turn, s, p)
		forced := tracker.Take(failure)
		kind := a.Kind().String()
		switch {
		case forced:
			kind, forcedAt = "forced_stop", i
		case failure != action.Readable:
			kind = "refused"
		}
		outcomes = append(outcomes, []any{kind, vector.OrNull(a.Model().String()), tracker.Failures()})
		if forced || a.Kind() == action.Stop {
			break
		}
	}
	return canon.Object{"outcomes": outcomes, "forced_stop_at": forcedAt}, nil
}

func runParseTool(p profile.Profile, _ string, in jsontext.Value) (any, error) {
	v, err := vector.Read[struct {
		Raw string `json:"raw"`
	}](in)
	if err != nil {
		return nil, err
	}
	c, ok := reading.Parse(v.Raw, p)
	if !ok {
		return nil, nil
	}
	return canon.Object{"name": c.Name, "arg": c.Arg, "start": canon.Int(c.Start)}, nil
}

func runCanonical(_ profile.Profile, _ string, in jsontext.Value) (any, error) {
	v, err := vector.Read[struct {
		JSON string `json:"json"`
	}](in)
	if err != nil {
		return nil, err
	}
	tree, err := canon.DecodeLast([]byte(v.JSON))
	if err != nil {
		return nil, err
	}
	text, err := canon.ASCII(tree)
	if err != nil {
		return nil, err
	}
	return canon.Object{"canonical": string(text), "sha256": digest.HexOfBytes(text)}, nil
}
