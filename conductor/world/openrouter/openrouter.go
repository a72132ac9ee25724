// Package openrouter makes a world's models of a saved model listing.
//
// Invariants:
//   - Which rows of a listing are usable, and at what price, is the catalog's rule and nobody else's.
//   - A model that was asked for and is not usable is refused, never substituted.
//
// Specification: docs/spec/world.md.
package openrouter

import (
	"assay/conductor/catalog"
	"assay/conductor/profile"
	"assay/conductor/world"
)

// Models reads a listing ({"data": [row, ...]}) and returns the usable models, and every row that was left out and why.
// With ids only those models are returned, sorted by summed price; one that is not usable is an error.
func Models(listing []byte, p profile.Profile, ids ...string) ([]world.Model, []catalog.Drop, error) {
	snapshot, drops, err := catalog.Admit(listing, p)
	if err != nil {
		return nil, drops, err
	}
	if len(ids) > 0 {
		if snapshot, err = snapshot.Narrow(ids); err != nil {
			return nil, drops, err
		}
	}
	models := make([]world.Model, snapshot.Len())
	for i := range models {
		e := snapshot.At(i)
		models[i] = world.Model{ID: e.ID, In: e.In, Out: e.Out, Context: e.Context}
	}
	return models, drops, nil
}
