package account

import (
	"net/http"
	"strings"

	"weir/internal/llm"
)

// Token returns the token of the Authorization header, or else of the first other header that is set; empty if there is
// none. If a header occurs more than once, the error is an *llm.Error, because a proxy may have read another value.
func Token(h http.Header, others ...string) (string, error) {
	token, err := BearerToken(h), llm.Once(h, "Authorization")
	for _, name := range others {
		if err == nil {
			err = llm.Once(h, name)
		}
		if token == "" {
			token = h.Get(name)
		}
	}
	return token, err
}

// BearerToken returns the token of an Authorization header; empty if there is none (RFC 6750; the scheme is
// case-insensitive).
func BearerToken(h http.Header) string {
	const scheme = "bearer "
	v := h.Get("Authorization")
	if len(v) < len(scheme) || !strings.EqualFold(v[:len(scheme)], scheme) {
		return ""
	}
	return strings.TrimSpace(v[len(scheme):])
}
