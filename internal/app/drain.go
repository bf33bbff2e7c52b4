package app

import (
	"context"
	"log/slog"
	"time"

	"weir/internal/capacity"
	"weir/internal/httpserver"
)

// retirer has connections whose clients are to open new ones.
type retirer interface{ Retire() }

// retire keeps serving for a while, and makes clients open new connections.
func retire(log *slog.Logger, delay time.Duration, all ...retirer) {
	if delay == 0 {
		return
	}
	log.Info("stopping soon", "delay", delay)
	for _, r := range all {
		r.Retire()
	}
	time.Sleep(delay)
}

// drain refuses new requests and waits for those in flight.
func (g *instance) drain(server *httpserver.Server) error {
	g.site.draining.Store(true)
	g.site.dashboard.Stop()
	g.site.open.Stop()
	g.site.tools.Stop()
	timeout := g.options.Config.DrainTimeout
	g.options.Log.Info("stopping", "in_flight", g.gateway.Capacity().InFlight(), "timeout",
		timeout.String())
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	err := server.Shutdown(ctx)
	awaitSettled(ctx, g.gateway.Capacity()) // including requests without a waiting client
	if ctx.Err() != nil {
		g.options.Log.Warn("requests were aborted", "in_flight", g.gateway.Capacity().InFlight())
		g.gateway.Stop()
		told, cancel := context.WithTimeout(context.Background(), toldTimeout)
		defer cancel()
		_ = server.Shutdown(told) // the pipeline ends before its last bytes are written
		err = server.Close()
		closing, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		awaitSettled(closing, g.gateway.Capacity())
	}
	return err
}

// awaitSettled waits until no request is in the pipeline.
func awaitSettled(ctx context.Context, c *capacity.Node) {
	for c.InFlight() > 0 && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
}
