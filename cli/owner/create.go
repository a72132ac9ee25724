package owner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"assay/core/fault"
	"assay/flow/conductor/keys"
	"assay/sign/file"
	"assay/store/sqlite"
)

// Create makes an owner's folder: keys, database, buckets and settings. A key or database that is there stays; settings
// that are there are an error.
func Create(ctx context.Context, dir string, c Config, env Env) error {
	if err := c.Season.Check(); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, ConfigFile)); err == nil {
		return fmt.Errorf("%s holds an owner already: change its %s, or name another folder", dir, ConfigFile)
	}
	for _, d := range []string{dir, filepath.Join(dir, Private)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("making the owner's folder: %w", err)
		}
	}
	for _, d := range []string{c.Local.Public, c.Local.Bucket, c.Local.Artifacts, c.Local.Models} {
		if err := os.MkdirAll(path(dir, d), 0o755); err != nil {
			return fmt.Errorf("making the owner's folder: %w", err)
		}
	}
	for _, name := range []string{OwnerSeed, GatewaySeed} {
		if _, err := file.Create(filepath.Join(dir, name), env.Rand); err != nil && !there(filepath.Join(dir, name)) {
			return fmt.Errorf("making a key: %w", err)
		}
	}
	if _, err := keys.Create(filepath.Join(dir, IdentityFile)); err != nil && fault.Of(err) != keys.Exists {
		return fmt.Errorf("making the owner's identity: %w", err)
	}
	if db := filepath.Join(dir, StateFile); !there(db) {
		st, err := sqlite.Create(ctx, db)
		if err != nil {
			return fmt.Errorf("making the owner's memory: %w", err)
		}
		if err := st.Close(); err != nil {
			return fmt.Errorf("making the owner's memory: %w", err)
		}
	}
	return c.Write(dir)
}

func there(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}
