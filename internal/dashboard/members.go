package dashboard

import (
	"net/http"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/people"
	"weir/internal/signin"
)

// memberHandlers serves the page of an account's members.
type memberHandlers struct {
	site      *site
	people    *people.Directory
	sso       *signin.SingleSignOn
	publicURL func(*http.Request) string
}

// membersPage shows an account and its members.
type membersPage struct {
	Name        string
	Badge       Badge
	Bounds      []Fact
	CanManage   bool
	Members     []memberRow
	Invitations []invitationRow
	InvitePath  string
	Invite      []Field
	SSO         string   // name of single sign-on if it grants the roles here; empty for none
	Invited     *invited // the invitation that this request created
	Problems    []Problem
}

// memberRow shows a member in the list.
type memberRow struct {
	Name, Email string
	Role        people.Role
	Since       time.Time
	You         bool
	RolePath    string
	RoleField   Field
	Remove      Confirm
}

// invitationRow shows a pending invitation.
type invitationRow struct {
	Email, By string
	Role      people.Role
	Expires   time.Time
	Cancel    Confirm
}

// invited shows an invitation with its link, only once.
type invited struct {
	Email  string
	Link   string
	Unsent bool // whether the mail failed
}

func membersPath(v *people.Visit) string { return accountPath(v.Account.Name) + "/members" }

func (h *memberHandlers) page(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	return h.show(w, r, v, f, nil)
}

func (h *memberHandlers) invite(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f := sent(r)
	just, err := invite(r, v, h.people, h.publicURL(r), people.Invitation{
		AccountID: v.Account.ID, Role: people.Role(r.PostFormValue("role")), Untrusted: !v.Operator(),
	})
	if err != nil {
		return f.refused(w, r, v, err, h.page)
	}
	return h.show(w, r, v, &form{}, just)
}

// invite creates the invitation of the form.
func invite(r *http.Request, v *people.Visit, to *people.Directory, base string, i people.Invitation) (
	*invited, error,
) {
	i.Email = strings.TrimSpace(r.PostFormValue("email"))
	one, err := to.Invite(r.Context(), v.By, i, base)
	return &invited{Email: one.Email, Link: one.Link.Reveal(), Unsent: one.Unmailed != nil}, err
}

func (h *memberHandlers) setRole(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	role := people.Role(r.PostFormValue("role"))
	err := h.people.SetRole(r.Context(), v.By, v.Account.ID, r.PathValue("user"), role)
	return (&form{}).followed(w, r, v, membersPath(v)+"?done=role-changed", err, h.page)
}

func (h *memberHandlers) remove(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	err := h.people.RemoveMember(r.Context(), v.By, v.Account.ID, r.PathValue("user"))
	return (&form{}).followed(w, r, v, membersPath(v)+"?done=member-removed", err, h.page)
}

func (h *memberHandlers) cancelInvitation(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	err := h.people.CancelInvitation(r.Context(), v.By, v.Account.ID, r.PathValue("id"))
	return (&form{}).followed(w, r, v, membersPath(v)+"?done=invitation-cancelled", err, h.page)
}

func (h *memberHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form, just *invited) error {
	members, err := h.people.Members(r.Context(), v.Account.ID)
	if err != nil {
		return err
	}
	p := membersPageOf(v, members, f)
	p.Invited = just
	if h.sso.Gives(v.Account.Name) {
		p.SSO = h.sso.Name()
	}
	if p.CanManage {
		invitations, err := h.people.Invitations(r.Context(), v.Account.ID)
		if err != nil {
			return err
		}
		for _, i := range invitations {
			p.Invitations = append(p.Invitations, invitationRowOf(accountPath(v.Account.Name)+"/invitations", i))
		}
	}
	return h.site.show(w, r, v, page{name: "members", title: "Account", status: f.status(), data: p})
}

func membersPageOf(v *people.Visit, members []people.Membership, f *form) membersPage {
	p := membersPage{
		Name: v.Account.Name, Badge: accountBadge(v.Account), Bounds: factsOf(v.Account),
		CanManage: v.May(people.Manage, v.Account.ID) == nil, InvitePath: membersPath(v) + "/invite",
	}
	for _, m := range members {
		p.Members = append(p.Members, memberRowOf(v, m))
	}
	p.Invite = []Field{
		f.field(Field{Name: "email", Label: "E-mail", Kind: "email", Complete: "off", Required: true, Max: 254}),
		f.field(Field{Name: "role", Label: "Role", Choices: roleChoices(people.Member)}),
	}
	p.Problems = f.problems()
	return p
}

// factsOf returns the limits, budget and credit of the account.
func factsOf(a *account.Account) []Fact {
	facts := []Fact{{"Budget", "None"}, {"Limits", "None for this account"}}
	if a.Budget.Limit > 0 {
		facts[0].Value = budgetText(a.Budget)
	}
	if bounds := boundsOf(a.Limits, account.Budget{}); len(bounds) > 0 {
		facts[1].Value = strings.Join(bounds, ", ")
	}
	if n := a.ContentPercent; n > 0 {
		text := number(n) + " % of requests: owners can read what they and their answers say"
		facts = append(facts, Fact{"Content log", text})
	}
	if a.Credit != nil {
		facts = append(facts, Fact{"Prepaid credit", dollars(a.Credit.Paid)})
	}
	if a.Goodwill != 0 {
		facts = append(facts, Fact{"Goodwill, deducted from what is owed", dollars(a.Goodwill)})
	}
	return append(facts, Fact{"Since", day(a.Created)}, Fact{"Id", a.ID})
}

func memberRowOf(v *people.Visit, m people.Membership) memberRow {
	path := membersPath(v) + "/" + m.UserID
	name := nameOf(m.Name, m.Email)
	row := memberRow{
		Name: name, Email: m.Email, Role: m.Role, Since: m.Since, RolePath: path + "/role",
		RoleField: Field{Name: "role", ID: "role-" + m.UserID, Label: "Role of " + name, Choices: roleChoices(m.Role)},
	}
	row.You = v.User() != nil && v.User().ID == m.UserID
	row.Remove = Confirm{
		Ident: "remove-" + m.UserID, Button: "Remove", Object: name, Title: "Remove " + name + "?",
		Text:   "They can no longer see this account. Keys that they created keep working: revoke them separately.",
		Action: path + "/remove", Verb: "Remove the member",
	}
	return row
}

// roleChoices returns the roles, with one chosen.
func roleChoices(chosen people.Role) []Choice {
	all := []Choice{
		{Value: string(people.Owner), Label: "Owner", Note: "Manages members, keys and webhooks"},
		{Value: string(people.Member), Label: "Member", Note: "Creates their own keys and uses the playground"},
		{Value: string(people.Viewer), Label: "Viewer", Note: "Sees usage and requests"},
	}
	for i := range all {
		all[i].Chosen = all[i].Value == string(chosen)
	}
	return all
}

// invitationRowOf returns the row of an invitation below that path.
func invitationRowOf(path string, i people.Invitation) invitationRow {
	row := invitationRow{Email: i.Email, By: i.By, Role: i.Role, Expires: i.Expires}
	row.Cancel = Confirm{
		Ident: "cancel-" + i.ID, Button: "Cancel", Object: "the invitation of " + i.Email,
		Title: "Cancel this invitation?", Text: "The link that " + i.Email + " has will stop working.",
		Action: path + "/" + i.ID + "/cancel", Verb: "Cancel the invitation",
	}
	return row
}
