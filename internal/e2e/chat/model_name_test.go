package chat_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"weir/internal/e2e/harness"
)

// TestModelNamesStayInTheirPath checks that names that would leave the provider's path of models are refused if the
// name is a part of the address: "%2E%2E" is ".." to many servers.
func TestModelNamesStayInTheirPath(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	ts := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{YAML: harness.DialectYAML("gemini", ts.URL+"/v1beta")})
	const body = `{"contents":[{"parts":[{"text":"Hi"}]}]}`
	for _, target := range []string{"house%2F..%2Ffiles", "house%2Ftuned%2F%2E%2E%2F..%2FcachedContents%2Fx", "house%2F.", "house/%2E%2E"} {
		r := h.Do(harness.Ask{Path: "/v1beta/models/" + target + ":generateContent", Body: body})
		if r.Status != http.StatusBadRequest || !strings.Contains(r.Body, "model's name") {
			t.Errorf("%s: status %d, %s", target, r.Status, r.Body)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the provider got %d requests, want none", n)
	}
}
