package account

import (
	"net/http"
	"strings"

	"weir/internal/llm"
)

// keyHeaders lists the headers in which clients of vendors send keys.
var keyHeaders = []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"}

// Token returns the token of the Authorization header, or else of the first other header that is set; empty if there is
// none. The error is an *llm.Error if a header occurs more than once, because a proxy may have read another value, or
// if there is only a header that is not accepted here.
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
	if token == "" && err == nil {
		err = misplaced(h)
	}
	return token, err
}

// misplaced returns an error if a key is in a header, or in a form, that is not accepted here.
func misplaced(h http.Header) error {
	for _, name := range keyHeaders {
		if h.Get(name) != "" {
			return llm.Errorf(llm.CodeAuthentication,
				"The API key is in the header %s, which is not read at this path. "+
					"Send it as \"Authorization: Bearer wk_...\".", name)
		}
	}
	if h.Get("Authorization") != "" {
		return llm.Errorf(llm.CodeAuthentication, "The header Authorization has no key in the form \"Bearer wk_...\". "+
			"Send it in that form.")
	}
	return nil
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
