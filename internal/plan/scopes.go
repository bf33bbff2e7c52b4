package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/llm"
)

// Scopes holds changes of accounts, by name or id, and of keys, by id.
type Scopes struct {
	Accounts map[string]Change
	Keys     map[string]Change
}

// Change holds the changes of an account or a key; nil members stay unchanged.
type Change struct {
	Limits *limitsChange `json:"limits"`
	Budget *budgetChange `json:"budget"`
	Models *[]string     `json:"models"` // only for keys
}

// LimitsOf returns a change to these limits.
func LimitsOf(l account.Limits) Change {
	return Change{Limits: &limitsChange{&l.RPM, &l.TPM, &l.Concurrency}}
}

// BudgetOf returns a change to that budget; the zero value removes the budget.
func BudgetOf(b account.Budget) Change {
	return Change{Budget: &budgetChange{dollars(b.Limit), b.Period}}
}

// limitsChange replaces the given limits; 0 means no limit.
type limitsChange struct {
	RPM         *int64 `json:"rpm"`
	TPM         *int64 `json:"tpm"`
	Concurrency *int64 `json:"concurrency"`
}

// budgetChange replaces the budget; an amount of 0 removes it.
type budgetChange struct {
	USD    dollars       `json:"limit_usd"`
	Period budget.Period `json:"period"`
}

// dollars is an amount of US dollars, in JSON a string or a number.
type dollars llm.Money

// UnmarshalJSON parses an amount.
func (d *dollars) UnmarshalJSON(text []byte) error {
	m, err := llm.ParseMoney(strings.Trim(string(text), `"`))
	*d = dollars(m)
	return err
}

// ParseChanges parses changes of accounts or keys: a JSON object of objects, by name. The error is a *llm.Error with
// CodeInvalidRequest that names the member. What is "accounts" or "keys".
func ParseChanges(what string, text []byte) (map[string]Change, error) {
	raw := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, llm.Invalidf(what, "%s must be an object of changes by name.", what)
	}
	all := make(map[string]Change, len(raw))
	for name, value := range raw {
		var c Change
		in := json.NewDecoder(bytes.NewReader(value))
		in.DisallowUnknownFields()
		if err := in.Decode(&c); err != nil {
			return nil, llm.Invalidf(what+"."+name, "%s.%.100s cannot be read (%s): give limits with rpm, tpm and "+
				"concurrency, a budget with limit_usd and period, or the models of a key.", what, name, reason(err))
		}
		all[name] = c
	}
	return all, nil
}

// reason shortens an error of encoding/json.
func reason(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s is a %s", wrong.Field, wrong.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// With returns the state with these changes. The error is a *llm.Error.
func (s *State) With(c *Scopes) (State, error) {
	then := *s
	then.Accounts, then.Keys = maps.Clone(s.Accounts), maps.Clone(s.Keys)
	for name, change := range c.Accounts {
		a := s.account(name)
		if a == nil || change.Models != nil {
			return then, llm.Invalidf("accounts."+name, "There is no account %q, or the change sets models, which "+
				"only keys have.", name)
		}
		changed := *a
		change.apply(&changed.Limits, &changed.Budget)
		if err := checked("accounts."+name, &changed); err != nil {
			return then, err
		}
		then.Accounts[a.ID] = &changed
	}
	for id, change := range c.Keys {
		k := s.Keys[id]
		if k == nil {
			return then, llm.Invalidf("keys."+id, "There is no key %q: weir keys list shows the ids of keys.", id)
		}
		changed := *k
		change.apply(&changed.Limits, &changed.Budget)
		if change.Models != nil {
			changed.Models = *change.Models
		}
		as := account.Account{Name: "key", Limits: changed.Limits, Budget: changed.Budget}
		if err := checked("keys."+id, &as); err != nil {
			return then, err
		}
		then.Keys[id] = &changed
	}
	return then, nil
}

func (s *State) account(nameOrID string) *account.Account {
	if a := s.Accounts[nameOrID]; a != nil {
		return a
	}
	for _, a := range s.Accounts {
		if a.Name == nameOrID {
			return a
		}
	}
	return nil
}

func checked(place string, a *account.Account) error {
	err := account.CheckAccount(a)
	if err != nil {
		llm.AsError(err).Param = place
	}
	return err
}

func (c *Change) apply(l *account.Limits, b *account.Budget) {
	if c.Limits != nil {
		for to, value := range map[*int64]*int64{
			&l.RPM: c.Limits.RPM, &l.TPM: c.Limits.TPM, &l.Concurrency: c.Limits.Concurrency,
		} {
			if value != nil {
				*to = *value
			}
		}
	}
	if c.Budget != nil {
		if *b = (account.Budget{Limit: llm.Money(c.Budget.USD), Period: c.Budget.Period}); b.Limit == 0 {
			*b = account.Budget{}
		}
	}
}
