package dashboard

import (
	"net/http"
	"net/url"

	"weir/internal/people"
)

// signInPage is the way in.
type signInPage struct {
	Fresh           bool // nobody has set up yet
	SSO             string
	SSOPath         string
	Passwords       bool // one may be given
	Next            string
	Email, Password Field
	Problems        []Problem
}

func (s *Server) signRoutes() []people.Route {
	return []people.Route{
		s.route("GET /sign-in", people.Open, func(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
			if v.User() != nil {
				return goTo(w, r, people.LocalPath(r.URL.Query().Get("next")))
			}
			return s.showSignIn(w, r, v, &form{})
		}),
		s.route("POST /sign-in", people.Open, s.signIn),
		s.route("POST /sign-out", people.Open, s.signOut),
	}
}

func (s *Server) showSignIn(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	fresh, err := s.options.People.Fresh(r.Context())
	if err != nil {
		return err
	}
	p := signInPage{
		Fresh: fresh, SSO: s.options.People.SSO(), Passwords: s.options.People.Passwords(),
		Next: people.LocalPath(r.FormValue("next")),
	}
	p.SSOPath = "/oidc/start?next=" + url.QueryEscape(p.Next)
	p.Email = f.field(Field{
		Name: "email", Label: "E-mail", Kind: "email", Complete: "username", Required: true,
		First: true, Max: 254,
	})
	p.Password = f.field(Field{
		Name: "password", Label: "Password", Kind: "password", Complete: "current-password",
		Required: true, Max: 256,
	})
	p.Problems = f.problems()
	retryAfter(w, f.wait)
	return s.show(w, r, v, page{name: "sign-in", title: "Sign in", bare: true, status: f.status(), data: p})
}

func (s *Server) signIn(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f := sent(r)
	session, err := s.options.People.SignIn(r.Context(), r.PostFormValue("email"), secret(r, "password"), v.Origin)
	if f.refuse(err) {
		return s.showSignIn(w, r, v, f)
	}
	if err != nil {
		return err
	}
	s.startSession(w, session)
	return goTo(w, r, people.LocalPath(r.PostFormValue("next")))
}

// signOut ends the session. Somebody who has none any more is signed out all
// the same.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	if v.User() != nil {
		if err := s.options.People.SignOut(r.Context(), v.Visitor, v.Origin); err != nil {
			return err
		}
	}
	s.dropCookie(w, sessionCookie)
	return goTo(w, r, "/sign-in?done=signed-out")
}
