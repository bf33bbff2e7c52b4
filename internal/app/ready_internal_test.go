package app

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/config"
)

// TestReadyOverHTTPS checks the readiness of a gateway over https, for any name in its certificate.
func TestReadyOverHTTPS(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("got a request for %s, want /readyz", r.URL)
		}
		http.Error(w, "not ready", status)
	}))
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	cfg := config.Default()
	cfg.Listen, cfg.TLS.ACME.Domains = ":"+port, []string{"weir.example.com"}
	if err := Ready(t.Context(), &cfg); err != nil {
		t.Errorf("200: got %v, want nil", err)
	}
	status = http.StatusServiceUnavailable
	if err := Ready(t.Context(), &cfg); err == nil || !strings.Contains(err.Error(), `answers 503, "not ready"`) {
		t.Errorf("503: got %v, want an error with the status", err)
	}
}

// TestLocalAddress checks the address for requests to a listener on all addresses.
func TestLocalAddress(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		":8080": "127.0.0.1:8080", "0.0.0.0:8080": "127.0.0.1:8080", "[::]:8080": "127.0.0.1:8080",
		"[::1]:8080": "[::1]:8080", "10.0.0.5:80": "10.0.0.5:80", "localhost:1": "localhost:1",
	} {
		if got := localAddress(listen); got != want {
			t.Errorf("%s: got %s, want %s", listen, got, want)
		}
	}
}
