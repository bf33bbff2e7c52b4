package dashboard

import (
	"net/http"

	"weir/internal/people"
)

// oidcRoutes are the way through single sign-on. The start is a link: browsers
// hold the addresses that a form leads on to against the policy for forms. It
// changes nothing here but the browser's own cookie.
func (s *Server) oidcRoutes() []people.Route {
	return []people.Route{
		s.route("GET /oidc/start", people.Open, s.startOIDC),
		s.route("GET /oidc/callback", people.Open, s.finishOIDC),
	}
}

func (s *Server) startOIDC(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	address, state, err := s.options.People.StartOIDC(r.Context(), r.URL.Query().Get("next"), v.Origin)
	if err != nil {
		return err
	}
	s.setCookie(w, oidcCookie, state.Reveal(), people.OIDCFor)
	return goTo(w, r, address)
}

func (s *Server) finishOIDC(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	state := s.cookie(r, oidcCookie)
	s.dropCookie(w, oidcCookie)
	f := &form{}
	if state == "" {
		f.general = []string{"The sign-in took too long, or began in another browser. Start again."}
		return s.showSignIn(w, r, v, f)
	}
	session, next, err := s.options.People.FinishOIDC(r.Context(), state, r.URL.Query(), v.Origin)
	if f.refuse(err) {
		return s.showSignIn(w, r, v, f)
	}
	if err != nil {
		return err
	}
	s.startSession(w, session)
	return goTo(w, r, next)
}
