package check_test

import (
	"os"
	"path/filepath"
	"testing"

	"weir/internal/must"
)

// TestHAProxy is haproxy -c, and then chats through HAProxy as the file sets it up.
func TestHAProxy(t *testing.T) {
	t.Parallel()
	haproxy := program(t, "haproxy")
	text := read(t, "haproxy/haproxy.cfg")
	p := start(t, text, func(gateway, port string) {
		cert, key := certificate(t)
		dir := t.TempDir()
		pem := filepath.Join(dir, "weir.pem")
		both := append(must.Get(os.ReadFile(cert))(t), must.Get(os.ReadFile(key))(t)...)
		must.Do(t, os.WriteFile(pem, both, 0o600))
		file := filepath.Join(dir, "haproxy.cfg")
		must.Do(t, os.WriteFile(file, []byte(replaced(t, text,
			"127.0.0.1:8080", gateway, "bind :443", "bind 127.0.0.1:"+port, "/etc/haproxy/weir.pem", pem)), 0o600))
		if out, err := run(t, haproxy, "-c", "-f", file); err != nil {
			t.Fatalf("haproxy -c: %v: %s", err, out)
		}
		serve(t, port, haproxy, "-db", "-f", file)
	})
	p.holdProxy(t, "HTTP/1.1") // over HTTP/2, HAProxy 2.6.12 ends a stream that breaks off as if it were whole
}
