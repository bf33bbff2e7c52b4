package outbound

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
)

// ProxySchemes are those of the proxies that can be gone through. To either kind of
// SOCKS5 (RFC 1928) names go unresolved.
func ProxySchemes() []string { return []string{"http", "https", "socks5", "socks5h"} }

// Proxy is an http.Transport.Proxy; nil for none. It is the proxy that resolves names,
// so that of the addresses behind it only literal ones can be judged.
type Proxy func(*http.Request) (*url.URL, error)

// ParseProxy is the proxy of a URL, which may carry a password; none where it is empty.
// What the environment says of proxies counts for nothing.
func ParseProxy(text string) (Proxy, error) {
	u, err := ParseProxyURL(text)
	if u == nil {
		return nil, err
	}
	return http.ProxyURL(u), nil
}

// ParseProxyURL is ParseProxy for who goes through the proxy by itself; nil for none.
func ParseProxyURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains(ProxySchemes(), u.Scheme) {
		// the error of url.Parse has the password
		return nil, errors.New(
			`outbound.proxy: not an http, https or socks5 address such as "http://proxy.example.com:3128"`)
	}
	return u, nil
}
