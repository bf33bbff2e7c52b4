package budget_test

import (
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/e2e/harness"
)

// TestWaitsThatClientsUnderstand checks the waits that clients receive: the gateway's own at most 59 s, which OpenAI's
// and Vercel's SDKs and LangChain all obey, the whole wait in the message, and no retry above a minute.
func TestWaitsThatClientsUnderstand(t *testing.T) {
	t.Parallel()
	up, clock := harness.NewUpstream(t), newHandClock()
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL), Now: clock.now})
	used := func(l account.Limits) string {
		key := h.NewKey(account.KeyOptions{Account: "default", Limits: l})
		h.MustAnswer(h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: key}))
		return key
	}
	const minute = "Try again in 59 seconds, and if that is refused, 2 seconds later: the whole wait is 61 seconds."
	tests := []struct {
		name, key, model       string
		status                 int
		after, repeat, message string
	}{
		{"requests a minute", used(account.Limits{RPM: 1}), "house/echo", 429, "59", "", minute},
		{"tokens a minute", used(account.Limits{TPM: 1}), "house/echo", 429, "59", "", minute},
		{"a provider's five seconds", h.Key, "house/chat:status=429,retry_after=5", 429, "5", "", "Try again in 5 seconds."},
		{"a provider's minute", h.Key, "house/chat:status=429,retry_after=60", 429, "59", "", "Try again in 59 seconds, and if that is refused, 1 second later: the whole wait is 60 seconds."},
		{"a provider that tells none", h.Key, "house/chat:status=429", 429, "5", "", "Try again in 5 seconds."},
		{"a provider's hour", h.Key, "house/chat:status=429,retry_after=year", 429, "3600", "false", "Try again in 3600 seconds."},
		{"a provider that is out of service", h.Key, "house/chat:status=503,retry_after=5", 503, "5", "false", ""},
	}
	for _, tt := range tests {
		for _, api := range harness.ChatAPIs() {
			ask, _ := api.Ask("", tt.model, false)
			ask.Key = tt.key
			r, want := h.Do(ask), tt.status
			if api.Path == "/v1/messages" && want == 503 {
				want = 529
			}
			after, repeat := r.Header.Get("Retry-After"), r.Header.Get("X-Should-Retry")
			if r.Status != want || after != tt.after || repeat != tt.repeat || !strings.Contains(r.Body, tt.message) {
				t.Errorf("%s at %s: got %d, Retry-After %q, x-should-retry %q, %s\nwant %d, %q, %q and %q", tt.name, ask.Path,
					r.Status, after, repeat, r.Body, want, tt.after, tt.repeat, tt.message)
			}
		}
	}
}
