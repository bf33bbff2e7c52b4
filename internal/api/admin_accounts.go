package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/rawjson"
)

// adminAccounts implements the calls about accounts.
type adminAccounts struct {
	accounts    *account.Service
	invitations *adminInvitations
}

// accountView holds an account. Amounts are decimals of US dollars, as everywhere in the administration.
type accountView struct {
	ID           string               `json:"id"`
	Name         string               `json:"name"`
	Suspended    bool                 `json:"suspended"`
	OnDisconnect account.OnDisconnect `json:"on_hangup"`
	// ContentPercent is the percentage of requests whose content is logged.
	ContentPercent int64       `json:"content_percent"`
	Limits         limitsView  `json:"limits"`
	Budget         *budgetView `json:"budget"`
	perViews
	Credit   *creditView `json:"credit"`
	Goodwill string      `json:"goodwill_usd"` // reduces the amount due of an account without credit
	Created  time.Time   `json:"created"`
	Closed   *time.Time  `json:"closed"` // nil while it is open
}

// newAccountView holds a created account and its invitations.
type newAccountView struct {
	accountView
	Invitations []newInvitationView `json:"invitations"`
}

type limitsView struct {
	RPM         int64 `json:"rpm"` // 0 for no limit, also for the others
	TPM         int64 `json:"tpm"`
	Concurrency int64 `json:"concurrency"`
}

type budgetView struct {
	LimitUSD string        `json:"limit_usd"`
	Period   budget.Period `json:"period"`
}

type creditView struct {
	PaidUSD string `json:"paid_usd"` // all that was ever paid
	FromUSD string `json:"from_usd"` // total spending when the first credit was added
}

func viewAccount(a *account.Account) accountView {
	v := accountView{
		ID: a.ID, Name: a.Name, Suspended: a.Suspended, OnDisconnect: a.OnDisconnect,
		ContentPercent: a.ContentPercent, Limits: limitsView(a.Limits), Budget: viewBudget(a.Budget),
		perViews: viewPer(a.Per),
		Goodwill: a.Goodwill.String(),
		Created:  a.Created, Closed: a.Closed,
	}
	if c := a.Credit; c != nil {
		v.Credit = &creditView{PaidUSD: c.Paid.String(), FromUSD: c.From.String()}
	}
	return v
}

func viewBudget(b account.Budget) *budgetView {
	if b.Limit == 0 {
		return nil
	}
	return &budgetView{LimitUSD: b.Limit.String(), Period: b.Period}
}

func (h *adminAccounts) list(r *adminRequest) (answer, error) {
	list, err := h.accounts.Accounts(r.Context())
	return listed(r.query, list, err, func(a *account.Account) string { return a.Name }, viewAccount)
}

// create creates an account with its invitations: all of it or nothing.
func (h *adminAccounts) create(r *adminRequest) (answer, error) {
	var name string
	var limits account.Limits
	var budget account.Budget
	var per []account.Per
	var credit llm.Money
	onDisconnect, content := account.DisconnectDefault, int64(0)
	var members []people.Invitation
	err := readFields("", r.body, append(perFields(&per),
		field{"name", text(&name)},
		field{"on_hangup", text(&onDisconnect)},
		field{"content_percent", percent(&content)},
		field{"limits", limitsField(&limits)},
		field{"budget", budgetField(&budget)},
		field{"credit_usd", amount(&credit)},
		field{"members", membersField(&members)},
	)...)
	if err != nil {
		return answer{}, err
	}
	u := account.Update{
		OnDisconnect: &onDisconnect, Limits: &limits, Budget: &budget, Per: &per, ContentPercent: &content,
	}
	d, err := h.accounts.Draft(name, u, credit)
	if err != nil {
		return answer{}, inLimits(err)
	}
	a, invited, err := h.invitations.people.CreateAccount(r.Context(), r.by(), d, members,
		h.invitations.publicURL(r.Request))
	if err != nil {
		return answer{}, err
	}
	v := newAccountView{viewAccount(&a), make([]newInvitationView, len(invited))}
	for i := range invited {
		v.Invitations[i] = viewInvited(&invited[i])
	}
	return created(v, "accounts", a.ID)
}

