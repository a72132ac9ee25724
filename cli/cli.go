// Package cli is the command line: one file for each verb, with no rule of its own.
//
// Invariants:
//   - What a person asked for goes to standard output; progress, warnings and errors go to standard error.
//   - Exit codes: 0 done, 1 failed, 2 usage, 3 refused or verification failed, 4 not ready: come back.
//   - A command that fails leaves no half-written file.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/core/fault"
	"assay/core/text"
)

// The exit codes.
const (
	ExitDone     = 0
	ExitFailed   = 1
	ExitUsage    = 2
	ExitRefused  = 3
	ExitNotReady = 4
)

// Env is what a command may touch.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	Now      func() time.Time
	Rand     io.Reader // makes keys
	Terminal bool      // Err is a terminal: progress may be drawn
	Version  string
}

// devKitName is the name under which the binary is the dev kit itself, as miners' scripts call it.
const devKitName = "thirtyspokes-dev"

// Run carries out a command line, args[0] being the program's name, and returns its exit code.
func Run(ctx context.Context, env *Env, args []string) int {
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	var root *cobra.Command
	if name == devKitName {
		root = newDev(env)
		root.Use = devKitName + strings.TrimPrefix(root.Use, "dev")
		root.Example = strings.ReplaceAll(root.Example, "assay conductor dev", devKitName)
		root.Version = env.Version
	} else {
		root = newRoot(env)
	}
	root.SetArgs(args[1:])
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(c, err.Error()) })
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !errors.Is(err, errReported) {
		explain(env.Err, cmd, err)
	}
	code := exitCode(ctx, cmd, err)
	if name == devKitName && code == ExitRefused {
		return ExitFailed // what that name's scripts expect of a refused tree
	}
	return code
}

func newRoot(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "assay",
		Short: "Run open research competitions whose every number a stranger can recompute",
		Long: `assay runs open research competitions whose every number a stranger can recompute.

Exit codes of every command: 0 done, 1 failed, 2 usage, 3 refused or verification failed, 4 not ready.`,
		Example: "  assay conductor dev --conductor builtin:cascade\n  assay world check ./myworld",
		Version: env.Version,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.AddCommand(newConductor(env), newWorld(env), newModel(env), newChain(env), newConformance(env))
	return root
}

// errReported ends a command whose output has already said what failed.
var errReported = errors.New("reported")

// exitError carries an exit code that a command chose, and a hint.
type exitError struct {
	code int
	hint string
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usage is a mistake in the command line.
func usage(c *cobra.Command, message string) error {
	return &exitError{ExitUsage, "see '" + c.CommandPath() + " --help'", errors.New(message)}
}

// exactArgs takes one argument for each name, and says by its name which one is missing.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch missing := len(names) - len(args); {
		case missing == 1:
			return usage(c, names[len(args)]+" is missing")
		case missing > 1:
			return usage(c, strings.Join(names[len(args):], ", ")+" are missing")
		case missing < 0:
			return usage(c, "unexpected argument "+text.Quote(args[len(names)], 60)+" behind "+strings.Join(names, " "))
		}
		return nil
	}
}

// hinted adds a hint to an error.
func hinted(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &exitError{kindCode(err), hint, err}
}

// refused ends a command whose subject was refused, after its output said so.
func refused() error { return &exitError{ExitRefused, "", errReported} }

// failed ends a command that failed, after its output said so.
func failed() error { return &exitError{ExitFailed, "", errReported} }

func exitCode(ctx context.Context, cmd *cobra.Command, err error) int {
	var e *exitError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &e):
		return e.code
	case ctx.Err() != nil:
		return ExitFailed
	case strings.HasPrefix(err.Error(), "unknown command"), strings.Contains(err.Error(), "arg(s)"),
		strings.HasPrefix(err.Error(), "required flag"):
		return ExitUsage // cobra's own complaints carry no type
	}
	return kindCode(err)
}

// kindCode maps an error's kind to an exit code.
func kindCode(err error) int {
	switch fault.Of(err).Kind() {
	case fault.NotAllowed, fault.Forbidden, fault.Unauthenticated:
		return ExitRefused
	case fault.Unready:
		return ExitNotReady
	}
	return ExitFailed
}

// maxMessage is the longest error or hint in bytes that is printed.
const maxMessage = 2000

// explain prints an error with its code, and its hint. Both may quote what strangers wrote.
func explain(w io.Writer, cmd *cobra.Command, err error) {
	code := ""
	if c := fault.Of(err); c != fault.Unknown {
		code = " [" + c.Name() + "]" // docs/problems.md lists it
	}
	fmt.Fprintf(w, "error: %s%s\n", text.Clean(err.Error(), maxMessage), code)
	var e *exitError
	hint := ""
	if errors.As(err, &e) {
		hint = e.hint
	} else if cmd != nil && strings.HasPrefix(err.Error(), "unknown command") {
		hint = "see '" + cmd.CommandPath() + " --help'"
	}
	if hint != "" {
		fmt.Fprintf(w, "hint: %s\n", text.Clean(hint, maxMessage))
	}
}
