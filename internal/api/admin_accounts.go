package api

import (
	"errors"
	"net/http"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/llm"
)

// adminAccounts are the calls about accounts.
type adminAccounts struct{ accounts *account.Service }

// accountView is an account. Amounts are decimals of US dollars, as everywhere
// in the administration.
type accountView struct {
	ID           string               `json:"id"`
	Name         string               `json:"name"`
	Suspended    bool                 `json:"suspended"`
	OnDisconnect account.OnDisconnect `json:"on_hangup"`
	Limits       limitsView           `json:"limits"`
	Budget       *budgetView          `json:"budget"`
	Credit       *creditView          `json:"credit"`
	Goodwill     string               `json:"goodwill_usd"` // what an account without credit owes less
	Created      time.Time            `json:"created"`
}

type limitsView struct {
	RPM         int64 `json:"rpm"` // 0 for no limit, as all of them
	TPM         int64 `json:"tpm"`
	Concurrency int64 `json:"concurrency"`
}

type budgetView struct {
	LimitUSD string        `json:"limit_usd"`
	Period   budget.Period `json:"period"`
}

type creditView struct {
	PaidUSD string `json:"paid_usd"` // all that was ever paid in
	FromUSD string `json:"from_usd"` // what the account had spent in all when the first of it came
}

func viewAccount(a *account.Account) accountView {
	v := accountView{
		ID: a.ID, Name: a.Name, Suspended: a.Suspended, OnDisconnect: a.OnDisconnect,
		Limits: limitsView(a.Limits), Budget: viewBudget(a.Budget), Goodwill: a.Goodwill.String(), Created: a.Created,
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

func (h *adminAccounts) create(r *adminRequest) (answer, error) {
	var name string
	if err := readFields("", r.body, field{"name", text(&name)}); err != nil {
		return answer{}, err
	}
	a, err := h.accounts.CreateAccount(r.Context(), r.by(), name)
	if err != nil {
		return answer{}, err
	}
	return created(viewAccount(&a), "accounts", a.ID)
}

func (h *adminAccounts) show(r *adminRequest) (answer, error) {
	return found(viewAccount(r.visit.Account))
}

// change changes what is given, all of it or nothing (RFC 7396).
func (h *adminAccounts) change(r *adminRequest) (answer, error) {
	a := r.visit.Account
	var u account.Update
	limits, budget, onDisconnect := a.Limits, a.Budget, a.OnDisconnect
	err := readFields(
		"", r.body,
		field{"suspended", flag(&u.Suspended)},
		field{"on_hangup", text(&onDisconnect)},
		field{"limits", limitsField(&limits)},
		field{"budget", budgetField(&budget)},
		field{"credit", endCreditField(&u.EndCredit)},
	)
	if err != nil {
		return answer{}, err
	}
	// What stays as it is is not written: somebody else may be changing it.
	if onDisconnect != a.OnDisconnect {
		u.OnDisconnect = &onDisconnect
	}
	if limits != a.Limits {
		u.Limits = &limits
	}
	if budget != a.Budget {
		u.Budget = &budget
	}
	changed, err := h.accounts.UpdateAccount(r.Context(), r.by(), a.ID, u)
	return shown(changed, inLimits(err), viewAccount)
}

// inLimits names a limit at fault as it is called in a body.
func inLimits(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if ok && (e.Param == "rpm" || e.Param == "tpm" || e.Param == "concurrency") {
		e.Param = "limits." + e.Param
	}
	return err
}

// endCreditField reads null, which lets an account spend without paying
// beforehand.
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
