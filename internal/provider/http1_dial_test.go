package provider_test

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/provider"
)

// relay is a proxy, of HTTP or SOCKS5, which requires the name "weir" and the password "p w:d". It connects every
// request to the one server that it knows.
type relay struct {
	server string
	asked  atomic.Value   // the requested address, or URL
	open   sync.WaitGroup // connections of SOCKS5
}

const relayAuth = "Basic d2VpcjpwIHc6ZA=="

// ServeHTTP implements http.Handler.
func (p *relay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Proxy-Authorization") != relayAuth {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	p.asked.Store(r.RequestURI)
	if r.Method != http.MethodConnect {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
		return
	}
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
	p.join(c)
}

// join forwards the bytes of both sides.
func (p *relay) join(c net.Conn) {
	defer func() { _ = c.Close() }()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	var there sync.WaitGroup
	there.Go(func() {
		_, _ = io.Copy(server, c)
		_ = server.Close()
	})
	_, _ = io.Copy(c, server)
	_ = c.Close()
	there.Wait()
}

// socks answers one connection of SOCKS5 (RFC 1928, RFC 1929).
func (p *relay) socks(c net.Conn) {
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(patience))
	read := func(n int) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(c, b)
		return b
	}
	methods := read(int(read(2)[1]))
	if !bytes.Contains(methods, []byte{2}) {
		_, _ = c.Write([]byte{5, 0xff})
		return
	}
	_, _ = c.Write([]byte{5, 2})
	name := read(int(read(2)[1]))
	password := read(int(read(1)[0]))
	if string(name) != "weir" || string(password) != "p w:d" {
		_, _ = c.Write([]byte{1, 1})
		return
	}
	_, _ = c.Write([]byte{1, 0})
	if kind := read(4)[3]; kind != 3 { // an unresolved name
		return
	}
	p.asked.Store(string(read(int(read(1)[0]))))
	read(2)
	_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	p.join(c)
}

// TestProxiesResolveNames connects to a provider whose name only the proxy knows.
func TestProxiesResolveNames(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"by":"`+r.Host+r.URL.Path+`"}`)
	}))
	t.Cleanup(server.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	must.Do(t, os.WriteFile(authority, text, 0o600))
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"by":"`+r.Host+r.URL.Path+`"}`)
	}))
	t.Cleanup(plain.Close)
	const by = `{"by":"example.com/v1/chat/completions"}`
	for _, tc := range []struct {
		name, proxy, base, asked, want string
	}{
		{"HTTP, relayed", "http", "http://example.com/v1", "http://example.com/v1/chat/completions", "{}"},
		{"HTTP, a tunnel", "http", "https://example.com/v1", "example.com:443", by},
		{"HTTPS, relayed", "https", "http://example.com/v1", "http://example.com/v1/chat/completions", "{}"},
		{"HTTPS, a tunnel", "https", "https://example.com/v1", "example.com:443", by},
		{"SOCKS5", "socks5", "http://example.com/v1", "example.com", by},
		{"SOCKS5, TLS", "socks5h", "https://example.com/v1", "example.com", by},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := &relay{server: strings.TrimPrefix(plain.URL, "http://")}
			if strings.HasPrefix(tc.base, "https") {
				p.server = strings.TrimPrefix(server.URL, "https://")
			}
			address := p.start(t, tc.proxy)
			o := provider.Options{
				Name: "acme", Dialect: openaiLike(), BaseURL: tc.base, CAFile: authority,
				Proxy: tc.proxy + "://weir:p%20w%3Ad@" + address,
			}
			a := must.Get(provider.New(o))(t)
			t.Cleanup(a.Close)
			for range 2 { // the second on the connection that is there
				if got, f := exchange(t.Context(), a, chat(false)); f != nil || string(got) != tc.want || p.asked.Load() != tc.asked {
					t.Errorf("got %q, %v, the proxy's request %v; want %q, %q", got, f, p.asked.Load(), tc.want, tc.asked)
				}
			}
			o.Proxy = tc.proxy + "://weir:wrong@" + address
			b := must.Get(provider.New(o))(t)
			t.Cleanup(b.Close)
			_, f := exchange(t.Context(), b, chat(false))
			if relayed := tc.want == "{}"; f == nil || f.Sent() != relayed || strings.Contains(f.Error(), "wrong") {
				t.Errorf("a wrong password: got %v, sent %t, want sent %t", f, f != nil && f.Sent(), relayed)
			}
		})
	}
}

// start listens as a proxy of a scheme.
func (p *relay) start(t *testing.T, scheme string) (address string) {
	t.Helper()
	if !strings.HasPrefix(scheme, "socks") {
		server := httptest.NewUnstartedServer(p)
		if scheme == "https" {
			server.StartTLS()
		} else {
			server.Start()
		}
		t.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	p.open.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			p.open.Go(func() { p.socks(c) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		p.open.Wait()
	})
	return ln.Addr().String()
}

// TestSessionsAreResumed checks that the second TLS connection resumes the session of the first.
func TestSessionsAreResumed(t *testing.T) {
	t.Parallel()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		var resumed, proto atomic.Value
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			resumed.Store(r.TLS.DidResume)
			proto.Store(r.TLS.NegotiatedProtocol)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Connection", "close")
			_, _ = io.WriteString(w, "{}")
		}))
		server.TLS = &tls.Config{MaxVersion: version}
		server.EnableHTTP2 = true // is not used
		server.StartTLS()
		t.Cleanup(server.Close)
		authority := filepath.Join(t.TempDir(), "ca.pem")
		text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		must.Do(t, os.WriteFile(authority, text, 0o600))
		p := newProvider(t, provider.Options{BaseURL: server.URL, CAFile: authority})
		for i := range 2 {
			if _, f := exchange(t.Context(), p, chat(false)); f != nil {
				t.Fatal(f)
			}
			if got := resumed.Load(); got != (i == 1) || proto.Load() == "h2" {
				t.Errorf("version %x, connection %d: got resumed %v, protocol %v", version, i+1, got, proto.Load())
			}
		}
	}
}

// TestUnknownCertificate checks that nothing is sent to a server without a trusted certificate of the provider.
func TestUnknownCertificate(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(server.Close)
	p := newProvider(t, provider.Options{BaseURL: server.URL})
	_, f := exchange(t.Context(), p, chat(false))
	if f == nil || f.Kind != provider.KindRefused || f.Sent() || hits.Load() != 0 || !strings.Contains(f.Error(), "certificate") {
		t.Errorf("got %v, %d requests; want %v naming the certificate", f, hits.Load(), provider.KindRefused)
	}
}
