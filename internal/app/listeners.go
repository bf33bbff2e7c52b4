package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
)

func (g *instance) listen(ctx context.Context) (net.Listener, error) {
	if l := g.handover.listener(mainListener); l != nil {
		return l, nil
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", g.options.Config.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w: choose another address with --listen", err)
	}
	return listener, nil
}

func listenersOf(first, metrics net.Listener) map[string]net.Listener {
	all := map[string]net.Listener{mainListener: first}
	if metrics != nil {
		all[telemetryListener] = metrics
	}
	return all
}

func serveOn(serve func(net.Listener) error, listener net.Listener) error {
	if err := serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
