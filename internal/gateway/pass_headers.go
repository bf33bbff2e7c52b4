package gateway

import (
	"net/http"
	"strings"

	"weir/internal/dialect"
	"weir/internal/provider"
)

// traceHeaders are the W3C trace context headers (https://www.w3.org/TR/trace-context/). The gateway creates none
// itself.
var traceHeaders = [...]string{"Traceparent", "Tracestate"}

// mostTrace bounds the value of a trace header. The standard requires vendors to accept 512 characters.
const mostTrace = 1 << 10

// sentHeaders returns the client's headers that are sent with an attempt.
func (a *attempt) sentHeaders() []dialect.Header {
	sent := a.Passed()
	for _, name := range traceHeaders {
		values := a.in.r.Header[name]
		if len(values) == 0 {
			if name == traceHeaders[0] {
				break // a tracestate without a traceparent has no meaning
			}
			continue
		}
		if value := strings.Join(values, ","); len(value) <= mostTrace && isPrintable(value) {
			sent = append(sent, dialect.Header{Name: name, Value: value})
		}
	}
	return sent
}

const (
	// mostBack bounds the number of a provider's headers that are returned to the client, longestBack the length of
	// one, name and value together.
	mostBack    = 32
	longestBack = 256
)

// keepBack stores the headers of a provider's answer that its vendor's clients read, if client and provider use the
// same wire format.
func (a *attempt) keepBack(resp *provider.Response) {
	if len(a.Dialect.Returned) == 0 || a.Spoken != a.Op {
		return
	}
	for name, value := range resp.Header.All() {
		short := len(name)+len(value) <= longestBack
		if short && len(a.back) < mostBack && a.Dialect.Returns(name) && isPrintable(value) {
			a.back = append(a.back, dialect.Header{Name: http.CanonicalHeaderKey(name), Value: value})
		}
	}
}

// setBack sets the stored headers, except those that the gateway has set, such as its own limits.
func setBack(h http.Header, back []dialect.Header) {
	for _, b := range back {
		if !hasHeader(h, b.Name) {
			h[b.Name] = []string{b.Value}
		}
	}
}

// hasHeader reports whether a header is set, in any case.
func hasHeader(h http.Header, name string) bool {
	for other := range h {
		if strings.EqualFold(other, name) {
			return true
		}
	}
	return false
}

func isPrintable(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}
