package outbound

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
)

// ProxySchemes returns the URL schemes of supported proxies. Both kinds of SOCKS5 (RFC 1928) resolve names at the
// proxy.
func ProxySchemes() []string { return []string{"http", "https", "socks5", "socks5h"} }

// Proxy is an http.Transport.Proxy; nil for none. The proxy resolves names, so only literal addresses behind it can be
// checked.
type Proxy func(*http.Request) (*url.URL, error)

// ParseProxy returns the proxy for a URL, which may contain a password; nil if the URL is empty. Proxy settings of the
// environment are ignored.
func ParseProxy(text string) (Proxy, error) {
	u, err := ParseProxyURL(text)
	if u == nil {
		return nil, err
	}
	return http.ProxyURL(u), nil
}

// ParseProxyURL is ParseProxy for callers that connect to the proxy themselves; nil for none.
func ParseProxyURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains(ProxySchemes(), u.Scheme) {
		// the error of url.Parse contains the password
		return nil, errors.New(
			`outbound.proxy: not an http, https or socks5 address such as "http://proxy.example.com:3128"`)
	}
	return u, nil
}
