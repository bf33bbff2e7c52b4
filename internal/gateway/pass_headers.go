package gateway

import (
	"net/http"
	"strings"

	"weir/internal/dialect"
	"weir/internal/provider"
)

// traceHeaders are the W3C's headers of a trace (https://www.w3.org/TR/trace-context/). The gateway makes none of its own.
var traceHeaders = [...]string{"Traceparent", "Tracestate"}

// mostTrace is how long the value of such a header may be. The standard has vendors keep 512 characters.
const mostTrace = 1 << 10

// sentHeaders are the client's headers that go along with an attempt.
func (a *attempt) sentHeaders() []dialect.Header {
	sent := a.Passed()
	for _, name := range traceHeaders {
		values := a.call.r.Header[name]
		if len(values) == 0 {
			if name == traceHeaders[0] {
				break // a state without a parent means nothing
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
	// mostBack is how many headers of a provider's answer go back to the client, and longestBack how long name and value
	// of one may be.
	mostBack    = 32
	longestBack = 256
)

// keepBack keeps what a provider's answer tells in headers that its vendor's clients read, where client and provider
// speak the same.
func (a *attempt) keepBack(resp *provider.Response) {
	if len(a.Dialect.Returned) == 0 || a.Spoken != a.Op {
		return
	}
	for name, value := range resp.Header.All() {
		if len(a.back) < mostBack && a.Dialect.Returns(name) && len(name)+len(value) <= longestBack && isPrintable(value) {
			a.back = append(a.back, dialect.Header{Name: http.CanonicalHeaderKey(name), Value: value})
		}
	}
}

// setBack sets the headers that were kept, but for those that the gateway itself has set: its own limits come first.
func setBack(h http.Header, back []dialect.Header) {
	for _, b := range back {
		if !hasHeader(h, b.Name) {
			h[b.Name] = []string{b.Value}
		}
	}
}

// hasHeader reports whether a header is set, in whatever case.
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
