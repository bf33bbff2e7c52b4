package gateway

import (
	"net/http"
	"strings"

	"weir/internal/dialect"
	"weir/internal/provider"
)

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

func isPrintable(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}
