// Command assay is everyone's tool: it judges Conductors, checks worlds and replays conformance vectors.
package main

import (
	"context"
	"crypto/rand"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/term"

	"assay/cli"
)

func main() { os.Exit(run()) }

func run() int {
	log.SetOutput(io.Discard) // the HTTP library logs what servers send there, keys that they echo included
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process at once
	}()
	return cli.Run(ctx, &cli.Env{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Now: time.Now,
		Rand:     rand.Reader,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
		Version:  version(),
	}, os.Args)
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "development"
	}
	return info.Main.Version
}
