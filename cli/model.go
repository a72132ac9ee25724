package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"assay/llm/tiny"
)

func newModel(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "model",
		Short: "Serve the built-in model",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newTiny(env))
	return c
}

func newTiny(env *Env) *cobra.Command {
	var addr string
	var parallel int
	c := &cobra.Command{
		Use:   "tiny",
		Short: "Serve a real, tiny language model on this machine",
		Long: `tiny serves a language model of under a million parameters, built into this program: GET /v1/models, POST /v1/completions and
POST /v1/chat/completions with streaming, usage, cost and log-probabilities. It writes readable nonsense, and is there so that
clients meet a real server and nobody needs a key to try things. It ends with an interrupt.`,
		Example: `  assay model tiny &
  assay conductor dev --conductor http://127.0.0.1:8089/v1 --conductor-model assay/tiny --per-benchmark 1`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return serveTiny(c.Context(), env, addr, parallel) },
	}
	c.Flags().StringVar(&addr, "addr", "127.0.0.1:8089", "`ADDRESS` to listen at")
	c.Flags().IntVar(&parallel, "parallel", 0, "requests computed at once; 0: one for each core")
	return c
}

func serveTiny(ctx context.Context, env *Env, addr string, parallel int) error {
	s, err := tiny.New(tiny.Options{Parallel: parallel})
	if err != nil {
		return err
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return hinted(fmt.Errorf("listening: %w", err), "choose another address with --addr")
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	fmt.Fprintf(env.Out, "serving http://%s/v1 (models:", ln.Addr())
	for _, m := range tiny.Defaults() {
		fmt.Fprintf(env.Out, " %s", m.Name)
	}
	fmt.Fprintln(env.Out, ")")
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		stopped <- server.Shutdown(grace)
	}()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}
