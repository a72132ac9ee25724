package routerarena

import (
	"io/fs"

	"assay/conductor/world"
)

// Choice is what somebody's router chose for one task.
type Choice struct {
	TaskID string
	Model  string // as the project's files name it
}

// Choices reads a file of predictions: which model a router chose for each task, in file order.
// Rows that only serve the project's measure of optimality are no choices and are left out.
func Choices(fsys fs.FS, name string) ([]Choice, []world.Defect) {
	var b world.Builder
	text, at, ok := b.Document(fsys, name)
	var list []struct {
		Spaced     string `json:"global index"`
		Joined     string `json:"global_index"`
		Model      string `json:"prediction"`
		Optimality bool   `json:"for_optimality"`
	}
	if ok {
		b.Decode(at, text, &list)
	}
	seen := map[string]bool{}
	var out []Choice
	for i, p := range list {
		c := Choice{TaskID: p.Spaced, Model: p.Model}
		if c.TaskID == "" {
			c.TaskID = p.Joined
		}
		switch {
		case p.Optimality:
			continue
		case c.TaskID == "" || c.Model == "":
			b.Defect(at, world.MissingField, "row %d names no task or no model", i+1)
		case seen[c.TaskID]:
			b.Defect(at, world.DuplicateID, "row %d chooses again for task %s", i+1, world.Quote(c.TaskID))
		}
		seen[c.TaskID] = true
		out = append(out, c)
	}
	if defects := b.Defects(); len(defects) > 0 {
		return nil, defects
	}
	return out, nil
}
