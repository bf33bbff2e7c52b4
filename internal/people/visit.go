package people

import (
	"net/http"
	"strings"

	"weir/internal/account"
	"weir/internal/audit"
)

// Visit is a request that its route has admitted.
type Visit struct {
	*Visitor                  // nil if the route is open and the visitor is not signed in
	Account  *account.Account // named by the path; nil if it names none
	Origin   Origin
	By       audit.Actor // for the audit log
}

// Route is a pattern of the dashboard or of the administration API, with the right that it requires. Requests without
// that right do not reach Serve. The path value {account} is the name or id of an account, which Visit.Account holds.
type Route struct {
	Pattern string // in the form of http.ServeMux, with the method
	Right   Right  // Open for everybody
	Ask     bool   // sends a request to a model, which is subject to rate limits and is not a change
	Serve   func(w http.ResponseWriter, r *http.Request, v *Visit)
}

// Revokes reports whether the route revokes an API key or the visitor's own sessions.
func (r *Route) Revokes() bool {
	method, path, _ := strings.Cut(r.Pattern, " ")
	return method == "DELETE" && strings.HasSuffix(path, "/keys/{key}") ||
		method == "POST" && (strings.HasSuffix(path, "/keys/{id}/revoke") || strings.HasPrefix(path, "/me/sessions/"))
}

// HidePath returns a path for logs, without the secret of a one-time link.
func HidePath(path string) string {
	steps := strings.Split(path, "/")
	for i, step := range steps {
		switch LinkKind(step) {
		case SetupLink, InviteLink, ResetLink, SignInLink:
			if i+1 < len(steps) {
				return strings.Join(steps[:i+1], "/") + "/…"
			}
		}
	}
	return path
}
