package api

import (
	"net/http"
	"time"

	"weir/internal/llm"
	"weir/internal/people"
)

// adminMembers implements the calls about members of accounts.
type adminMembers struct{ people *people.Directory }

// memberView holds a member of an account.
type memberView struct {
	UserID string      `json:"user_id"`
	Email  string      `json:"email"`
	Name   string      `json:"name"`
	Role   people.Role `json:"role"`
	Since  time.Time   `json:"since"`
}

func viewMember(m *people.Membership) memberView {
	return memberView{UserID: m.UserID, Email: m.Email, Name: m.Name, Role: m.Role, Since: m.Since}
}

func (h *adminMembers) list(r *adminRequest) (answer, error) {
	list, err := h.people.Members(r.Context(), r.visit.Account.ID)
	return listed(r.query, list, err, func(m *people.Membership) string { return m.Email }, viewMember)
}

func (h *adminMembers) remove(r *adminRequest) (answer, error) {
	return gone(h.people.RemoveMember(r.Context(), r.by(), r.visit.Account.ID, r.PathValue("user")))
}

func (h *adminMembers) change(r *adminRequest) (answer, error) {
	id, user := r.visit.Account.ID, r.PathValue("user")
	var role people.Role
	if err := readFields("", r.body, field{"role", text(&role)}); err != nil {
		return answer{}, err
	}
	if role != "" { // a patch without members changes nothing
		if err := h.people.SetRole(r.Context(), r.by(), id, user, role); err != nil {
			return answer{}, err
		}
	}
	list, err := h.people.Members(r.Context(), id)
	if err != nil {
		return answer{}, err
	}
	for i := range list {
		if list[i].UserID == user {
			return found(viewMember(&list[i]))
		}
	}
	return answer{}, llm.Errorf(llm.CodeNotFound, "There is no such member in this account.").At("user")
}

// adminInvitations implements the calls about invitations, to an account or of operators.
type adminInvitations struct {
	people    *people.Directory
	publicURL func(*http.Request) string
}

// invitationView holds an invitation that was not accepted yet.
type invitationView struct {
	ID        string       `json:"id"`
	Email     string       `json:"email"`
	AccountID *string      `json:"account_id"` // null for an invitation of an operator
	Role      *people.Role `json:"role"`
	Operator  bool         `json:"operator"`
	InvitedBy string       `json:"invited_by"`
	Created   time.Time    `json:"created"`
	Expires   time.Time    `json:"expires"`
}

// newInvitationView holds an invitation with its link, which is returned only once.
type newInvitationView struct {
	invitationView
	Link   string `json:"link"`
	Mailed bool   `json:"mailed"`
}

func viewInvitation(i *people.Invitation) invitationView {
	return invitationView{
		ID: i.ID, Email: i.Email, AccountID: orNull(i.AccountID), Role: orNull(i.Role), Operator: i.Operator,
		InvitedBy: i.By, Created: i.Created, Expires: i.Expires,
	}
}

func (h *adminInvitations) list(r *adminRequest) (answer, error) {
	list, err := h.people.Invitations(r.Context(), r.account())
	return listed(r.query, list, err, func(i *people.Invitation) string { return i.ID }, viewInvitation)
}

func (h *adminInvitations) cancel(r *adminRequest) (answer, error) {
	return gone(h.people.CancelInvitation(r.Context(), r.by(), r.account(), r.PathValue("id")))
}

func (h *adminInvitations) create(r *adminRequest) (answer, error) {
	i := people.Invitation{AccountID: r.visit.Account.ID, Role: people.Member, Untrusted: !r.visit.Operator()}
	if err := readFields("", r.body, field{"email", text(&i.Email)}, field{"role", text(&i.Role)}); err != nil {
		return answer{}, err
	}
	v, err := h.invite(r, i)
	if err != nil {
		return answer{}, err
	}
	return answered(http.StatusCreated, "", v)
}

// invite creates an invitation.
func (h *adminInvitations) invite(r *adminRequest, i people.Invitation) (newInvitationView, error) {
	one, err := h.people.Invite(r.Context(), r.by(), i, h.publicURL(r.Request))
	return viewInvited(&one), err
}

func viewInvited(i *people.Invited) newInvitationView {
	return newInvitationView{viewInvitation(&i.Invitation), i.Link.Reveal(), i.Mailed}
}
