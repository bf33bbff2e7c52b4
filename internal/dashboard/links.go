package dashboard

import (
	"net/http"
	"slices"

	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/signin"
)

// linkPage is the page of a one-time link, with a form for the person's data or a password.
type linkPage struct {
	Title, Text, Verb string
	Email             string // address of the link; empty if the form asks for it
	Known             bool   // they have a user and enter their password
	SSO               string // name of single sign-on if it replaces the form; empty for the form
	Fields            []Field
	Problems          []Problem
}

// useLink executes the form of a kind of link, and signs the person in.
func (h *signInHandlers) useLink(kind people.LinkKind) serve {
	return func(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
		f := sent(r)
		session, err := h.follow(r, kind, v.Origin)
		if err != nil {
			return f.refused(w, r, v, err, h.link(kind))
		}
		h.site.cookies.startSession(w, session)
		return goTo(w, r, "/")
	}
}

// link shows the page of a link of that kind. A link that is used, expired or of another kind is not found.
func (h *signInHandlers) link(kind people.LinkKind) formServe {
	return func(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
		link, err := h.signIn.Links.Find(r.Context(), r.PathValue("token"), kind)
		if err != nil {
			return err
		}
		p := linkPageOf(link, f)
		if !h.people.Passwords() {
			p.dropPasswords(kind, h.signIn.SSO.Name())
		}
		return h.site.show(w, r, v, page{name: "link", title: p.Title, bare: true, status: f.status(), data: p})
	}
}

func linkPageOf(link signin.Link, f *form) linkPage {
	p := linkPage{Email: link.Email, Known: link.Known && !link.Unsaid}
	name := Field{Name: "name", Label: "Name", Hint: "Others see it.", Complete: "name", Optional: true, Max: 100}
	password := Field{
		Name: "password", Label: "Password", Kind: "password",
		Hint:     "At least 8 characters. Several unrelated words are better than one word with special characters.",
		Complete: "new-password", Required: true, Max: 256,
	}
	switch {
	case link.Kind == people.SetupLink:
		p.Title, p.Text, p.Verb = "Set up Weir",
			"You are the first user. You become the operator of this installation and the owner of its first "+
				"account.", "Set up"
		p.Fields = []Field{f.field(ownEmail()), f.field(name), f.field(password)}
	case link.Kind == people.SignInLink:
		p.Title, p.Text, p.Verb = "Sign in", "This link works once.", "Sign in"
	case link.Kind == people.ResetLink:
		p.Title, p.Text, p.Verb = "Choose a new password", "Your other sessions will be signed out.",
			"Change the password"
		password.Label, password.First = "New password", true
		p.Fields = []Field{f.field(password)}
	case link.Unsaid:
		p.Title, p.Text, p.Verb = invitedTo(link.Invitation),
			"If you already have a user with this address, enter its password. Otherwise choose a name and a "+
				"password.", "Accept"
		name.First = true
		p.Fields = []Field{f.field(name), f.field(password)}
	case link.Known:
		p.Title, p.Text, p.Verb = invitedTo(link.Invitation),
			"You already have a user with this address. Enter its password to accept.", "Accept"
		p.Fields = []Field{f.field(Field{
			Name: "password", Label: "Password", Kind: "password",
			Complete: "current-password", Required: true, First: true, Max: 256,
		})}
	case link.Claims:
		p.Title, p.Verb = invitedTo(link.Invitation), "Accept and sign in"
		p.Text = "Another person may have signed in with this address. Choose a new password: the old one stops " +
			"working."
		password.Label, password.First = "New password", true
		p.Fields = []Field{f.field(password)}
	default:
		p.Title, p.Text, p.Verb = invitedTo(link.Invitation), "Choose a password to accept.", "Accept and sign in"
		name.First = true
		p.Fields = []Field{f.field(name), f.field(password)}
	}
	p.Problems = f.problems()
	return p
}

// dropPasswords removes password fields if passwords are disabled. A person who signs in by single sign-on with the
// address of an invitation accepts it.
func (p *linkPage) dropPasswords(kind people.LinkKind, sso string) {
	p.Fields = slices.DeleteFunc(p.Fields, func(f Field) bool { return f.Kind == "password" })
	if kind == people.InviteLink {
		p.SSO, p.Text = sso, "Sign in with this address to accept."
	}
}

func invitedTo(i *people.Invitation) string {
	switch {
	case i == nil:
		return "You are invited"
	case i.Operator && i.AccountName == "":
		return "Become an operator"
	}
	return "Join " + i.AccountName
}

// follow executes the link in the path, and starts a session.
func (h *signInHandlers) follow(r *http.Request, kind people.LinkKind, from people.Origin) (llm.Secret, error) {
	token := r.PathValue("token")
	switch kind {
	case people.SetupLink:
		return h.signIn.Links.SetUp(r.Context(), token, personOf(r), from)
	case people.InviteLink:
		return h.signIn.Links.Accept(r.Context(), token, personOf(r), from)
	case people.ResetLink:
		return h.signIn.Links.Reset(r.Context(), token, secret(r, "password"), from)
	}
	return h.signIn.Links.Follow(r.Context(), token, from)
}

func personOf(r *http.Request) signin.Person {
	return signin.Person{
		Email: r.PostFormValue("email"), Name: r.PostFormValue("name"), Password: secret(r, "password"),
	}
}

// forgotPage asks for an address, and then shows the same text for every address.
type forgotPage struct {
	Unmailed bool // no mail is sent, so people ask an operator
	Sent     bool
	Email    Field
	Problems []Problem
}

func (h *signInHandlers) forgotForm(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	if !h.people.Passwords() {
		return goTo(w, r, "/sign-in")
	}
	return h.showForgot(w, r, v, &form{}, false)
}

func (h *signInHandlers) forgot(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f := sent(r)
	err := h.signIn.Passwords.Forgot(r.Context(), r.PostFormValue("email"), v.Origin)
	if err != nil && !f.refuse(err) {
		return err
	}
	return h.showForgot(w, r, v, f, err == nil)
}

func (h *signInHandlers) showForgot(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form, sent bool) error {
	p := forgotPage{Unmailed: !h.people.Mails(), Sent: sent, Email: f.field(ownEmail())}
	p.Problems = f.problems()
	return h.site.show(w, r, v, page{
		name: "forgot", title: "Forgot your password?", bare: true, status: f.status(), data: p,
	})
}
