package check_test

import "testing"

// TestHAProxy runs haproxy -c, and then chats through HAProxy with the file.
func TestHAProxy(t *testing.T) {
	t.Parallel()
	haproxy := standalone{
		program: "haproxy", file: "haproxy/haproxy.cfg",
		edits: []string{"bind :443", "bind 127.0.0.1:PORT", "/etc/haproxy/weir.pem", "CERT"},
		args:  []string{"-f", "CONF"}, check: "-c", stay: "-db",
	}
	p := haproxy.start(t)
	p.holdProxy(t, "HTTP/1.1") // over HTTP/2, HAProxy 2.6.12 ends a stream that breaks off as if it were whole
}
