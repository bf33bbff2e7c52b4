package provider

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"weir/internal/credential"
	"weir/internal/dialect"
	"weir/internal/outbound"
)

// sign sets the authentication headers of the exchange's request, if they do not come from a configured key. A provider
// is not called without credentials.
func (p *Provider) sign(x *exchange, c *Call, target string) *Failure {
	if p.identity == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(x.parent)
	defer cancel()
	if !x.attach(cancel) {
		return x.failure(errGivenUp, false)
	}
	headers, err := p.identity.Sign(ctx, target, c.Body)
	if err == nil {
		err = checkHeaders(headers)
	}
	if err == nil {
		x.signed = headers
		return nil
	}
	if k := x.kind(err, false, false); k == KindCanceled || k == KindShortage {
		return x.failure(err, false)
	}
	return p.failure(KindCredential, false, fmt.Errorf("provider %s: no credentials: %s", p.opts.Name,
		logSafe(err.Error())))
}

var errCredential = errors.New("the credential contains a character that is not allowed in a header")

// checkHeaders refuses values that would end a header line, because they come from a token server.
func checkHeaders(headers []dialect.Header) error {
	for _, h := range headers {
		if !isFieldValue(h.Value) {
			return errCredential
		}
	}
	return nil
}

// newIdentity returns the identity that the environment gives the gateway.
func newIdentity(o *Options, way credential.Way) (*credential.Identity, error) {
	u, err := url.Parse(o.BaseURL)
	if err != nil {
		return nil, err
	}
	client, err := newIdentityClient(o)
	if err != nil {
		return nil, err
	}
	return way.Identify(&credential.Options{URL: u, Client: client, Now: o.Now}), nil
}

// newIdentityClient returns the HTTP client for fetching credentials. It uses outbound.proxy and outbound.ca_file, and
// connects to the machine's own services without a proxy. No address is forbidden, because only the operator's settings
// determine the addresses.
func newIdentityClient(o *Options) (*http.Client, error) {
	roots, err := outbound.Certificates(o.CAFile)
	if err != nil {
		return nil, err
	}
	t := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: o.Timeouts.Connect,
		DisableKeepAlives:   true,
	}
	if t.Proxy, err = outbound.ParseProxy(o.Proxy); err != nil {
		return nil, err
	}
	if proxy := t.Proxy; proxy != nil {
		t.Proxy = func(r *http.Request) (*url.URL, error) {
			if credential.IsNear(r.URL.Hostname()) {
				return nil, nil
			}
			return proxy(r)
		}
	}
	return &http.Client{Transport: t}, nil
}

const (
	maxLogSafe = 600 // bytes
	minOpaque  = 32
)

// logSafe returns a library's error about a missing credential as one short line, without anything that may be a
// credential.
func logSafe(s string) string {
	fields := strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
	for i, field := range fields {
		fields[i] = hideOpaque(field)
	}
	s = strings.Join(fields, " ")
	if len(s) > maxLogSafe {
		s = s[:maxLogSafe] + "…"
	}
	return s
}

// hideOpaque replaces runs of characters that look like base64 or hex and are too long for a word.
func hideOpaque(s string) string {
	var out strings.Builder
	for len(s) > 0 {
		n := 0
		for n < len(s) && isOpaque(s[n]) {
			n++
		}
		if run := s[:n]; n >= minOpaque && strings.ContainsAny(run, "0123456789") {
			out.WriteString(redacted)
		} else {
			out.WriteString(run)
		}
		if n < len(s) {
			out.WriteByte(s[n])
			n++
		}
		s = s[n:]
	}
	return out.String()
}

func isOpaque(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte("+/=_-", c) >= 0
}
