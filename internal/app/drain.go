package app

import (
	"context"
	"time"

	"weir/internal/front"
)

// retire keeps serving for a while, and makes clients open new connections.
func (g *instance) retire(server *front.Server, delay time.Duration) {
	if delay == 0 {
		return
	}
	g.options.Log.Info("stopping soon", "delay", delay)
	server.Retire()
	time.Sleep(delay)
}

// drain refuses new requests and waits for those in flight.
func (g *instance) drain(server *front.Server) error {
	g.draining.Store(true)
	g.dashboard.Stop()
	timeout := g.options.Config.DrainTimeout
	g.options.Log.Info("stopping", "in_flight", g.gateway.Capacity().InFlight(), "timeout", timeout)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	err := server.Shutdown(ctx)
	g.awaitSettled(ctx) // including requests without a waiting client
	if ctx.Err() != nil {
		g.options.Log.Warn("requests were aborted", "in_flight", g.gateway.Capacity().InFlight())
		g.gateway.Stop()
		told, cancel := context.WithTimeout(context.Background(), toldTimeout)
		defer cancel()
		_ = server.Shutdown(told) // the pipeline ends before its last bytes are written
		err = server.Close()
		closing, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		g.awaitSettled(closing)
	}
	return err
}

// awaitSettled waits until no request is in the pipeline.
func (g *instance) awaitSettled(ctx context.Context) {
	for g.gateway.Capacity().InFlight() > 0 && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
}
