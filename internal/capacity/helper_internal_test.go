package capacity

import (
	"context"
	"log/slog"
	"testing"

	"weir/internal/telemetry"
)

// newNode returns a node with these numbers of slots and of bytes of request bodies; answers have half as many bytes.
func newNode(t *testing.T, slots, bodies int64) *Node {
	t.Helper()
	return New(Options{
		Sockets: 16,
		Slots:   slots, Bodies: bodies, Stopping: context.WithoutCancel(t.Context()), Metrics: telemetry.New("", telemetry.Labels{}),
		Log: slog.New(slog.DiscardHandler),
	})
}
