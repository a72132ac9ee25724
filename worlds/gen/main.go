// Command gen writes the embedded world's files: go run ./worlds/gen from the repository's root.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"assay/conductor/world"
	"assay/worlds/internal/atlas"
)

func main() {
	if err := run(filepath.Join("worlds", "atlas")); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	w, err := atlas.World()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range world.Plain(w) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
