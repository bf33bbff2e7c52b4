package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"weir/internal/config"
)

// Bounds of the readiness check of a gateway on this machine.
const (
	mostReadyText = 4 << 10 // bytes of the answer
	readyDial     = 2 * time.Second
)

// Ready checks whether the gateway on this machine with this configuration accepts requests. It returns nil if so. It
// sends no secret and uses only the status of the answer. So it does not verify the certificate, which is for the
// name by which others know the gateway.
func Ready(ctx context.Context, cfg *config.Config) error {
	scheme, name := "http", ""
	if cfg.TLS.On() {
		scheme = "https"
	}
	if domains := cfg.TLS.ACME.Domains; len(domains) > 0 {
		name = domains[0]
	}
	transport := &http.Transport{ // without a proxy
		DialContext: (&net.Dialer{Timeout: readyDial}).DialContext, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{ServerName: name, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12},
	}
	defer transport.CloseIdleConnections()
	url := scheme + "://" + localAddress(cfg.Listen) + "/readyz"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("request %s: %w", url, err)
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return fmt.Errorf("no gateway answers at %s: start it, or use its configuration: %w", url, err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostReadyText))
	if err == nil && answer.StatusCode == http.StatusOK {
		return nil
	}
	said := strings.TrimSpace(string(text))
	return fmt.Errorf("%s answers %d, %q: see %s?verbose for the reason", url, answer.StatusCode, said, url)
}

// localAddress returns the address by which this machine reaches a listener, which may listen on all addresses.
func localAddress(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