// membersField reads a list of people to invite; null means none.
func membersField(dst *[]people.Invitation) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		if isNull(v) {
			return nil
		}
		if rawjson.KindOf(v) != rawjson.Array {
			return wrongKind(at, "a list of objects with email and role")
		}
		for i, e := range rawjson.Elements(v) {
			place, one := fmt.Sprintf("%s[%d]", at, i), people.Invitation{Role: people.Member}
			if rawjson.KindOf(e) != rawjson.Object {
				return wrongKind(place, "an object with email and role")
			}
			if err := readFields(place, e, field{"email", text(&one.Email)},
				field{"role", text(&one.Role)}); err != nil {
				return err
			}
			*dst = append(*dst, one)
		}
		return nil
	}
}

func (h *adminAccounts) show(r *adminRequest) (answer, error) {
	return found(viewAccount(r.visit.Account))
}

// change changes the given members: all of them or nothing (RFC 7396).
func (h *adminAccounts) change(r *adminRequest) (answer, error) {
	a := r.visit.Account
	var u account.Update
	limits, budget, per, onDisconnect, content := a.Limits, a.Budget, a.Per, a.OnDisconnect, a.ContentPercent
	err := readFields("", r.body, append(perFields(&per),
		field{"suspended", flag(&u.Suspended)},
		field{"on_hangup", text(&onDisconnect)},
		field{"content_percent", percent(&content)},
		field{"limits", limitsField(&limits)},
		field{"budget", budgetField(&budget)},
		field{"credit", endCreditField(&u.EndCredit)},
	)...)
	if err != nil {
		return answer{}, err
	}
	// Unchanged members are not written, because another request may be changing them.
	if onDisconnect != a.OnDisconnect {
		u.OnDisconnect = &onDisconnect
	}
	if content != a.ContentPercent {
		u.ContentPercent = &content
	}
	if limits != a.Limits {
		u.Limits = &limits
	}
	if budget != a.Budget {
		u.Budget = &budget
	}
	if !slices.Equal(per, a.Per) {
		u.Per = &per
	}
	changed, err := h.accounts.UpdateAccount(r.Context(), r.by(), a.ID, u)
	return shown(changed, inLimits(err), viewAccount)
}

// close closes an account for good.
func (h *adminAccounts) close(r *adminRequest) (answer, error) {
	if err := readFields("", r.body); err != nil {
		return answer{}, err
	}
	a, err := h.accounts.Close(r.Context(), r.by(), r.visit.Account.ID)
	return shown(a, err, viewAccount)
}

// inLimits replaces the name of a limit in an error by its path in the body.
func inLimits(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if ok && (e.Param == "rpm" || e.Param == "tpm" || e.Param == "concurrency") {
		e.Param = "limits." + e.Param
	}
	return err
}

// endCreditField reads null, which lets an account spend without paying beforehand.
func endCreditField(dst *bool) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		if !isNull(v) {
			return wrongKind(at, "null, which ends the credit; to add credit, POST to …/credit")
		}
		*dst = true
		return nil
	}
}

func (h *adminAccounts) addCredit(r *adminRequest) (answer, error) {
	var usd llm.Money
	var goodwill *bool
	if err := readFields("", r.body, field{"amount_usd", amount(&usd)},
		field{"goodwill", flag(&goodwill)}); err != nil {
		return answer{}, err
	}
	add := h.accounts.AddCredit
	if goodwill != nil && *goodwill {
		add = h.accounts.AddGoodwill
	}
	a, err := add(r.Context(), r.by(), r.visit.Account.ID, usd)
	if e := llm.AsError(err); err != nil && e.Param == "usd" {
		e.Param = "amount_usd"
	}
	if err != nil {
		return answer{}, err
	}
	return answered(http.StatusCreated, "", viewAccount(&a))
}
