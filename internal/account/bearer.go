package account

import (
	"net/http"
	"strings"
)

// Token is the token of the Authorization header, else of the first of the
// other headers that is there; empty if there is none.
func Token(h http.Header, others ...string) string {
	token := BearerToken(h)
	for _, name := range others {
		if token != "" {
			break
		}
		token = h.Get(name)
	}
	return token
}

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
