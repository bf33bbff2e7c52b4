package chat_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/internal/e2e/harness"
)

// TestEmptyAnswerHasItsHeaders checks the headers of an answer without a body, and of its replay.
func TestEmptyAnswerHasItsHeaders(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusOK)
	}))
	t.Cleanup(up.Close)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL)})
	for _, what := range []string{"the first answer", "its replay"} {
		q := h.FormRequest("/v1/audio/transcriptions", "file", harness.WAV(2), "model", "house/write", "response_format", "text")
		q.Header.Set("Idempotency-Key", "k")
		r := h.Send(q)
		if r.Status != http.StatusOK || r.Body != "" || r.Header.Get("Content-Type") != "text/plain" || r.Header.Get("X-Weir-Model") != "house/write" ||
			r.Header.Get("X-Weir-Attempts") != "1" {
			t.Errorf("%s: %d %q, %v", what, r.Status, r.Body, r.Header)
		}
	}
}
