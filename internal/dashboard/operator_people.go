package dashboard

import (
	"net/http"
	"strings"
	"time"

	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/people"
)

// peopleHandlers serves the operator's page of people.
type peopleHandlers struct {
	site      *site
	admin     *admin.Admin
	publicURL func(*http.Request) string
}

// usersPage lists all people who may sign in.
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

// userRow shows a user in the list.
type userRow struct {
	Name, Email string
	You         bool
	Operator    bool
	Unproven    bool // whether the address is not verified
	In          []membershipTag
	Way         string // how they sign in
	Seen        *time.Time
	ResetPath   string
	Disabled    bool
	Change      Confirm // makes the user an operator, or removes that
	Path        string  // of the user's own page
}

// membershipTag shows an account of a user.
type membershipTag struct {
	Name, Path string
	Role       people.Role
}

// resetMade holds a link for a new password, which is shown only once.
type resetMade struct{ Email, Link string }

// madeOnce holds data that the page shows only once.
type madeOnce struct {
	invited *invited
	reset   *resetMade
}

const usersPath = "/operator/people"

func (h *peopleHandlers) page(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	return h.show(w, r, v, f, madeOnce{})
}

func (h *peopleHandlers) invite(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f := sent(r)
	just, err := invite(r, v, h.admin.People, h.publicURL(r), people.Invitation{Operator: true})
	if err != nil {
		return f.refused(w, r, v, err, h.page)
	}
	return h.show(w, r, v, &form{}, madeOnce{invited: just})
}

func (h *peopleHandlers) reset(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f := &form{}
	u, err := h.admin.People.User(r.Context(), r.PathValue("user"))
	var link llm.Secret
	if err == nil {
		link, err = h.admin.People.ResetLink(r.Context(), v.By, u.ID, h.publicURL(r))
	}
	if err != nil {
		return f.refused(w, r, v, err, h.page)
	}
	return h.show(w, r, v, f, madeOnce{reset: &resetMade{Email: u.Email, Link: link.Reveal()}})
}

func (h *peopleHandlers) promote(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	err := h.admin.People.SetOperator(r.Context(), v.By, r.PathValue("user"), true)
	return (&form{}).followed(w, r, v, usersPath+"?done=operator-added", err, h.page)
}

func (h *peopleHandlers) demote(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	id, to := r.PathValue("user"), usersPath+"?done=operator-removed"
	if u := v.User(); u != nil && u.ID == id {
		to = "/" // they may no longer see this page
	}
	return (&form{}).followed(w, r, v, to, h.admin.People.SetOperator(r.Context(), v.By, id, false), h.page)
}

func (h *peopleHandlers) cancelInvitation(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	err := h.admin.People.CancelInvitation(r.Context(), v.By, "", r.PathValue("id"))
	return (&form{}).followed(w, r, v, usersPath+"?done=invitation-cancelled", err, h.page)
}

func (h *peopleHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form, just madeOnce) error {
	users, err := h.admin.People.Users(r.Context())
	if err != nil {
		return err
	}
	members, err := h.admin.Memberships(r.Context())
	if err != nil {
		return err
	}
	invitations, err := h.admin.People.Invitations(r.Context(), "")
	if err != nil {
		return err
	}
	p := usersPageOf(v, users, members, strings.TrimSpace(r.URL.Query().Get("q")), f)
	p.Invited, p.Reset = just.invited, just.reset
	for _, i := range invitations {
		p.Invitations = append(p.Invitations, invitationRowOf(usersPath+"/invitations", i))
	}
	return h.site.show(w, r, v, page{name: "operator-people", title: "People", status: f.status(), data: p})
}

func usersPageOf(v *people.Visit, users []people.User, members []people.Membership, sought string, f *form) usersPage {
	in := map[string][]membershipTag{}
	for _, m := range members {
		in[m.UserID] = append(in[m.UserID], membershipTag{
			m.AccountName, accountPath(m.AccountName) + "/members", m.Role,
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
	p.Shown = shownOf(found, mostPeople, "users, by e-mail. Search for others.")
	p.Invite = f.field(Field{Name: "email", Label: "E-mail", Kind: "email", Complete: "off", Required: true, Max: 254})
	p.Problems = f.problems()
	return p
}

func userRowOf(v *people.Visit, u *people.User, in []membershipTag) userRow {
	name := nameOf(u.Name, u.Email)
	row := userRow{
		Name: name, Email: u.Email, Operator: u.Operator, Unproven: !u.Proven, In: in, Way: "Password", Seen: u.Seen,
		Path: usersPath + "/" + u.ID, You: v.User() != nil && v.User().ID == u.ID,
		ResetPath: usersPath + "/" + u.ID + "/reset",
	}
	if !u.Password {
		row.Way = "Single sign-on"
	} else if u.SecondFactor {
		row.Way = "Password and second factor"
	}
	row.Disabled = u.Disabled != nil
	row.Change = operatorChange(u, name)
	return row
}

// operatorChange makes a user an operator, or revokes that.
func operatorChange(u *people.User, name string) Confirm {
	change := Confirm{
		Ident: "operator-" + u.ID, Button: "Make operator", Object: name, Title: "Make " + name + " an operator?",
		Keep: "Leave it", Text: "Operators can see and change everything: all accounts, users, budgets and keys.",
		Action: usersPath + "/" + u.ID + "/promote", Verb: "Make an operator",
	}
	if u.Operator {
		change = Confirm{
			Ident: "operator-" + u.ID, Button: "Remove operator", Object: name, Title: "Remove " + name +
				" as an operator?", Keep: "Leave it",
			Text: "They keep their accounts and lose access to everything else at once. Keys with the permission " +
				"admin that they created are revoked, and their pending invitations are cancelled.",
			Action: usersPath + "/" + u.ID + "/demote", Verb: "Remove the operator",
		}
	}
	return change
}
