package api

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/llm"
	"weir/internal/people"
)

// adminPeople implements the calls about people who sign in.
type adminPeople struct {
	people      *people.Directory
	invitations *adminInvitations
}

// meView holds the caller and their rights.
type meView struct {
	Kind     string           `json:"kind"` // user or key
	ID       string           `json:"id"`
	Name     string           `json:"name"` // of a key: its label
	Email    *string          `json:"email"`
	Operator bool             `json:"operator"`
	Rights   []people.Right   `json:"rights"` // in the installation; an operator's rights hold in every account, too
	Accounts []membershipView `json:"accounts"`
}

// membershipView holds an account of a person.
type membershipView struct {
	ID     string         `json:"id"`
	Name   string         `json:"name"`
	Role   people.Role    `json:"role"`
	Rights []people.Right `json:"rights"`
}

func (h *adminPeople) showMe(r *adminRequest) (answer, error) {
	v := r.visit
	me := meView{
		Kind: "user", Operator: v.Operator(), Rights: []people.Right{people.SignedIn}, Accounts: []membershipView{},
	}
	if u := v.User(); u != nil {
		me.ID, me.Name, me.Email = u.ID, u.Name, &u.Email
	} else if k := v.Key(); k != nil {
		me.Kind, me.ID, me.Name = "key", k.ID, k.Label
	}
	if me.Operator {
		me.Rights = append(me.Rights, people.Operate)
	}
	for _, m := range v.Memberships() {
		in := membershipView{ID: m.AccountID, Name: m.AccountName, Role: m.Role, Rights: []people.Right{}}
		for _, right := range []people.Right{people.Read, people.Use, people.Manage} {
			if v.May(right, m.AccountID) == nil {
				in.Rights = append(in.Rights, right)
			}
		}
		me.Accounts = append(me.Accounts, in)
	}
	return found(me)
}

// userView holds a person who signs in.
type userView struct {
	ID          string `json:"id"`
	Email       string `json:"email"`
	Name        string `json:"name"`
	Operator    bool   `json:"operator"`
	HasPassword bool   `json:"has_password"`
	EmailProven bool   `json:"email_proven"` // whether the address is verified
	// HasSecondFactor reports whether the password alone is not enough to sign in.
	HasSecondFactor bool       `json:"has_second_factor"`
	DisabledSince   *time.Time `json:"disabled_since"` // null if the user may sign in
	Created         time.Time  `json:"created"`
	LastSeen        *time.Time `json:"last_seen"`
}

func viewUser(u *people.User) userView {
	return userView{
		ID: u.ID, Email: u.Email, Name: u.Name, Operator: u.Operator, HasPassword: u.Password,
		EmailProven: u.Proven, HasSecondFactor: u.SecondFactor, DisabledSince: u.Disabled,
		Created: u.Created, LastSeen: u.Seen,
	}
}

func emailOf(u *people.User) string { return u.Email }

func (h *adminPeople) listUsers(r *adminRequest) (answer, error) {
	list, err := h.people.Users(r.Context())
	return listed(r.query, list, err, emailOf, viewUser)
}

// changeUser disables or enables a user.
func (h *adminPeople) changeUser(r *adminRequest) (answer, error) {
	var disabled *bool
	if err := readFields("", r.body, field{"disabled", flag(&disabled)}); err != nil {
		return answer{}, err
	}
	u, err := h.people.User(r.Context(), r.PathValue("user"))
	if err == nil && disabled != nil {
		err = h.people.SetDisabled(r.Context(), r.by(), u.ID, *disabled)
	}
	if err == nil {
		u, err = h.people.User(r.Context(), u.ID)
	}
	if err != nil {
		return answer{}, err
	}
	return found(viewUser(&u))
}

func (h *adminPeople) removeUser(r *adminRequest) (answer, error) {
	u, err := h.people.User(r.Context(), r.PathValue("user"))
	if err != nil {
		return answer{}, err
	}
	return gone(h.people.RemoveUser(r.Context(), r.by(), u.ID))
}

// removeFactor removes a user's second factor. It also succeeds if there is none.
func (h *adminPeople) removeFactor(r *adminRequest) (answer, error) {
	u, err := h.people.User(r.Context(), r.PathValue("user"))
	if err != nil {
		return answer{}, err
	}
	return gone(h.people.RemoveFactor(r.Context(), r.by(), u.ID))
}

func (h *adminPeople) listOperators(r *adminRequest) (answer, error) {
	list, err := h.people.Users(r.Context())
	list = slices.DeleteFunc(list, func(u people.User) bool { return !u.Operator })
	return listed(r.query, list, err, emailOf, viewUser)
}

// newOperatorView holds a new operator, or the invitation of one.
type newOperatorView struct {
	Operator   *userView          `json:"operator"`
	Invitation *newInvitationView `json:"invitation"`
}

// makeOperator makes a user an operator at once, and invites a person who is not a user yet. It refuses a user with
// an unverified address, unless an invitation is requested.
func (h *adminPeople) makeOperator(r *adminRequest) (answer, error) {
	var email string
	var invite *bool
	if err := readFields("", r.body, field{"email", text(&email)}, field{"invite", flag(&invite)}); err != nil {
		return answer{}, err
	}
	u, err := h.people.User(r.Context(), email)
	if err == nil && !strings.EqualFold(u.Email, strings.TrimSpace(email)) { // the value was an id
		return answer{}, wrongKind("email", "an e-mail address such as ada@example.com")
	}
	switch {
	case err != nil && llm.AsError(err).Code != llm.CodeNotFound:
		return answer{}, err
	case err != nil, invite != nil && *invite:
		i, err := h.invitations.invite(r, people.Invitation{Email: email, Operator: true})
		if err != nil {
			return answer{}, err
		}
		return answered(http.StatusCreated, "", newOperatorView{Invitation: &i})
	case u.Operator:
		return answer{}, llm.Invalid("email", u.Email+" is already an operator.")
	}
	if err := h.people.SetOperator(r.Context(), r.by(), u.ID, true); err != nil {
		if e := llm.AsError(err); e.Param == "user" {
			e.Param = "email"
		}
		return answer{}, err
	}
	u.Operator = true
	view := viewUser(&u)
	return answered(http.StatusCreated, "", newOperatorView{Operator: &view})
}

// removeOperator revokes the rights of an operator, who remains a user. It answers 404 if the user is not an
// operator.
func (h *adminPeople) removeOperator(r *adminRequest) (answer, error) {
	u, err := h.people.User(r.Context(), r.PathValue("user"))
	if err == nil && !u.Operator {
		err = llm.Errorf(llm.CodeNotFound, "There is no such operator.").At("user")
	}
	if err != nil {
		return answer{}, err
	}
	return gone(h.people.SetOperator(r.Context(), r.by(), u.ID, false))
}
