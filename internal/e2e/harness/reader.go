package harness

import (
	"context"
	"sync"
	"testing"
	"time"

	"weir/internal/app"
	"weir/internal/ledger"
	"weir/internal/must"
	"weir/internal/report"
)

// reader reads the gateway's database as a command beside it does. It stays open until the gateway stops: to open it
// takes longer than to read it.
type reader struct {
	mu     sync.Mutex
	data   *app.Data      // nil until it is needed
	ledger *ledger.Ledger // nil when the gateway has stopped
}

func (r *reader) opened(l *ledger.Ledger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger = l
}

// close closes the database, before the gateway does.
func (r *reader) close(t testing.TB) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger = nil
	if r.data == nil {
		return
	}
	if err := r.data.Close(); err != nil {
		t.Errorf("close data: %v", err)
	}
	r.data = nil
}

// flushed is how long the gateway has to write to the database what has settled. Where a test keeps it from doing so,
// what is there is read.
const flushed = time.Second

// EachEntry calls fn with each attempt that has settled.
func (h *Gateway) EachEntry(fn func(*report.Exported)) {
	h.T.Helper()
	r := h.reader
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if r.ledger != nil {
		r.flush(ctx)
	}
	if r.data == nil {
		r.data = must.Get(app.OpenData(ctx, h.Config(), Discard()))(h.T)
	}
	must.Do(h.T, r.data.Export(ctx, "", "", "", func(e *report.Exported) error {
		fn(e)
		return nil
	}))
}

func (r *reader) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushed)
	defer cancel()
	_ = r.ledger.Flush(ctx) // see flushed
}
