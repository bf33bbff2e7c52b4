package outbound

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Transport returns an HTTP transport for destinations that the operator configured, with the proxy (see ParseProxy)
// and the authorities (see Certificates). Connect bounds the connection and the TLS handshake, each.
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
