package dashboard

import (
	"net/http"
	"net/url"

	"weir/internal/people"
	"weir/internal/signin"
)

// signInHandlers signs people in: by password, single sign-on and one-time links.
type signInHandlers struct {
	site      *site
	people    *people.Directory
	signIn    *signin.Service
	publicURL func(*http.Request) string
}

// signInPage shows the ways to sign in.
type signInPage struct {
	Fresh           bool // whether the installation is not set up yet
	SSO             string
	SSOPath         string
	Passwords       bool // whether passwords are enabled
	Next            string
	Email, Password Field
	Problems        []Problem
}

// page shows the sign-in page, and redirects a signed-in user.
func (h *signInHandlers) page(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	if v.User() != nil {
		return goTo(w, r, signin.LocalPath(r.URL.Query().Get("next")))
	}
	return h.ask(w, r, v)
}

// ask asks for the second factor if it is pending, else for the password.
func (h *signInHandlers) ask(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	pending, err := h.signIn.Factors.Pending(r.Context(), h.site.cookies.session(r))
	if err != nil {
		return err
	}
	if pending {
		return h.showCode(w, r, v, &form{})
	}
	return h.show(w, r, v, &form{})
}

func (h *signInHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	fresh, err := h.people.Fresh(r.Context())
	if err != nil {
		return err
	}
	p := signInPage{
		Fresh: fresh, SSO: h.signIn.SSO.Name(), Passwords: h.people.Passwords(),
		Next: signin.LocalPath(r.FormValue("next")),
	}
	p.SSOPath = "/oidc/start?next=" + url.QueryEscape(p.Next)
	p.Email = f.field(ownEmail())
	p.Password = f.field(Field{
		Name: "password", Label: "Password", Kind: "password", Complete: "current-password", Required: true, Max: 256,
	})
	p.Problems = f.problems()
	retryAfter(w, f.wait)
	return h.site.show(w, r, v, page{name: "sign-in", title: "Sign in", bare: true, status: f.status(), data: p})
}

// ownEmail returns the field for the user's own address.
func ownEmail() Field {
	return Field{
		Name: "email", Label: "E-mail", Kind: "email", Complete: "username", Required: true, First: true, Max: 254,
	}
}

func (h *signInHandlers) byPassword(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f := sent(r)
	session, err := h.signIn.Passwords.SignIn(r.Context(), r.PostFormValue("email"), secret(r, "password"), v.Origin)
	if err != nil {
		return f.refused(w, r, v, err, h.show)
	}
	h.site.cookies.startSession(w, session)
	return goTo(w, r, signin.LocalPath(r.PostFormValue("next")))
}

// signOut ends the session. It also succeeds without a session.
func (h *signInHandlers) signOut(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	if v.User() != nil {
		if err := h.signIn.Sessions.SignOut(r.Context(), v.Visitor, v.Origin); err != nil {
			return err
		}
	}
	h.site.cookies.drop(w, sessionCookie)
	return goTo(w, r, "/sign-in?done=signed-out")
}

// home redirects a signed-in user to their own page, and shows the sign-in page to others.
func (h *signInHandlers) home(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	switch {
	case v.User() == nil:
		return h.ask(w, r, v)
	case len(v.Memberships()) > 0:
		return goTo(w, r, accountPath(v.Memberships()[0].AccountName))
	case v.Operator():
		return goTo(w, r, "/operator/accounts")
	}
	return goTo(w, r, "/me")
}

// startOIDC starts single sign-on. It is a link, because browsers apply the policy for forms to redirects of a form.
// It changes only the browser's own cookie.
func (h *signInHandlers) startOIDC(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	address, state, err := h.signIn.SSO.Start(r.Context(), r.URL.Query().Get("next"), v.Origin)
	if err != nil {
		return err
	}
	h.site.cookies.set(w, oidcCookie, state.Reveal(), signin.OIDCFor)
	return goTo(w, r, address)
}

// logoutOIDC ends sessions when the provider of single sign-on reports that it has ended them.
func (h *signInHandlers) logoutOIDC(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	_, err := h.signIn.SSO.Logout(r.Context(), r.PostFormValue("logout_token"), v.Origin)
	return err
}

func (h *signInHandlers) finishOIDC(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	state := h.site.cookies.get(r, oidcCookie)
	h.site.cookies.drop(w, oidcCookie)
	f := &form{}
	if state == "" {
		f.general = []string{"This sign-in took too long or was started in another browser. Start again."}
		return h.show(w, r, v, f)
	}
	session, next, err := h.signIn.SSO.Finish(r.Context(), state, r.URL.Query(), v.Origin)
	if err != nil {
		return f.refused(w, r, v, err, h.show)
	}
	h.site.cookies.startSession(w, session)
	return goTo(w, r, next)
}
