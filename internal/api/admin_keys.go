package api

import (
	"slices"
	"time"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/people"
)

func (s *Server) adminKeyRoutes() []people.Route {
	return []people.Route{
		s.adminRoute("GET /accounts/{account}/keys", people.Read, s.listKeys, listing...),
		s.adminMake("POST /accounts/{account}/keys", people.Use, s.makeKey),
		s.adminRoute("GET /accounts/{account}/keys/{key}", people.Read, s.showKey),
		s.adminRoute("PATCH /accounts/{account}/keys/{key}", people.Use, s.changeKey),
		s.adminRoute("DELETE /accounts/{account}/keys/{key}", people.Use, s.revokeKey),
	}
}

// keyView is a key without its secret.
type keyView struct {
	ID          string               `json:"id"`
	AccountID   string               `json:"account_id"`
	Label       string               `json:"label"`
	Last4       string               `json:"last4"`
	State       string               `json:"state"` // active, expired or revoked
	Permissions []account.Permission `json:"permissions"`
	Models      []string             `json:"models"` // patterns; empty for all
	Limits      limitsView           `json:"limits"`
	Budget      *budgetView          `json:"budget"`
	CreatedBy   *string              `json:"created_by"` // id of the user
	Created     time.Time            `json:"created"`
	Expires     *time.Time           `json:"expires"`
	Revoked     *time.Time           `json:"revoked"`
	LastUsed    *time.Time           `json:"last_used"`
}

// newKeyView is a key with its secret, this once.
type newKeyView struct {
	keyView
	Key string `json:"key"`
}

func (s *Server) viewKey(k *account.Key, used map[string]time.Time) keyView {
	v := keyView{
		ID: k.ID, AccountID: k.AccountID, Label: k.Label, Last4: k.Last4, State: "active",
		Permissions: k.Permissions, Models: append([]string{}, k.Models...), Limits: limitsView(k.Limits),
		Budget:    viewBudget(k.Budget),
		CreatedBy: orNull(k.Creator), Created: k.Created, Expires: k.Expires, Revoked: k.Revoked,
	}
	if k.Revoked != nil {
		v.State = "revoked"
	} else if k.Expired(s.ledger.Now()) {
		v.State = "expired"
	}
	if at, ok := used[k.ID]; ok {
		v.LastUsed = &at
	}
	return v
}

func (s *Server) listKeys(r *adminRequest) (answer, error) {
	list, err := s.accounts.Keys(r.Context(), r.visit.Account.ID)
	if err != nil {
		return answer{}, err
	}
	used, err := s.admin.KeysUsed(r.Context(), r.visit.Account.ID)
	if err != nil {
		return answer{}, err
	}
	view := func(k *account.Key) keyView { return s.viewKey(k, used) }
	return found(pageOf(r.query, list, func(k *account.Key) string { return k.ID }, view))
}

// keyOf is the key of the visit's account that the path names.
func (s *Server) keyOf(r *adminRequest) (account.Key, error) {
	k, err := s.accounts.Key(r.Context(), r.PathValue("key"))
	if err == nil && k.AccountID != r.visit.Account.ID || err != nil && llm.AsError(err).Code == llm.CodeNotFound {
		return account.Key{}, &llm.Error{
			Code: llm.CodeNotFound, Message: "There is no such key in this account.",
			Param: "key",
		}
	}
	return k, err
}

// answerKey answers with a key as it is now.
func (s *Server) answerKey(r *adminRequest, k *account.Key) (answer, error) {
	used, err := s.admin.KeysUsed(r.Context(), k.AccountID)
	if err != nil {
		return answer{}, err
	}
	return found(s.viewKey(k, used))
}

func (s *Server) showKey(r *adminRequest) (answer, error) {
	k, err := s.keyOf(r)
	if err != nil {
		return answer{}, err
	}
	return s.answerKey(r, &k)
}

