package chat_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestNoCredentials uses a provider for which the gateway has no valid credentials: nothing is sent, the fallback
// answers, and the client learns nothing more. It is not parallel, because it sets the environment.
func TestNoCredentials(t *testing.T) {
	const leak = "canary-client-secret-0123456789"
	t.Setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
	t.Setenv("AZURE_TENANT_ID", "")
	t.Setenv("AZURE_CLIENT_SECRET", leak)
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + `
  cloud: {base_url: "` + up.URL + `/v1", allow_private: true, auth: entra}
` + harness.PricesYAML + `
aliases:
  safe: {targets: [cloud/echo, house/echo]}
`})
	r := h.Chat("safe")
	h.MustAnswer(r)
	if r.Header.Get("X-Weir-Attempts") != "2" || r.Header.Get("X-Weir-Provider") != "house" {
		t.Errorf("got %v, want the fallback's answer", r.Header)
	}
	e := harness.WantError(t, h.Chat("cloud/echo"), http.StatusBadGateway, "PROVIDER_ERROR")
	if e.Message != "The gateway has no valid credentials for the provider cloud." {
		t.Errorf("got the message %q", e.Message)
	}
	if row := h.Row(e.RequestID); row.Outcome != "refused" || row.Provenance != "exact" || row.Cost != "0" {
		t.Errorf("the row is %+v, want an exact zero", row)
	}
	if n := len(up.Records(t)); n != 1 {
		t.Errorf("the upstream got %d requests, want the fallback's alone", n)
	}
	log := h.Log.String()
	if !strings.Contains(log, "AZURE_TENANT_ID") || strings.Contains(log, leak) {
		t.Error("want a log that names the missing setting, and no secret")
	}
}
