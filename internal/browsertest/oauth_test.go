//go:build unix

package browsertest_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"weir/internal/must"
)

// TestConsentInChromium connects a person to an MCP server by OAuth, and lets an agent use its tools, in Chromium.
func TestConsentInChromium(t *testing.T) {
	if !*browserFlag {
		t.Skip("make browser drives Chromium")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir := t.TempDir()
	bin := build(ctx, t, dir)
	gateway, peer := freeAddress(t), freeAddress(t)
	file := filepath.Join(dir, "weir.yaml")
	must.Do(t, os.WriteFile(file, fmt.Appendf(nil, `listen: %s
public_url: http://%s
data: %s
mcp_servers:
  peer: {url: "http://%s/mcp", oauth: person, tools: ["*"], allow_private: true}
`, gateway, gateway, filepath.Join(dir, "data"), peer), 0o600))
	var setup string
	base := start(ctx, t, bin, file, &setup)
	drive(ctx, t, "oauth.mjs", map[string]string{"base": base, "setup": setup, "issuer": "http://" + peer})
}

// freeAddress returns an address at which nobody listens: the public address is part of the configuration.
func freeAddress(t *testing.T) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { must.Do(t, l.Close()) }()
	return l.Addr().String()
}
