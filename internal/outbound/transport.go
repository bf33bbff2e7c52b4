package outbound

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Transport is an HTTP client's for whom the operator named: through the proxy, as ParseProxy has it, with the
// authorities of the file, as Certificates has it. Connect bounds the connection, and the handshake of TLS, each.
func Transport(proxy, caFile string, connect time.Duration) (*http.Transport, error) {
	through, err := ParseProxy(proxy)
	if err != nil {
		return nil, err
	}
	roots, err := Certificates(caFile)
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		Proxy: through, DialContext: (&net.Dialer{Timeout: connect}).DialContext, TLSHandshakeTimeout: connect,
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}, nil
}
