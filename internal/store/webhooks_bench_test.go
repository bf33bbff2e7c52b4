package store_test

import (
	"fmt"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/store"
	"weir/internal/webhook"
)

// BenchmarkTellEverybody tells two thousand endpoints of one event.
func BenchmarkTellEverybody(b *testing.B) {
	for name, backend := range engines() {
		b.Run(name, func(b *testing.B) {
			s, err := store.Open(b.Context(), backend(b))
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			if _, err := s.Webhooks.MasterKey(b.Context(), "k"); err != nil {
				b.Fatal(err)
			}
			for i := range 2000 {
				e := webhook.Endpoint{ID: fmt.Sprintf("w%d", i), Account: fmt.Sprintf("a%d", i/20), URL: "https://example.com/"}
				if err := s.Webhooks.AddWebhook(b.Context(), audit.Gateway(), e, webhook.Sealed{Text: "sealed", Key: "k"}); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				e := webhook.NewEvent(webhook.ProviderUnavailable, "", time.Now(), webhook.Data{Target: &webhook.Target{Provider: "p", Model: "m"}})
				if err := s.Webhooks.Tell(b.Context(), e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
