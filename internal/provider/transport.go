package provider

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

const (
	idleConnsPerHost = 512
	idleConnTimeout  = 90 * time.Second
	maxReplyHeader   = 256 << 10
	// An HTTP/2 connection that is silent for so long is asked whether it
	// lives, and dropped with all its streams when it does not say so.
	pingAfter = 15 * time.Second
)

// newTransport is the HTTP client for TLS, HTTP/2 and proxies. RoundTrip is called on it
// directly, so that no redirect is ever followed.
func newTransport(o *Options) (*http.Transport, error) {
	roots, err := certificates(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("outbound.ca_file: %w", err)
	}
	// A proxy is the operator's own, and usually on a private address.
	dialer := net.Dialer{Timeout: o.Timeouts.Connect, Control: guard(o.AllowPrivate || o.Proxy != "")}
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
	if o.Proxy != "" {
		u, err := url.Parse(o.Proxy)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New(`outbound.proxy: not an http or https address such as "http://proxy.example.com:3128"`)
		}
		t.Proxy = http.ProxyURL(u)
	}
	return t, nil
}

// certificates are the system's and those of the file; nil for the system's
// alone.
func certificates(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a system without certificates has the file's
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no PEM certificate", file)
	}
	return pool, nil
}
