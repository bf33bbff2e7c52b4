package dashboard

import (
	"net/http"
	"strings"
	"time"

	"weir/internal/people"
	"weir/internal/signin"
)

// profileHandlers serves the page of a user's own profile.
type profileHandlers struct {
	site      *site
	people    *people.Directory
	signIn    *signin.Service
	publicURL func(*http.Request) string
}

// mePage shows a user's own data: name, password, sessions.
type mePage struct {
	Email, Intro string
	SSO          string // name of single sign-on if it grants roles that this session does not have; empty for none
	Name         Field
	HasPassword  bool
	Passwords    []Field
	SecondFactor bool  // whether there is one
	Confirm      Field // the password, to remove it
	Passkeys     []passkeyRow
	MayAdd       bool // whether passkeys can be added
	Sessions     []sessionRow
	Others       bool // whether there are other sessions
	Problems     []Problem
}

// sessionRow shows a browser that is signed in.
type sessionRow struct {
	Browser, Address string
	Way              string // how it signed in
	Since, Seen      time.Time
	Here             bool
	End              Confirm
}

func (h *profileHandlers) endSession(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	err := h.signIn.Sessions.End(r.Context(), v.Visitor, r.PathValue("id"), v.Origin)
	return goAfter(w, r, "/me?done=session-ended", err)
}

func (h *profileHandlers) endOtherSessions(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	err := h.signIn.Sessions.EndOthers(r.Context(), v.Visitor, v.Origin)
	return goAfter(w, r, "/me?done=sessions-ended", err)
}

func (h *profileHandlers) changeName(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	err := h.people.ChangeName(r.Context(), v.Visitor, r.PostFormValue("name"), v.Origin)
	return sent(r).followed(w, r, v, "/me?done=name-changed", err, h.show)
}

func (h *profileHandlers) changePassword(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f := sent(r)
	session, err := h.signIn.Passwords.Change(r.Context(), v.Visitor, secret(r, "current"), secret(r, "password"),
		v.Origin)
	if err != nil {
		return f.refused(w, r, v, err, h.show)
	}
	h.site.cookies.startSession(w, session)
	return goTo(w, r, "/me?done=password-changed")
}

func (h *profileHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	sessions, err := h.signIn.Sessions.List(r.Context(), v.Visitor)
	if err != nil {
		return err
	}
	u := v.User()
	p := mePage{Email: u.Email, HasPassword: u.Password && h.people.Passwords(), Intro: introduction(v)}
	if v.Confined() {
		p.SSO = h.signIn.SSO.Name()
	}
	p.Name = f.field(Field{
		Name: "name", Label: "Name", Hint: "Others see it.", Value: u.Name, Complete: "name", Max: 100,
	})
	// Keep the stored name if another form of the page was sent.
	if !f.values.Has("name") {
		p.Name.Value = u.Name
	}
	p.Passwords = []Field{
		f.field(currentPassword("current")),
		f.field(Field{
			Name: "password", Label: "New password", Kind: "password",
			Hint: "At least 8 characters. Your other sessions will be signed out.", Complete: "new-password",
			Required: true, Max: 256,
		}),
	}
	p.SecondFactor, p.Confirm = u.SecondFactor, f.field(currentPassword("confirm"))
	p.Problems = f.problems()
	passkeys, err := h.signIn.Passkeys.Of(r.Context(), v.Visitor)
	if err != nil {
		return err
	}
	p.Passkeys, p.MayAdd = passkeyRows(passkeys), h.signIn.Passkeys.Offered(v.Visitor, h.publicURL(r))
	current := ""
	if here := v.Session(); here != nil {
		current = here.ID
	}
	for _, one := range sessions {
		p.Sessions = append(p.Sessions, sessionRowOf(one, current))
	}
	p.Others = len(sessions) > 1
	return h.site.show(w, r, v, page{name: "me", title: "Your profile", status: f.status(), data: p})
}

func sessionRowOf(one people.Session, current string) sessionRow {
	row := sessionRow{
		Browser: browser(one.Agent), Address: one.Address, Way: ways[one.Method],
		Since: one.Created, Seen: one.Seen, Here: one.ID == current,
	}
	row.End = Confirm{
		Ident: "end-" + one.ID, Button: "End", Object: "the session of " + row.Browser, Title: "End this session?",
		Text:   row.Browser + " at " + one.Address + " must sign in again.",
		Action: "/me/sessions/" + one.ID + "/end", Verb: "End the session",
	}
	return row
}

// ways describes the methods by which sessions start.
var ways = map[string]string{
	people.ByPassword: "with a password", people.ByInvitation: "by an invitation", people.ByReset: "by a reset link",
	people.BySetup: "by the set-up link", people.ByLink: "by a link from the command line",
	people.ByOIDC: "by single sign-on",
}

// introduction describes a visitor's roles in a sentence.
func introduction(v *people.Visit) string {
	var in []string
	for _, m := range v.Memberships() {
		in = append(in, string(m.Role)+" of "+m.AccountName)
	}
	text := strings.Join(in, ", ")
	switch {
	case v.Operator() && text == "":
		return "Operator of this installation"
	case v.Operator():
		return "Operator of this installation, " + text
	case text == "":
		return "Not a member of any account"
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// browser describes a User-Agent header in a few words, by which people recognise their own browser; it is not
// verified.
func browser(agent string) string {
	return named(agent, "Unknown browser", [][2]string{
		{"Edg/", "Edge"},
		{"OPR/", "Opera"},
		{"Firefox/", "Firefox"},
		{"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"},
		{"Chrome/", "Chrome"},
		{"Safari/", "Safari"},
		{"curl/", "curl"},
	}) + named(agent, "", [][2]string{
		{"iPhone", " on iPhone"},
		{"iPad", " on iPad"},
		{"Android", " on Android"},
		{"Windows", " on Windows"},
		{"Mac OS X", " on macOS"},
		{"CrOS", " on ChromeOS"},
		{"Linux", " on Linux"},
	})
}

// named returns the second of the first pair whose first is in the text.
func named(text, otherwise string, pairs [][2]string) string {
	for _, p := range pairs {
		if strings.Contains(text, p[0]) {
			return p[1]
		}
	}
	return otherwise
}
