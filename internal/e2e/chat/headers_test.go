package chat_test

import (
	"net/http"
	"testing"

	"weir/internal/e2e/harness"
)

// TestVendorHeaders checks the headers on every reply of a vendor's client API, for any outcome of the request.
func TestVendorHeaders(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	for _, clientAPI := range harness.VendorAPIs() {
		nobody, unknown, get := clientAPI.Ask("house/echo", false), clientAPI.Ask("nobody/x", false), clientAPI.Ask("house/echo", false)
		nobody.Key, get.Method = "wk_no", http.MethodPut
		for what, a := range map[string]harness.Ask{
			"whole": clientAPI.Ask("house/echo", false), "stream": clientAPI.Ask("house/echo", true), "nobody": nobody,
			"no such model": unknown, "another method": get, "no JSON": {Path: clientAPI.At("house/echo", false), Body: "hello"},
			"too many": clientAPI.Ask("house/chat:status=429,retry_after=7", true),
		} {
			r := h.Do(a)
			harness.WantCommonHeaders(t, r.Header)
			if clientAPI.Dialect == "anthropic" {
				if id := r.Header.Get("Request-Id"); id == "" || id != r.Header.Get("X-Request-Id") {
					t.Errorf("%s: request-id %q, want the X-Request-Id %q", what, id, r.Header.Get("X-Request-Id"))
				}
			} else if r.Header.Get("Request-Id") != "" {
				t.Errorf("%s, %s: headers of Anthropic's: %v", clientAPI.Path, what, r.Header)
			}
			if retry := r.Header.Get("Retry-After"); what == "too many" && retry != "7" {
				t.Errorf("%s, %s: Retry-After %q, want 7", clientAPI.Path, what, retry)
			}
		}
	}
}
