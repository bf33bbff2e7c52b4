package harness

import (
	"context"
	"sync"
	"testing"
	"time"

	"weir/internal/admin"
	"weir/internal/config"
	"weir/internal/ledger"
	"weir/internal/must"
	"weir/internal/report"
)

// reader reads the gateway's database as a command would. It stays open until the gateway stops, because opening takes
// longer than reading.
type reader struct {
	mu     sync.Mutex
	data   *admin.Admin   // opened at the first use
	ledger *ledger.Ledger // nil after the gateway has stopped
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

// flushed bounds the wait until the gateway has written settled attempts to the database. If a test prevents that, the
// reader returns those that are there.
const flushed = time.Second

// EachEntry calls fn with each settled attempt.
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
		r.data = must.Get(admin.Open(ctx, h.Config(), config.Options{}, Discard()))(h.T)
	}
	must.Do(h.T, r.data.Ledger.Export(ctx, "", "", "", func(e *report.Exported) error {
		fn(e)
		return nil
	}))
}

// InFlight returns the number of attempts that are open in the gateway's ledger. EachEntry has settled ones alone.
func (h *Gateway) InFlight() int64 {
	h.reader.mu.Lock()
	defer h.reader.mu.Unlock()
	return h.reader.ledger.InFlight()
}

func (r *reader) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushed)
	defer cancel()
	_ = r.ledger.Flush(ctx) // see flushed
}