func (s *Server) makeKey(r *adminRequest) (answer, error) {
	o := account.KeyOptions{Account: r.visit.Account.ID}
	err := readFields(
		"", r.body,
		field{"label", text(&o.Label)},
		field{"permissions", texts(&o.Permissions)},
		field{"models", texts(&o.Models)},
		field{"expires", instant(&o.Expires)},
		field{"limits", limitsField(&o.Limits)},
		field{"budget", budgetField(&o.Budget)},
	)
	if err != nil {
		return answer{}, err
	}
	if slices.Contains(o.Permissions, account.Admin) && !r.visit.Operator() {
		return answer{}, &llm.Error{
			Code:    llm.CodeForbidden,
			Message: `Only operators may give a key the permission "admin".`, Param: "permissions",
		}
	}
	if u, with := r.visit.User(), r.visit.Key(); u != nil {
		o.Creator = u.ID
	} else if with != nil { // whoever made that key made this one, and answers for it
		o.Creator = with.Creator
	}
	k, token, err := s.accounts.CreateKey(r.Context(), r.by(), o)
	if err != nil {
		return answer{}, inLimits(err)
	}
	return created(newKeyView{s.viewKey(&k, nil), token.Reveal()}, "accounts", k.AccountID, "keys", k.ID)
}

// mayChange refuses whoever may neither change all keys of the account nor made
// this one. A key that administers the installation is for operators alone.
func mayChange(v *people.Visit, k *account.Key) error {
	u := v.User()
	switch {
	case v.Operator():
		return nil
	case slices.Contains(k.Permissions, account.Admin):
		return &llm.Error{
			Code:    llm.CodeForbidden,
			Message: `Only operators may change a key with the permission "admin".`,
		}
	case v.May(people.Manage, k.AccountID) == nil, u != nil && k.Creator == u.ID:
		return nil
	}
	return &llm.Error{
		Code:    llm.CodeForbidden,
		Message: "Members may change and revoke the keys that they made; owners may all.",
	}
}

// changeKey changes what is given, all of it or nothing (RFC 7396).
func (s *Server) changeKey(r *adminRequest) (answer, error) {
	k, err := s.keyOf(r)
	if err != nil {
		return answer{}, err
	}
	if err := mayChange(r.visit, &k); err != nil {
		return answer{}, err
	}
	u, err := keyUpdateOf(r.body, &k)
	if err != nil {
		return answer{}, err
	}
	u.Tighten = r.visit.May(people.Manage, k.AccountID) != nil
	if k, err = s.accounts.UpdateKey(r.Context(), r.by(), k.ID, u); err != nil {
		return answer{}, inLimits(err)
	}
	return s.answerKey(r, &k)
}

func keyUpdateOf(body []byte, k *account.Key) (account.KeyUpdate, error) {
	label, limits, budget := k.Label, k.Limits, k.Budget
	var models []string
	var expires time.Time
	var u account.KeyUpdate
	err := readFields(
		"", body,
		field{"label", text(&label)},
		field{"models", given(&u.Models, &models, texts(&models))},
		field{"expires", given(&u.Expires, &expires, instant(&expires))},
		field{"limits", limitsField(&limits)},
		field{"budget", budgetField(&budget)},
	)
	// What stays as it is is not written: somebody else may be changing it.
	if label != k.Label {
		u.Label = &label
	}
	if limits != k.Limits {
		u.Limits = &limits
	}
	if budget != k.Budget {
		u.Budget = &budget
	}
	return u, err
}

// given notes that a field was there, whatever its value.
func given[T any](dst **T, value *T, read func(at string, v []byte) error) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		*dst = value
		return read(at, v)
	}
}

// revokeKey makes a key useless for ever; again, it changes nothing.
func (s *Server) revokeKey(r *adminRequest) (answer, error) {
	k, err := s.keyOf(r)
	if err != nil {
		return answer{}, err
	}
	if err := mayRevoke(r.visit, &k); err != nil {
		return answer{}, err
	}
	if k, err = s.accounts.RevokeKey(r.Context(), r.by(), k.ID); err != nil {
		return answer{}, err
	}
	return s.answerKey(r, &k)
}

// mayRevoke refuses whoever may neither revoke all keys of the account nor made
// this one. Owners may revoke whatever is in their account.
func mayRevoke(v *people.Visit, k *account.Key) error {
	if v.May(people.Manage, k.AccountID) == nil {
		return nil
	}
	return mayChange(v, k)
}
