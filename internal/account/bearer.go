package account

import (
	"net/http"
	"strings"
)

// BearerToken is the token of an Authorization header, empty if there is none
// (RFC 6750; the scheme's case does not count).
func BearerToken(h http.Header) string {
	const scheme = "bearer "
	v := h.Get("Authorization")
	if len(v) < len(scheme) || !strings.EqualFold(v[:len(scheme)], scheme) {
		return ""
	}
	return strings.TrimSpace(v[len(scheme):])
}

// Token is the key that a request carries: the token of its Authorization
// header or, without one, the first of these headers that holds anything.
func Token(h http.Header, others []string) string {
	token := BearerToken(h)
	for _, name := range others {
		if token != "" {
			break
		}
		token = h.Get(name)
	}
	return token
}
