package config_test

import (
	"testing"

	"weir/internal/config"
)

// TestClientSecretGoesToItsHostOnly checks that the hidden text of a client secret is replaced by the secret only if
// both addresses of the server keep their hosts: nobody can send a secret that they have never seen to another one.
func TestClientSecretGoesToItsHostOnly(t *testing.T) {
	t.Parallel()
	server := func(url, tokens, secret string) config.Document {
		return config.Document{"mcp_servers": {"peer": map[string]any{
			"url": url, "token_url": tokens, "client_id": "weir", "client_secret": secret, "tools": []any{"*"},
		}}}
	}
	saved := server("https://mcp.example.com/mcp", "https://id.example.com/token", "s3cret")
	hidden := saved.Hidden()["mcp_servers"]["peer"].(map[string]any)["client_secret"].(string)
	if hidden == "s3cret" {
		t.Fatal("got the secret itself, want its hidden text")
	}
	for _, test := range []struct {
		url, tokens string
		want        bool
	}{
		{"https://mcp.example.com/mcp", "https://id.example.com/token", true},
		{"https://mcp.example.com/mcp", "https://id.example.com/other", true},
		{"https://mcp.example.com/mcp", "https://evil.example/token", false},
		{"https://evil.example/mcp", "https://id.example.com/token", false},
		{"https://mcp.example.com/mcp", "", false},
	} {
		d, err := server(test.url, test.tokens, hidden).Revealed(saved)
		if got := err == nil && d["mcp_servers"]["peer"].(map[string]any)["client_secret"] == "s3cret"; got != test.want {
			t.Errorf("%s, %s: got the secret: %t (%v), want %t", test.url, test.tokens, got, err, test.want)
		}
	}
}

// TestSecretOfRegistrationGoesToItsIssuerOnly checks the same for the secret of a registration at an issuer.
func TestSecretOfRegistrationGoesToItsIssuerOnly(t *testing.T) {
	t.Parallel()
	server := func(issuer, secret string) config.Document {
		return config.Document{"mcp_servers": {"peer": map[string]any{
			"url": "https://mcp.example.com/mcp", "oauth": "person", "issuer": issuer, "client_id": "weir", "client_secret": secret,
		}}}
	}
	saved := server("https://id.example.com", "s3cret")
	hidden := saved.Hidden()["mcp_servers"]["peer"].(map[string]any)["client_secret"].(string)
	for issuer, want := range map[string]bool{"https://id.example.com": true, "https://evil.example": false} {
		d, err := server(issuer, hidden).Revealed(saved)
		if got := err == nil && d["mcp_servers"]["peer"].(map[string]any)["client_secret"] == "s3cret"; got != want {
			t.Errorf("%s: got the secret: %t (%v), want %t", issuer, got, err, want)
		}
	}
}
