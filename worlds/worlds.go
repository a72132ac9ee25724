// Package worlds carries the world that comes with the program, so that everything can be tried without a download.
//
// Invariants:
//   - The embedded files are exactly what the generator beside them makes.
//   - Tasks, models and answers are our own; nothing in them is taken from a public benchmark.
//
// Specification: docs/spec/world.md.
package worlds

import (
	"embed"
	"io/fs"
)

//go:generate go run -C .. ./worlds/gen

// Name is the embedded world's name.
const Name = "atlas"

//go:embed atlas/models.json atlas/tasks.jsonl atlas/outcomes.jsonl
var files embed.FS

// Embedded returns the embedded world's folder: 96 tasks of eight benchmarks and the recorded answers of four models.
func Embedded() fs.FS {
	sub, err := fs.Sub(files, Name)
	if err != nil {
		panic("worlds: the embedded folder has another name")
	}
	return sub
}
