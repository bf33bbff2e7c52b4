package app

import (
	"bytes"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"

	"weir/internal/config"
)

// started is what a gateway that listens there prints and logs at its first start.
func started(t *testing.T, addr string, change func(*Options)) (out, log string) {
	t.Helper()
	var logged, printed bytes.Buffer
	g := newLogged(t, slog.New(slog.NewTextHandler(&logged, nil)))
	g.options.Stdout = &printed
	change(g.options)
	if err := g.announce(t.Context(), net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))); err != nil {
		t.Fatal(err)
	}
	return printed.String(), logged.String()
}

// TestPlainListenerIsTold is that a start on an address that others reach, without TLS,
// is told in one line.
func TestPlainListenerIsTold(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		addr   string
		change func(*config.Config)
		want   int
	}{
		{"0.0.0.0:8080", func(*config.Config) {}, 1},
		{"[::]:8080", func(c *config.Config) { c.InsecureHTTP = true }, 1},
		{"192.0.2.7:8080", func(c *config.Config) { c.PublicURL = "https://gateway.example" }, 1},
		{"192.0.2.7:8080", func(c *config.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")} }, 0},
		{"192.0.2.7:8080", func(c *config.Config) { c.TLS = config.TLS{Cert: "c.pem", Key: "k.pem"} }, 0},
		{"127.0.0.1:8080", func(*config.Config) {}, 0},
		{"[::1]:8080", func(*config.Config) {}, 0},
	} {
		_, log := started(t, test.addr, func(o *Options) { test.change(&o.Config) })
		lines := 0
		for line := range strings.Lines(log) {
			if strings.Contains(line, "level=WARN") && strings.Contains(line, "plain http") && strings.Contains(line, "tls") {
				lines++
			}
		}
		if lines != test.want {
			t.Errorf("listening on %s: got %d lines, want %d: %s", test.addr, lines, test.want, log)
		}
	}
}
