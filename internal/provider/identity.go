package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"weir/internal/dialect"
	"weir/internal/outbound"
)

// identity shows who the gateway is where no key is configured, by what its
// environment gives it: variables, files, the role of the machine. Nothing of
// it is read, and nobody is asked, before the first request.
type identity struct {
	// sign gives the headers that a request carries. It waits for a credential
	// at most until ctx ends. Its errors are fit for a log.
	sign func(ctx context.Context, c *Call, target string) ([]dialect.Header, error)
	// secrets are what no text may hold.
	secrets func() []string
	// close lets go of a credential that nobody waits for.
	close func()
}

// bearer is an access token (RFC 6750) and the headers that go along with it.
type bearer struct {
	token string
	more  []dialect.Header
}

// newBearerIdentity sends the token that fetch gets.
func newBearerIdentity(o *Options, fetch func(ctx context.Context) (lease[bearer], error)) *identity {
	k := newCredentialCache(o.Now, fetch)
	return &identity{
		sign: func(ctx context.Context, _ *Call, _ string) ([]dialect.Header, error) {
			b, err := k.get(ctx)
			if err != nil {
				return nil, err
			}
			return append([]dialect.Header{{Name: "Authorization", Value: "Bearer " + b.token}}, b.more...), nil
		},
		secrets: func() []string {
			var all []string
			for _, b := range k.known() {
				all = append(all, b.token)
			}
			return all
		},
		close: k.close,
	}
}

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
	headers, err := p.identity.sign(ctx, c, target)
	if err == nil {
		err = checkHeaders(headers)
	}
	switch {
	case err == nil:
		x.signed = headers
		return nil
	case x.kind(err, false, false) == KindCanceled:
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

// newIdentityClient is the HTTP client by which credentials are fetched. It
// keeps to outbound.proxy and outbound.ca_file, and goes to the services of the
// machine itself without a proxy. Only the operator's own settings say where
// it goes, so that no address is forbidden.
func newIdentityClient(o *Options) (*http.Client, error) {
	t, err := newTransport(o)
	if err != nil {
		return nil, err
	}
	t.DialContext = nil // as net/http dials
	t.DisableKeepAlives = true
	t.MaxResponseHeaderBytes = 0
	if proxy := t.Proxy; proxy != nil {
		t.Proxy = func(r *http.Request) (*url.URL, error) {
			if isNear(r.URL.Hostname()) {
				return nil, nil
			}
			return proxy(r)
		}
	}
	return &http.Client{Transport: t}, nil
}

// isNear tells the machine's own services, which no proxy can reach.
func isNear(host string) bool {
	if host == "localhost" || host == "metadata.google.internal" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && outbound.IsLocal(outbound.Embedded(a))
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

// errorCode is the word by which a service names its error; empty where it is
// no word.
func errorCode(s string) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_."
	if len(s) > 64 || strings.Trim(s, letters) != "" {
		return ""
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
			out.WriteString("[redacted]")
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
