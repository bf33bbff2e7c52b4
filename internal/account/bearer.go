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
