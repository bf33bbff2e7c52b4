package provider

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"weir/internal/outbound"
)

const (
	idleConnsPerHost = 512
	idleConnTimeout  = 90 * time.Second
	maxReplyHeader   = 64 << 10
	// An HTTP/2 connection that is silent for so long is asked whether it
	// lives, and dropped with all its streams when it does not say so.
	pingAfter = 15 * time.Second
)

// newTransport is the HTTP client for TLS, HTTP/2 and proxies. RoundTrip is called on it
// directly, so that no redirect is ever followed.
func newTransport(o *Options) (*http.Transport, error) {
	roots, err := outbound.Certificates(o.CAFile)
	if err != nil {
		return nil, err
	}
	// A proxy is the operator's own, and usually on a private address.
	dialer := net.Dialer{Timeout: o.Timeouts.Connect, Control: reach(o.AllowPrivate || o.Proxy != "").Control}
	t := &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    o.Timeouts.Connect,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingAfter},
		DisableCompression:     true,
		MaxIdleConnsPerHost:    idleConnsPerHost,
		IdleConnTimeout:        idleConnTimeout,
		MaxResponseHeaderBytes: maxReplyHeader,
	}
	t.Proxy, err = outbound.ParseProxy(o.Proxy)
	return t, err
}

// reach is what a provider's addresses may be.
func reach(allowPrivate bool) outbound.Reach {
	if allowPrivate {
		return outbound.Anywhere
	}
	return outbound.Public
}
