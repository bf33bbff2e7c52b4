package dashboard

import (
	"net/http"
	"net/url"

	"weir/internal/people"
)

// signInPath is where to sign in and come back to what was asked for. What a
// form sent cannot be sent again.
func signInPath(r *http.Request) string {
	if r.Method != http.MethodGet || r.URL.Path == "/" {
		return "/sign-in"
	}
	return "/sign-in?next=" + url.QueryEscape(people.LocalPath(r.URL.RequestURI()))
}
