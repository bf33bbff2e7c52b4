package api

import (
	"net/http"
	"time"

	"weir/internal/llm"
	"weir/internal/people"
)

func (s *Server) adminMemberRoutes() []people.Route {
	return []people.Route{
		s.adminRoute("GET /accounts/{account}/members", people.Read, s.listMembers, listing...),
		s.adminRoute("PATCH /accounts/{account}/members/{user}", people.Manage, s.changeMember),
		s.adminRoute("DELETE /accounts/{account}/members/{user}", people.Manage, func(r *adminRequest) (answer, error) {
			return gone(s.admin.People.RemoveMember(r.Context(), r.by(), r.visit.Account.ID, r.PathValue("user")))
		}),
		s.adminRoute("GET /accounts/{account}/invitations", people.Manage, func(r *adminRequest) (answer, error) {
			return s.listInvitations(r, r.visit.Account.ID)
		}, listing...),
		s.adminMake("POST /accounts/{account}/invitations", people.Manage, s.makeInvitation),
		s.adminRoute("DELETE /accounts/{account}/invitations/{id}", people.Manage, func(r *adminRequest) (answer,
			error,
		) {
			return gone(s.admin.People.CancelInvitation(r.Context(), r.by(), r.visit.Account.ID, r.PathValue("id")))
		}),
	}
}

// memberView is a user in an account.
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

func (s *Server) listMembers(r *adminRequest) (answer, error) {
	list, err := s.admin.People.Members(r.Context(), r.visit.Account.ID)
	if err != nil {
		return answer{}, err
	}
	return found(pageOf(r.query, list, func(m *people.Membership) string { return m.Email }, viewMember))
}

func (s *Server) changeMember(r *adminRequest) (answer, error) {
	id, user := r.visit.Account.ID, r.PathValue("user")
	var role people.Role
	if err := readFields("", r.body, field{"role", text(&role)}); err != nil {
		return answer{}, err
	}
	if role != "" { // a patch of nothing changes nothing
		if err := s.admin.People.SetRole(r.Context(), r.by(), id, user, role); err != nil {
			return answer{}, err
		}
	}
	list, err := s.admin.People.Members(r.Context(), id)
	if err != nil {
		return answer{}, err
	}
	for i := range list {
		if list[i].UserID == user {
			return found(viewMember(&list[i]))
		}
	}
	return answer{}, &llm.Error{
		Code: llm.CodeNotFound, Message: "There is no such member of this account.",
		Param: "user",
	}
}

// invitationView is an invitation that nobody took up yet.
type invitationView struct {
	ID        string       `json:"id"`
	Email     string       `json:"email"`
	AccountID *string      `json:"account_id"` // null for an operator's
	Role      *people.Role `json:"role"`
	Operator  bool         `json:"operator"`
	InvitedBy string       `json:"invited_by"`
	Created   time.Time    `json:"created"`
	Expires   time.Time    `json:"expires"`
}

// newInvitationView is an invitation with its link, this once.
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

// listInvitations lists those to an account; of operators where the id is empty.
func (s *Server) listInvitations(r *adminRequest, accountID string) (answer, error) {
	list, err := s.admin.People.Invitations(r.Context(), accountID)
	if err != nil {
		return answer{}, err
	}
	return found(pageOf(r.query, list, func(i *people.Invitation) string { return i.ID }, viewInvitation))
}

func (s *Server) makeInvitation(r *adminRequest) (answer, error) {
	i := people.Invitation{AccountID: r.visit.Account.ID, Role: people.Member, Untrusted: !r.visit.Operator()}
	if err := readFields("", r.body, field{"email", text(&i.Email)}, field{"role", text(&i.Role)}); err != nil {
		return answer{}, err
	}
	v, err := s.invite(r, i)
	if err != nil {
		return answer{}, err
	}
	return answered(http.StatusCreated, "", v)
}

// invite makes an invitation. One whose mail did not go out stands all the same:
// its link is in the answer.
func (s *Server) invite(r *adminRequest, i people.Invitation) (v newInvitationView, err error) {
	token, i, err := s.admin.People.Invite(r.Context(), r.by(), i)
	if token.IsZero() {
		return v, err
	}
	if err != nil {
		s.log.Warn("an invitation could not be mailed", "request", r.visit.Origin.Request, "err", err)
	}
	link := s.admin.PublicURL(r.Request) + "/invite/" + token.Reveal()
	return newInvitationView{viewInvitation(&i), link, err == nil && s.admin.People.Mails()}, nil
}
