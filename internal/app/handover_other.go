//go:build !unix

package app

import (
	"context"
	"errors"
	"net"
	"time"
)

const (
	mainListener      = "main"
	telemetryListener = "telemetry"
	handoverDelay     = time.Second
)

// handover does nothing on systems without passing of open files.
type handover struct{ taken chan struct{} }

func (h *handover) taking() bool { return false }

func (h *handover) begin(_ context.Context, o *Options) error {
	if o.Takeover {
		return errors.New("--takeover only works on Unix systems: stop the other gateway first")
	}
	return nil
}

func (h *handover) listener(string) net.Listener { return nil }

func (h *handover) finish() error { return nil }

func (h *handover) abandon() {}

func (h *handover) offer(context.Context, *Options, map[string]net.Listener) {}
