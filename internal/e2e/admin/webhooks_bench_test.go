package admin_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/e2e/harness"
	"weir/internal/store"
	"weir/internal/webhook"
)

// BenchmarkReceivers is a chat request through a gateway that tells a hundred events
// a second: to nobody, to a receiver that answers, and to one that never does, whose
// tries are under way all the time. Compare them with benchstat, in turns.
func BenchmarkReceivers(b *testing.B) {
	for _, name := range []string{"nobody", "quick", "slow"} {
		b.Run(name, func(b *testing.B) { benchmarkReceiver(b, name) })
	}
}

func benchmarkReceiver(b *testing.B, name string) {
	h := harness.Open(b, harness.Setup{YAML: harness.ProvidersYAML(harness.NewUpstream(b).URL)})
	db, err := store.Open(b.Context(), store.Options{Path: filepath.Join(h.Data, "weir.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	over := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if name == "slow" {
			<-over
		}
	}))
	defer receiver.Close()
	if name != "nobody" {
		s := webhooks(h, b, db)
		for range 10 {
			if _, _, err := s.Add(b.Context(), audit.Gateway(), webhook.Endpoint{URL: receiver.URL, AllowPrivate: true}); err != nil {
				b.Fatal(err)
			}
		}
	}
	var telling sync.WaitGroup
	telling.Go(func() {
		every := time.NewTicker(10 * time.Millisecond)
		defer every.Stop()
		for {
			select {
			case <-over:
				return
			case <-every.C:
				_ = db.Webhooks.Tell(b.Context(), webhook.NewEvent(webhook.ModelUnpriced, "", time.Now(), webhook.Data{Model: "x/y"})) // at the end there is no context
			}
		}
	})
	time.Sleep(time.Second) // for tries to be under way
	for b.Loop() {
		if r := h.Chat("house/chat:tokens=1"); r.Status != http.StatusOK {
			b.Fatalf("got %d %s", r.Status, r.Body)
		}
	}
	close(over)
	telling.Wait()
}
