package meter_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/admin"
	"weir/internal/config"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/must"
)

// TestVerifyWaits checks that verify gives a running gateway time to project its journal.
func TestVerifyWaits(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	var slow atomic.Bool
	goOn := make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL), Journal: func(o *ledger.Options) {
		o.Fault = func(point string) {
			if point == "project.before_commit" && slow.Load() {
				<-goOn
			}
		}
	}})
	t.Cleanup(release) // before the gateway stops
	h.Chat("house/chat")
	slow.Store(true)
	h.Chat("house/chat")

	data := must.Get(admin.Open(t.Context(), h.Config(), config.Options{}, harness.Discard()))(t)
	defer data.Close()
	waited := false
	v, left, err := data.Ledger.Verify(t.Context(), admin.VerifyOptions{Wait: time.Minute, Waiting: func() {
		waited = true
		release()
	}})
	if err != nil || !waited || v.Rows != 2 || left != (ledger.Backlog{}) {
		t.Errorf("got %+v, waited %v, not projected %+v, %v; want 2 rows, once it had waited", v, waited, left, err)
	}
}
