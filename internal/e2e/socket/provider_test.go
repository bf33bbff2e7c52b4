package socket_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/e2e/harness"
	"weir/internal/simulator"
	"weir/internal/websocket"
)

// overSockets starts a gateway with the provider house, which is asked over HTTP, and the provider kept, which is the
// same one over WebSockets. It counts the WebSockets and the requests over HTTP.
func overSockets(t *testing.T) (h *harness.Gateway, up *harness.Upstream, opened, posted *atomic.Int64) {
	t.Helper()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) // of all answers
	up = &harness.Upstream{Server: simulator.New(simulator.Options{
		Dialects: registrytest.All(), Seed: 1, Strict: true, Clock: func() time.Time { return now },
	})}
	opened, posted = new(atomic.Int64), new(atomic.Int64)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if websocket.IsUpgrade(r) {
			opened.Add(1)
		} else {
			posted.Add(1)
		}
		up.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		up.Close()
		front.CloseClientConnections()
		front.Close()
	})
	kept := harness.SpokenBy("kept", "responses", front.URL, "/v1") + "    websocket: true\n"
	yaml := "providers:" + harness.SpokenBy("house", "responses", front.URL, "/v1") + kept +
		strings.Replace(harness.PricesYAML, "house/*", "kept/*: {input: \"0.15\", output: \"0.60\"}\n  house/*", 1)
	return harness.Open(t, harness.Setup{YAML: yaml}), up, opened, posted
}

// streamed requests an answer of a model at a provider. Its stream flag is first, so that the provider gets the same
// bytes over both ways, of which the simulator's words depend.
func streamed(h *harness.Gateway, provider, model string) harness.Reply {
	return h.Do(harness.Ask{
		Path: "/v1/responses", Body: `{"stream":true,"model":"` + provider + "/" + model + `","input":"the same question"}`,
	})
}

// TestProvidersAnswerAlikeOverWebSockets checks that clients get the same bytes, and the ledger the same row, from a
// provider over a WebSocket as over HTTP, and that one WebSocket serves one request after the other.
func TestProvidersAnswerAlikeOverWebSockets(t *testing.T) {
	t.Parallel()
	h, up, opened, posted := overSockets(t)
	for _, model := range []string{
		"chat", "echo", "reason", "story", "chat:tokens=2000", "chat:fault=malformed", "chat:fault=error-event",
		"chat:fault=content-filter", "chat:fault=context-length", "chat:status=503", "chat:status=429,retry_after=7",
		"chat:fault=cut", "chat:fault=close",
	} {
		before, sent := opened.Load(), posted.Load()
		over, want := streamed(h, "kept", model), streamed(h, "house", model)
		if posted.Load() != sent+1 || opened.Load() > before+1 {
			t.Errorf("%s: got %d requests over HTTP and %d WebSockets", model, posted.Load()-sent, opened.Load()-before)
		}
		bytes := strings.NewReplacer("kept", "house", over.Header.Get("X-Request-Id"), want.Header.Get("X-Request-Id"))
		if got := bytes.Replace(over.Body); over.Status != want.Status || got != want.Body {
			t.Errorf("%s: got %d %s\nwant %d %s", model, over.Status, got, want.Status, want.Body)
		}
		if got := over.Header.Get("Retry-After"); got != want.Header.Get("Retry-After") {
			t.Errorf("%s: got Retry-After %q, want %q", model, got, want.Header.Get("Retry-After"))
		}
		row, wanted := h.Row(over.Header.Get("X-Request-Id")), h.Row(want.Header.Get("X-Request-Id"))
		row.Model = strings.Replace(row.Model, "kept/", "house/", 1)
		if row.Price = wanted.Price; row != wanted {
			t.Errorf("%s: got %+v, want %+v", model, row, wanted)
		}
	}
	all := up.Records(t)
	for i := 0; i+1 < len(all); i += 2 {
		a, b := all[i], all[i+1]
		leaves := a.Fault == "malformed" && b.Fault == a.Fault // the gateway leaves, at some time
		if !leaves && (a.Usage != b.Usage || a.Outcome != b.Outcome || a.Model != b.Model) {
			t.Errorf("the provider has %+v over the WebSocket, and %+v over HTTP", a, b)
		}
	}
	before := opened.Load()
	streamed(h, "kept", "chat")
	opens := opened.Load()
	for range 3 {
		streamed(h, "kept", "chat")
	}
	if opened.Load() != opens || opens > before+1 {
		t.Errorf("four requests opened %d WebSockets, want one at most", opened.Load()-before)
	}
	h.Verify(t)
}

// TestLeavingClientCancelsAnswerOverWebSocket checks that the provider's WebSocket is closed when the client has left
// in the middle of an answer, and that the next request has another one.
func TestLeavingClientCancelsAnswerOverWebSocket(t *testing.T) {
	t.Parallel()
	h, up, opened, _ := overSockets(t)
	h.Leave(harness.Ask{
		Path: "/v1/responses", Body: `{"stream":true,"model":"kept/chat:tokens=1000000,pace=10ms","input":"x"}`,
	}, up, 5)
	if r := up.Newest(t); !r.Canceled {
		t.Errorf("the provider's request was not cancelled: %+v", r)
	}
	if r := streamed(h, "kept", "chat"); r.Status != http.StatusOK || opened.Load() != 2 {
		t.Errorf("got %d and %d WebSockets, want 200 and 2", r.Status, opened.Load())
	}
	h.Verify(t)
}
