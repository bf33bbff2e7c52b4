package app_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/dialect/registry"
	"weir/internal/simulator"
)

// TestOwnCircuit is a client that has a provider answer in another shape, by a
// field that the gateway does not know: the provider is passed over for that account alone.
func TestOwnCircuit(t *testing.T) {
	t.Parallel()
	sim := simulator.New(simulator.Options{Dialects: registry.All(), Seed: 1})
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"reply_later":true`)) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"request_id":"1"}`))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		sim.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		sim.Close()
		ts.CloseClientConnections()
		ts.Close()
	})
	h := open(t, setup{yaml: "providers:" + providerYAML("house", ts.URL) + providerYAML("spare", ts.URL) + pricesYAML +
		"aliases:\n  two: {targets: [house/echo, spare/echo]}\n"})
	good := h.keyOfNew("good")
	for range 6 {
		if r := h.do(ask{path: "/v1/chat/completions", body: completion("house/echo", `,"reply_later":true`)}); r.status != http.StatusBadGateway {
			t.Fatalf("an answer of another shape: %d %s", r.status, r.body)
		}
	}
	for key, want := range map[string]string{h.key: "spare", good: "house"} {
		r := h.do(ask{path: "/v1/chat/completions", key: key, body: completion("two", "")})
		if got := r.header.Get("X-Weir-Provider"); r.status != http.StatusOK || got != want {
			t.Errorf("got %d by %q, want %s: %s", r.status, got, want, r.body)
		}
	}
	if log := h.log.String(); strings.Contains(log, "provider.unavailable") || !strings.Contains(log, "for one account alone") {
		t.Errorf("want the log to tell of one account alone:\n%s", log)
	}
}
