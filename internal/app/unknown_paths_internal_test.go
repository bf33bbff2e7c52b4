package app

import (
	"net/http"
	"strings"
	"testing"
)

// TestUnservedPaths checks that an unserved path of a vendor's gets a 404 that lists the served ones; and that a wrong
// base URL is reported as such.
func TestUnservedPaths(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	handler, key := g.site.handler(), newKey(t, g, "asks")
	const unserved, base = "does not serve this path", "The base URL of an OpenAI client ends with /v1"
	for _, test := range []struct {
		pattern, want, lists string
		status               int
	}{
		{"POST /v1/files", unserved, "/v1/chat/completions", 404},
		{"GET /v1/batches/batch_1", unserved, "/v1/chat/completions", 404},
		{"POST /v1/moderations", unserved, "/v1/audio/transcriptions", 404},
		{"POST /v1/messages/batches", unserved, "/v1/messages/count_tokens", 404},
		{"GET /v1/chat/completions/chatcmpl_1", unserved, "/v1/chat/completions", 404},
		{"POST /v1beta/cachedContents", unserved, "/v1beta/models/{target}", 404},
		{"POST /upload/v1beta/files", unserved, "/v1beta/models/{target}", 404},
		{"POST /v1/responses/rewind", unserved, "/v1/responses/compact", 404},
		{"PUT /v1/responses/compact", "accepts only", "POST", 405},
		{"POST /v1/responses/resp_1", "accepts only", "GET", 405},
		{"POST /v1/responses/sim-740b2af8fa34f7d7", "accepts only", "GET", 405}, // a provider's own
		{"POST /v1/v1/chat/completions", base, "", 404},
		{"POST /v1/v1beta/models/x", base, "", 404},
		{"POST /chat/completions", base, "", 404},
		{"POST /messages", base, "", 404},
		{"GET /healthz", "Health is at GET /livez", "/readyz", 404},
		{"GET /health/liveliness", "Health is at GET /livez", "/readyz", 404},
		{"GET /v1/health", "Health is at GET /livez", "/readyz", 404},
		{"HEAD /ping", "", "", 404},
	} {
		w := knock(g, handler, test.pattern, key)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) || !strings.Contains(w.Body.String(), test.lists) {
			t.Errorf("%s: got %d %s, want %d %q with %q", test.pattern, w.Code, w.Body, test.status, test.want, test.lists)
		}
		if allow := w.Header().Get("Allow"); (allow != "") != (test.status == http.StatusMethodNotAllowed) {
			t.Errorf("%s: Allow %q with %d", test.pattern, allow, w.Code)
		}
	}
}
