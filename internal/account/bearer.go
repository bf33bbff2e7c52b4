package account

import (
	"net/http"
	"strings"

	"weir/internal/llm"
)

// Token is the token of the Authorization header, else of the first of the
// other headers that is there; empty if there is none. Of a header that stands more
// than once, or beside another one with another key, a proxy may have read another one: the error is an *llm.Error.
func Token(h http.Header, others ...string) (string, error) {
	token, err := BearerToken(h), llm.Once(h, "Authorization")
	for _, name := range others {
		if err == nil {
			err = llm.Once(h, name)
		}
		other := h.Get(name)
		if token == "" {
			token = other
		}
		if err == nil && other != token && isOurs(other) && isOurs(token) {
			err = llm.Invalidf("", "Authorization and %s have different API keys. Send one of them.", name)
		}
	}
	return token, err
}

// isOurs reports whether a text has the form of a key of this gateway: clients send others' keys, or none, beside one.
func isOurs(text string) bool { return strings.HasPrefix(text, tokenPrefix) }

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
