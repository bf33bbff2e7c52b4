package check_test

import (
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile" // reads a Caddyfile
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
	_ "github.com/caddyserver/caddy/v2/modules/caddypki"
	_ "github.com/caddyserver/caddy/v2/modules/caddytls"
	_ "github.com/caddyserver/caddy/v2/modules/filestorage"

	"weir/internal/must"
)

// options have Caddy write nothing, and not use port 80.
const options = "{\n\tadmin off\n\tpersist_config off\n\tauto_https off\n\tlog {\n\t\tlevel ERROR\n\t}\n}\n"

// adapt runs caddy adapt.
func adapt(t *testing.T, text string) []byte {
	t.Helper()
	named := map[string]any{"filename": "Caddyfile"}
	json, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), named)
	must.Do(t, err)
	for _, w := range warnings {
		t.Errorf("caddy adapt: %v", w)
	}
	return json
}

// TestChatsThroughCaddy runs caddy adapt, and then chats through Caddy with the file. A process has one Caddy.
func TestChatsThroughCaddy(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_DATA_HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	adapt(t, read(t, "compose/Caddyfile"))
	text := read(t, "caddy/Caddyfile")
	adapt(t, text)
	p := start(t, text, func(gateway, port string) {
		cert, key := certificate(t)
		test := options + replaced(t, text,
			"127.0.0.1:8080", gateway,
			"\nweir.example.com {", "\nhttps://weir.example.com:"+port+" {\n\tbind 127.0.0.1\n\ttls "+cert+" "+key)
		must.Do(t, caddy.Load(adapt(t, test), true))
		t.Cleanup(func() { _ = caddy.Stop() })
		awaitPort(t, port, func() string { return "" })
	})
	p.holdProxy(t, "HTTP/1.1", "HTTP/2")
}
