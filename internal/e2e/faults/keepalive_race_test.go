package faults_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/e2e/harness"
	"weir/internal/gateway"
)

// TestKeepAliveWhileFallingBack sends a comment exactly when a request moves from one target to the next. The request
// changes the data of its headers at that time, which the race detector sees.
func TestKeepAliveWhileFallingBack(t *testing.T) {
	t.Parallel()
	dead := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(dead.Close)
	s := harness.NewStoryProvider(t)
	h := harness.Open(t, harness.Setup{
		YAML:   "default_model: one/go\nproviders:" + harness.ProviderYAML("dead", dead.URL) + harness.ProviderYAML("one", s.URL),
		Timing: gateway.Timing{KeepAlive: 3 * time.Millisecond},
	})
	for i := range 30 {
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: fmt.Sprintf(
			`{"model":"dead/%d","fallbacks":["dead/a%d","dead/b%d","dead/c%d","dead/d%d","dead/e%d","one/go"],"stream":true,"messages":[{"role":"user","content":"Tell me."}]}`, i, i, i, i, i, i)})
		if r.Status != http.StatusOK || !strings.Contains(r.Body, "[DONE]") {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
}
