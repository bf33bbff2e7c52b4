package faults_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/e2e/harness"
	"weir/internal/simulator"
)

// TestOwnCircuit has a client cause an answer in another form, by a field that the gateway does not know: the provider
// is skipped only for that account.
func TestOwnCircuit(t *testing.T) {
	t.Parallel()
	sim := simulator.New(simulator.Options{Dialects: registrytest.All(), Seed: 1, Strict: true})
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
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", ts.URL) + harness.ProviderYAML("spare", ts.URL) + harness.PricesYAML +
		"aliases:\n  two: {targets: [house/echo, spare/echo]}\n"})
	good := h.KeyOfNew("good")
	for range 6 {
		if r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion("house/echo", `,"reply_later":true`)}); r.Status != http.StatusBadGateway {
			t.Fatalf("an answer of another shape: %d %s", r.Status, r.Body)
		}
	}
	for key, want := range map[string]string{h.Key: "spare", good: "house"} {
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Key: key, Body: harness.Completion("two", "")})
		if got := r.Header.Get("X-Weir-Provider"); r.Status != http.StatusOK || got != want {
			t.Errorf("got %d by %q, want %s: %s", r.Status, got, want, r.Body)
		}
	}
	if log := h.Log.String(); strings.Contains(log, "provider.unavailable") || !strings.Contains(log, "for one account only") {
		t.Errorf("want the log to name one account only:\n%s", log)
	}
}
