package dashboard

import (
	"net/http"
	"strings"
	"time"

	"weir/internal/llm"
	"weir/internal/people"
)

// usersPage is everybody who may sign in.
type usersPage struct {
	Filters     Filters
	Users       []userRow
	Shown       string
	Invite      Field
	Invited     *invited
	Reset       *resetMade
	Invitations []invitationRow
	Problems    []Problem
}

// userRow is a user in the list.
type userRow struct {
	Name, Email string
	You         bool
	Operator    bool
	Unproven    bool // nobody has shown that the address is theirs
	In          []membershipTag
	Way         string // how they sign in
	Seen        *time.Time
	ResetPath   string
	Change      Confirm // makes an operator, or none
}

// membershipTag is an account of a user.
type membershipTag struct {
	Name, Path string
	Role       people.Role
}

// resetMade is a link for a new password, which is shown this once.
type resetMade struct{ Email, Link string }

// madeOnce is what the page shows this once.
type madeOnce struct {
	invited *invited
	reset   *resetMade
}

const usersPath = "/operator/people"

func (s *Server) userRoutes() []people.Route {
	return []people.Route{
		s.route("GET "+usersPath, people.Operate, func(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
			return s.showUsers(w, r, v, &form{}, madeOnce{})
		}),
		s.route("POST "+usersPath+"/invite", people.Operate, s.inviteOperator),
		s.route("POST "+usersPath+"/{user}/reset", people.Operate, s.resetUser),
		s.route("POST "+usersPath+"/{user}/promote", people.Operate, func(w http.ResponseWriter, r *http.Request,
			v *people.Visit,
		) error {
			return s.setOperator(w, r, v, true)
		}),
		s.route("POST "+usersPath+"/{user}/demote", people.Operate, func(w http.ResponseWriter, r *http.Request,
			v *people.Visit,
		) error {
			return s.setOperator(w, r, v, false)
		}),
		s.route("POST "+usersPath+"/invitations/{id}/cancel", people.Operate, s.cancelOperator),
	}
}

func (s *Server) inviteOperator(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f := sent(r)
	token, i, err := s.options.People.Invite(r.Context(), v.By,
		people.Invitation{Email: strings.TrimSpace(r.PostFormValue("email")), Operator: true})
	if token.IsZero() && f.refuse(err) {
		return s.showUsers(w, r, v, f, madeOnce{})
	}
	if token.IsZero() {
		return err
	}
	if err != nil { // the invitation stands; its mail did not go out
		s.options.Log.WarnContext(r.Context(), "an invitation could not be mailed", "request_id", v.Origin.Request, "err", err)
	}
	link := s.options.PublicURL(r) + "/invite/" + token.Reveal()
	return s.showUsers(w, r, v, &form{}, madeOnce{invited: &invited{Email: i.Email, Link: link, Unsent: err != nil}})
}

func (s *Server) resetUser(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f := &form{}
	u, err := s.options.People.User(r.Context(), r.PathValue("user"))
	var token llm.Secret
	if err == nil {
		token, err = s.options.People.ResetLink(r.Context(), v.By, u.ID)
	}
	if f.refuse(err) {
		return s.showUsers(w, r, v, f, madeOnce{})
	}
	if err != nil {
		return err
	}
	link := s.options.PublicURL(r) + "/reset/" + token.Reveal()
	return s.showUsers(w, r, v, f, madeOnce{reset: &resetMade{Email: u.Email, Link: link}})
}

func (s *Server) setOperator(w http.ResponseWriter, r *http.Request, v *people.Visit, on bool) error {
	id := r.PathValue("user")
	to := usersPath + "?done=operator-added"
	if !on {
		to = usersPath + "?done=operator-removed"
		if u := v.User(); u != nil && u.ID == id {
			to = "/" // this page is not theirs any more
		}
	}
	return s.userChanged(w, r, v, to, s.options.People.SetOperator(r.Context(), v.By, id, on))
}

func (s *Server) cancelOperator(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	err := s.options.People.CancelInvitation(r.Context(), v.By, "", r.PathValue("id"))
	return s.userChanged(w, r, v, usersPath+"?done=invitation-cancelled", err)
}

// userChanged goes on after a form of the page. What is refused is said on it.
func (s *Server) userChanged(w http.ResponseWriter, r *http.Request, v *people.Visit, to string, err error) error {
	return followed(w, r, to, err, func(f *form) error { return s.showUsers(w, r, v, f, madeOnce{}) })
}

func (s *Server) showUsers(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form, just madeOnce) error {
	users, err := s.options.People.Users(r.Context())
	if err != nil {
		return err
	}
	members, err := s.options.Installation.Memberships(r.Context())
	if err != nil {
		return err
	}
	invitations, err := s.options.People.Invitations(r.Context(), "")
	if err != nil {
		return err
	}
	p := usersPageOf(v, users, members, strings.TrimSpace(r.URL.Query().Get("q")), f)
	p.Invited, p.Reset = just.invited, just.reset
	for _, i := range invitations {
		p.Invitations = append(p.Invitations, invitationRowOf(usersPath+"/invitations", i))
	}
	return s.show(w, r, v, page{name: "operator-people", title: "People", status: f.status(), data: p})
}

func usersPageOf(v *people.Visit, users []people.User, members []people.Membership, sought string, f *form) usersPage {
	in := map[string][]membershipTag{}
	for _, m := range members {
		in[m.UserID] = append(in[m.UserID], membershipTag{
			m.AccountName, accountPath(m.AccountName) + "/members",
			m.Role,
		})
	}
	p := usersPage{Filters: searchOf(usersPath, "Search people", "Name, e-mail or account", sought)}
	found := int64(0)
	for i := range users {
		u := &users[i]
		texts := []string{u.Name, u.Email, u.ID}
		for _, tag := range in[u.ID] {
			texts = append(texts, tag.Name)
		}
		if matches(sought, texts...) {
			if found++; found <= mostPeople {
				p.Users = append(p.Users, userRowOf(v, u, in[u.ID]))
			}
		}
	}
	p.Shown = shownOf(found, mostPeople, "people, by e-mail. Search for others.")
	p.Invite = f.field(Field{Name: "email", Label: "E-mail", Kind: "email", Complete: "off", Required: true, Max: 254})
	p.Problems = f.problems()
	return p
}

func userRowOf(v *people.Visit, u *people.User, in []membershipTag) userRow {
	name := nameOf(u.Name, u.Email)
	row := userRow{
		Name: name, Email: u.Email, Operator: u.Operator, Unproven: !u.Proven, In: in, Way: "Password", Seen: u.Seen,
		You: v.User() != nil && v.User().ID == u.ID, ResetPath: usersPath + "/" + u.ID + "/reset",
	}
	if !u.Password {
		row.Way = "Single sign-on"
	}
	row.Change = Confirm{
		Ident: "operator-" + u.ID, Button: "Make operator", Object: name, Title: "Make " + name + " an operator?",
		Keep:   "Leave it",
		Text:   "Operators see and change everything here: all accounts, people, budgets and keys.",
		Action: usersPath + "/" + u.ID + "/promote", Verb: "Make an operator",
	}
	if u.Operator {
		row.Change = Confirm{
			Ident: "operator-" + u.ID, Button: "Remove operator", Object: name, Title: "Remove " + name +
				" as an operator?", Keep: "Leave it",
			Text: "They keep their accounts, and see nothing else any more, at once. Keys with the permission " +
				"admin that they made are revoked, and their open invitations withdrawn.",
			Action: usersPath + "/" + u.ID + "/demote", Verb: "Remove the operator",
		}
	}
	return row
}
