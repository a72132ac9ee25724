// Package owner opens an owner's folder: it reads what the season is played with and picks the drivers.
//
// Invariants:
//   - A setting that is not known is refused; secrets are named by their files, which nobody else may read.
//   - Nothing is made that was not asked for: only Create makes keys, databases and folders.
//
// The settings: docs/operate/windows.md.
package owner

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assay/core/canon"
	"assay/flow/conductor/window"
)

// ConfigFile is the file of settings in an owner's folder.
const ConfigFile = "owner.json"

// Config is an owner's settings. Paths are absolute or relative to the folder.
type Config struct {
	Season window.Season `json:"season"` // what is played; all of it that decides results is published
	Local  Local         `json:"local"`  // where things are on this machine; nothing of it is published
}

// Local says where things are.
type Local struct {
	World     string `json:"world"`      // folder of the world; "" is the embedded one
	Chain     string `json:"chain"`      // fake:FILE
	Public    string `json:"public"`     // the publication's folder, on the same disk
	Bucket    string `json:"bucket"`     // folder that miners hand their artifacts in to
	Artifacts string `json:"artifacts"`  // folder of the owner's copies
	Models    string `json:"models"`     // public folder of promoted artifacts
	Reference string `json:"reference"`  // inventory file that trees are admitted by; "" admits nobody
	Serve     string `json:"serve"`      // how a submission is served: exec:COMMAND, {tree} standing for its folder
	Workers   string `json:"workers"`    // recorded, or the base address of an OpenAI-compatible endpoint
	WorkerKey string `json:"worker_key"` // file with the owner's key for it; "" for none
	// Repositories is the folder of the repositories that workers may read: one for each task that declares READ, LIST or
	// FIND, named by the task's id, or by its group, path-escaped. "" lets nobody read.
	Repositories string `json:"repositories"`
	Idempotent   bool   `json:"idempotent"` // the endpoint knows the header Idempotency-Key
}

// ErrNoOwner says that a folder holds no settings.
var ErrNoOwner = errors.New("the folder holds no " + ConfigFile)

// Read reads the settings of an owner's folder.
func Read(dir string) (Config, error) {
	var c Config
	text, err := os.ReadFile(filepath.Join(dir, ConfigFile))
	if errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("%w: %s", ErrNoOwner, dir)
	}
	if err != nil {
		return c, fmt.Errorf("reading the settings: %w", err)
	}
	if err := canon.Strict(bytes.TrimSpace(text), &c); err != nil {
		return c, fmt.Errorf("reading %s: %w", filepath.Join(dir, ConfigFile), err)
	}
	return c, c.Season.Check()
}

// Write writes the settings for people to read and change.
func (c Config) Write(dir string) error {
	text, err := json.Marshal(c, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("writing the settings: %w", err)
	}
	path := filepath.Join(dir, ConfigFile)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("writing the settings: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// path resolves a path of the settings.
func path(dir, name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// Funds returns the file of the miners' accounts in an owner's folder.
func Funds(dir string) string { return filepath.Join(dir, Private, "funds") }
