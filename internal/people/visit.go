package people

import (
	"net/http"
	"strings"

	"weir/internal/account"
	"weir/internal/audit"
)

// Visit is one request of somebody, as its route lets it in.
type Visit struct {
	*Visitor                  // nil where the route is open to everybody and nobody is signed in
	Account  *account.Account // that the path names; nil where it names none
	Origin   Origin
	By       audit.Actor // for the audit log
}

// Route is one pattern of the dashboard or of the administration, with the right
// that it asks. Whoever lacks it never comes to Serve. A path value {account} is
// the name or the id of an account, which Visit.Account then is.
type Route struct {
	Pattern string // as http.ServeMux has it, with the method
	Right   Right  // Open for everybody
	Ask     bool   // it asks a model, which limits count, and is no change
	Serve   func(w http.ResponseWriter, r *http.Request, v *Visit)
}

// Revokes reports whether the route takes an API key away, or sessions of one's own.
func (r *Route) Revokes() bool {
	method, path, _ := strings.Cut(r.Pattern, " ")
	return method == "DELETE" && strings.HasSuffix(path, "/keys/{key}") ||
		method == "POST" && (strings.HasSuffix(path, "/keys/{id}/revoke") || strings.HasPrefix(path, "/me/sessions/"))
}

// HidePath is a path as a log may have it: without what stands behind the kind of
// a one-time link, which is the link's secret.
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
