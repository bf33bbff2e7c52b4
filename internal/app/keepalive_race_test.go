package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/gateway"
)

// TestKeepAliveWhileFallingBack is a comment that is due just as a request goes
// on from one target to the next. Its headers are made from what the request
// changes at that moment, which the race detector sees.
func TestKeepAliveWhileFallingBack(t *testing.T) {
	t.Parallel()
	dead := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(dead.Close)
	s := newStoryProvider(t)
	h := open(t, setup{
		yaml:   "default_model: one/go\nproviders:" + providerYAML("dead", dead.URL) + providerYAML("one", s.url),
		timing: gateway.Timing{KeepAlive: 3 * time.Millisecond},
	})
	for i := range 30 {
		r := h.do(ask{path: "/v1/chat/completions", body: fmt.Sprintf(
			`{"model":"dead/%d","fallbacks":["dead/a%d","dead/b%d","dead/c%d","dead/d%d","dead/e%d","one/go"],"stream":true,"messages":[{"role":"user","content":"Tell me."}]}`, i, i, i, i, i, i)})
		if r.status != http.StatusOK || !strings.Contains(r.body, "[DONE]") {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
}
