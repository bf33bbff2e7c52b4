package chat_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"

	"weir/internal/app"
	"weir/internal/certtest"
	"weir/internal/config"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// serve runs a gateway with these lines of configuration until the test ends, and returns its address.
func serve(t *testing.T, listen, lines string) (address string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "weir.yaml")
	text := fmt.Sprintf("listen: %s\ndata: %q\nproviders: {}\n%s", listen, filepath.Join(dir, "data"), lines)
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	cfg := must.Get(config.Load(config.Options{File: file, Environ: func() []string { return nil }}))(t)
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, app.Options{
			Config: cfg, Getenv: func(string) string { return "" }, Stdout: io.Discard, Stderr: io.Discard, Log: harness.Discard(),
			Ready: func(addr string) { ready <- addr },
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	select {
	case address = <-ready:
	case err := <-ended:
		t.Fatalf("start: %v", err)
	}
	return address
}

// serial returns the number of the gateway's certificate.
func serial(t *testing.T, address string) int64 {
	t.Helper()
	c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // only its number is looked at
	must.Do(t, err)
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func TestCertificateChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := certtest.Write(t, dir, 1)
	address := serve(t, "127.0.0.1:0", fmt.Sprintf("tls: {cert: %q, key: %q}", cert, key))
	roots := certtest.Pool(t, cert)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	get := func() {
		t.Helper()
		resp := must.Get(client.Get("https://" + address + "/livez"))(t)
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		must.Equal(t, resp.StatusCode, http.StatusOK, "status")
	}
	get()
	must.Equal(t, serial(t, address), int64(1), "certificate at first")
	certtest.Write(t, dir, 2)
	harness.Await(t, "the second certificate", func() bool { return serial(t, address) == 2 })
	get() // on the connection that was made with the first
	must.Do(t, os.WriteFile(cert, []byte("no certificate"), 0o600))
	time.Sleep(3 * time.Second)
	must.Equal(t, serial(t, address), int64(2), "certificate with a broken file")
	certtest.Write(t, dir, 3)
	harness.Await(t, "the third certificate", func() bool { return serial(t, address) == 3 })
	for _, suite := range []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
		tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
	} {
		c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}})
		if err == nil {
			_ = c.Close()
			t.Errorf("TLS 1.2 with %s: got a connection, want none", tls.CipherSuiteName(suite))
		}
	}
	if c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11}); err == nil {
		_ = c.Close()
		t.Error("TLS 1.1 was agreed on")
	}
}

// TestClientCertificates checks that the pages, the administration and the metrics are only for clients with a
// certificate of the authority in the configuration, and client APIs for all.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	cert, key := certtest.Write(t, t.TempDir(), 1)
	ours, ourKey := certtest.Write(t, t.TempDir(), 2)
	others, otherKey := certtest.Write(t, t.TempDir(), 3)
	address := serve(t, "127.0.0.1:0", fmt.Sprintf("tls: {cert: %q, key: %q, client_ca: %q}", cert, key, ours))
	get := func(path string, shown ...tls.Certificate) int {
		t.Helper()
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: certtest.Pool(t, cert), Certificates: shown}}}
		defer client.CloseIdleConnections()
		resp, err := client.Get("https://" + address + path)
		if err != nil {
			return 0
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	good, bad := must.Get(tls.LoadX509KeyPair(ours, ourKey))(t), must.Get(tls.LoadX509KeyPair(others, otherKey))(t)
	for path, want := range map[string]int{
		"/sign-in": http.StatusOK, "/metrics": http.StatusOK, "/admin/v1/accounts": http.StatusUnauthorized,
	} {
		if with, without := get(path, good), get(path); with != want || without != http.StatusForbidden {
			t.Errorf("%s: got %d with a certificate and %d without, want %d and 403", path, with, without, want)
		}
		if got := get(path, bad); got != 0 && got != http.StatusForbidden {
			t.Errorf("%s: got %d with a certificate of another authority, want none or 403", path, got)
		}
	}
	for path, want := range map[string]int{"/livez": http.StatusOK, "/v1/models": http.StatusUnauthorized, "/docs": http.StatusOK} {
		if got := get(path); got != want {
			t.Errorf("%s without a certificate: got %d, want %d", path, got, want)
		}
	}
}

// TestACME gets a certificate from a test authority, which validates that the gateway has the name.
func TestACME(t *testing.T) {
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	const name = "weir.example.com"
	port := freePort(t)
	quiet := log.New(io.Discard, "", 0)
	store := db.NewMemoryStore()
	authority := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {}})
	validation := va.New(quiet, 0, port, true, resolver(t), store)
	front := wfe.New(quiet, store, validation, authority, []string{"example.com"}, true, false, 1, 1)
	api := front.Handler()
	server := httptest.NewTLSServer(api)
	t.Cleanup(server.Close)
	root := filepath.Join(t.TempDir(), "root.pem")
	must.Do(t, os.WriteFile(root, certtest.PEM(server.Certificate()), 0o600))
	address := serve(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), fmt.Sprintf(
		"tls: {acme: {domains: [%s], email: someone@example.com, directory: %q}}\noutbound: {ca_file: %q}", name,
		server.URL+wfe.DirectoryPath, root))
	issuer := authority.GetRootCert(0).Cert.Subject.CommonName
	client := &tls.Config{ServerName: name, InsecureSkipVerify: true} //nolint:gosec // its issuer is looked at
	harness.Await(t, "a certificate of the authority", func() bool {
		c, err := tls.Dial("tcp", address, client)
		if err != nil {
			return false
		}
		defer c.Close()
		shown := c.ConnectionState().PeerCertificates
		last := shown[len(shown)-1]
		return shown[0].VerifyHostname(name) == nil && last.Issuer.CommonName == issuer
	})
	client.ServerName = "other.example.com"
	if c, err := tls.Dial("tcp", address, client); err == nil {
		_ = c.Close()
		t.Error("a certificate for another name was obtained")
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// resolver starts a DNS server that resolves every name to this machine.
func resolver(t *testing.T) (address string) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := &dns.Server{Listener: l, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		a := new(dns.Msg)
		a.SetReply(q)
		if q.Question[0].Qtype == dns.TypeA {
			a.Answer = []dns.RR{&dns.A{
				Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(127, 0, 0, 1),
			}}
		}
		_ = w.WriteMsg(a)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	return l.Addr().String()
}
