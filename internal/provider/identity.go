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

// sign gets the headers of the exchange's request, and nothing where its key
// is configured. Who cannot say who we are is never asked.
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

var errCredential = errors.New("the credential that was found holds a character that no header can carry")

// checkHeaders keeps what a token server says from ending a header.
func checkHeaders(headers []dialect.Header) error {
	for _, h := range headers {
		if !isFieldValue(h.Value) {
			return errCredential
		}
	}
	return nil
}

// newIdentity is what the environment says that the gateway is.
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

// newIdentityClient is the HTTP client by which credentials are fetched. It
// keeps to outbound.proxy and outbound.ca_file, and goes to the services of the
// machine itself without a proxy. Only the operator's own settings say where
// it goes, so that no address is forbidden.
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

// logSafe is what a library says of a credential that it did not get, on one
// short line and without anything that could be one.
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

// hideOpaque takes out the runs of characters that look like base64 or hex
// and are too long to be a word.
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
