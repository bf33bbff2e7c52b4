package chat_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestQuotaOfStoredResponses fills an account's quota of stored responses: it still gets answers, is notified that they
// are not stored, and is charged only once for each. Other accounts' responses stay stored.
func TestQuotaOfStoredResponses(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL) + "kept: {replies_per_account: 1}\n"})
	other := h.KeyOfNew("another")
	body := harness.Hello("house/echo")
	type try struct {
		what   string
		ask    harness.Ask
		status int
		header string // that is true or false
		want   string
	}
	responses := harness.Ask{Path: "/v1/responses", Body: `{"model":"house/chat","input":"Hi"}`}
	others := responses
	others.Key = other
	for _, test := range []try{
		{"the first", harness.Keyed("/v1/chat", body, "1"), 200, "", ""},
		{"the first again", harness.Keyed("/v1/chat", body, "1"), 200, "Idempotent-Replayed", "true"},
		{"one too many", harness.Keyed("/v1/chat", body, "2"), 200, "Idempotent-Kept", "false"},
		{"one too many again", harness.Keyed("/v1/chat", body, "2"), 409, "", ""},
		{"a response", responses, 200, "X-Weir-Kept", "false"},
		{"another's response", others, 200, "", ""},
	} {
		r := h.Do(test.ask)
		if r.Status != test.status {
			t.Errorf("%s: %d %s, want %d", test.what, r.Status, r.Body, test.status)
		}
		for _, name := range []string{"Idempotent-Replayed", "Idempotent-Kept", "X-Weir-Kept"} {
			want := ""
			if name == test.header {
				want = test.want
			}
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", test.what, name, got, want)
			}
		}
	}
	if n := len(up.Records(t)); n != 4 {
		t.Errorf("%d requests reached the provider, want 4", n)
	}
	metrics := h.Do(harness.Ask{Path: "/metrics", Key: harness.NoKey}).Body
	for _, want := range []string{
		`weir_kept{kind="reply"} 1`, `weir_kept{kind="response"} 1`, `weir_kept_bytes{kind="reply"} `,
		`weir_kept_refused_total{kind="reply",reason="quota"} 1`, `weir_kept_refused_total{kind="response",reason="quota"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %q in the metrics", want)
		}
	}
}

// TestFullDiskStoresNothing simulates a full disk: answers are returned nevertheless.
func TestFullDiskStoresNothing(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL) + "kept: {min_free_disk: 1000000GiB}\n"})
	r := h.Do(harness.Keyed("/v1/chat", harness.Hello("house/echo"), "1"))
	if r.Status != http.StatusOK || r.Header.Get("Idempotent-Kept") != "false" {
		t.Errorf("got %d, Idempotent-Kept %q: %s", r.Status, r.Header.Get("Idempotent-Kept"), r.Body)
	}
	harness.WantError(t, h.Do(harness.Keyed("/v1/chat", harness.Hello("house/echo"), "1")), 409, "IDEMPOTENCY_CONFLICT")
	if n := len(up.Records(t)); n != 1 {
		t.Errorf("%d requests reached the provider, want 1", n)
	}
}
