package app

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"weir/internal/systemd"
)

// takePassed returns the listener that a service manager has opened, or nil. Its address replaces the one of the
// configuration, from which other settings are derived.
func takePassed(o *Options) (net.Listener, error) {
	listener, err := systemd.Listener(o.Getenv)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if listener != nil {
		o.Config.Listen = listener.Addr().String()
	}
	return listener, nil
}

func closePassed(listener net.Listener) error {
	if listener == nil {
		return nil
	}
	return listener.Close()
}

// livezOf returns a function that reports whether the handler answers GET /livez with 200.
func livezOf(handler http.Handler) func(context.Context) bool {
	return func(ctx context.Context) bool {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/livez", http.NoBody)
		if err != nil {
			return false
		}
		answer := statusOnly{header: http.Header{}, status: http.StatusOK}
		handler.ServeHTTP(&answer, r)
		return answer.status == http.StatusOK
	}
}

// statusOnly is a response writer that records only the status.
type statusOnly struct {
	header http.Header
	status int
}

// Header implements http.ResponseWriter.
func (w *statusOnly) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *statusOnly) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter.
func (w *statusOnly) Write(b []byte) (int, error) { return len(b), nil }
