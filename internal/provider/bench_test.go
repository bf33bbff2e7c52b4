package provider_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/must"
	"weir/internal/provider"
)

// BenchmarkExchange compares a small exchange by the client and by net/http's, over plain HTTP and TLS. The server, in
// the same process, does the same for all except HTTP/2.
func BenchmarkExchange(b *testing.B) {
	for _, secure := range []bool{false, true} {
		name := "plain"
		if secure {
			name = "TLS"
		}
		b.Run(name+"/ours", func(b *testing.B) { exchanges(b, repeating(b, secure), nil) })
		b.Run(name+"/net-http", func(b *testing.B) {
			o := repeating(b, secure)
			exchanges(b, o, standard(b, o.CAFile, false))
		})
	}
	b.Run("TLS/net-http, HTTP/2", func(b *testing.B) {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, body, _ := strings.Cut(smallReply(), "\r\n\r\n")
			_, _ = w.Write([]byte(body))
		}))
		server.EnableHTTP2 = true
		server.StartTLS()
		b.Cleanup(server.Close)
		exchanges(b, provider.Options{BaseURL: server.URL}, standard(b, certificateOf(b, server), true))
	})
}

func exchanges(b *testing.B, o provider.Options, by http.RoundTripper) {
	o.Local = by
	p := newProvider(b, o)
	b.ReportAllocs()
	for b.Loop() {
		if _, f := exchange(b.Context(), p, chat(false)); f != nil {
			b.Fatal(f)
		}
	}
}

// standard returns net/http's client.
func standard(b *testing.B, authority string, http2 bool) http.RoundTripper {
	roots := x509.NewCertPool()
	if authority != "" {
		roots.AppendCertsFromPEM(must.Get(os.ReadFile(authority))(b))
	}
	t := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: http2, DisableCompression: true}
	b.Cleanup(t.CloseIdleConnections)
	return t
}

func certificateOf(b *testing.B, s *httptest.Server) (file string) {
	file = filepath.Join(b.TempDir(), "ca.pem")
	must.Do(b, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	return file
}

// repeating starts a server that answers every request, which arrives in one write, with the same bytes.
func repeating(b *testing.B, secure bool) provider.Options {
	example := httptest.NewTLSServer(nil)
	example.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(b, err)
	o := provider.Options{BaseURL: "http://" + l.Addr().String()}
	if secure {
		l = tls.NewListener(l, &tls.Config{Certificates: example.TLS.Certificates})
		o = provider.Options{BaseURL: "https://" + l.Addr().String(), CAFile: certificateOf(b, example)}
	}
	b.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				reply, buf := []byte(smallReply()), make([]byte, 4<<10)
				for err == nil {
					if _, err = c.Read(buf); err == nil {
						_, err = c.Write(reply)
					}
				}
			}()
		}
	}()
	return o
}
