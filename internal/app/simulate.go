package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"weir/internal/dialect/registry"
	"weir/internal/simulator"
)

// SimulateOptions holds the options of a simulator that runs as its own process.
type SimulateOptions struct {
	Listen string
	Seed   uint64
	Strict bool // refuse requests that break a rule of the simulated vendor
	// PromptCache caches prompts as the simulated vendor does.
	PromptCache bool
	Stderr      io.Writer
}

// Simulate runs the simulated provider until ctx ends.
func Simulate(ctx context.Context, o SimulateOptions) error {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w: choose another address with --listen", err)
	}
	sim := simulator.New(simulator.Options{
		Dialects: registry.All(), Seed: o.Seed, Strict: o.Strict, PromptCache: o.PromptCache,
	})
	defer sim.Close()
	server := &http.Server{Handler: sim, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
	stop := context.AfterFunc(ctx, func() {
		sim.Close()
		_ = server.Close() // Serve returns the error
	})
	defer stop()
	if _, err := fmt.Fprintf(o.Stderr, "simulating on http://%s; use it as base URL http://%s/v1\n", listener.Addr(),
		listener.Addr()); err != nil {
		return err
	}
	return serveOn(server.Serve, listener)
}
