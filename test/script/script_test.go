// Package script_test plays whole commands as a person would: each script runs the real programs in a folder of its own.
package script_test

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"assay/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"assay": program("assay"), "thirtyspokes-dev": program("thirtyspokes-dev")})
}

// program is the binary under one of its names.
func program(name string) func() {
	return func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		os.Exit(cli.Run(ctx, &cli.Env{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Now: time.Now, Rand: rand.Reader}, append([]string{name}, os.Args[1:]...)))
	}
}

// smallTokenizer is a complete tokenizer of a few hundred words; scripts find it in their folder, beside the example of a window.
const smallTokenizer = "../../conductor/tokens/testdata/small.json"

func copyFile(to, from string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			if err := copyFile(filepath.Join(e.WorkDir, "window.sh"), "../../examples/window.sh"); err != nil {
				return err
			}
			return copyFile(filepath.Join(e.WorkDir, "small-tokenizer.json"), smallTokenizer)
		},
		Condition: func(cond string) (bool, error) {
			_, err := exec.LookPath(cond)
			return err == nil, nil
		},
	})
}
