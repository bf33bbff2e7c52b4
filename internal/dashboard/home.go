package dashboard

import (
	"net/http"

	"weir/internal/people"
)

func (s *Server) homeRoutes() []people.Route {
	return []people.Route{s.route("GET /{$}", people.Open, s.home)}
}

// home sends who is signed in to their own page. Others sign in right here.
func (s *Server) home(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	switch {
	case v.User() == nil:
		return s.showSignIn(w, r, v, &form{})
	case len(v.Memberships()) > 0:
		return goTo(w, r, accountPath(v.Memberships()[0].AccountName))
	case v.Operator() && s.has["GET /operator/accounts"]:
		return goTo(w, r, "/operator/accounts")
	}
	return goTo(w, r, "/me")
}
