package account

import "weir/internal/llm"

// Draft is an account to be created, with its prepaid credit.
type Draft struct {
	Account Account
	Credit  *CreditEntry // nil for an account without prepaid credit
}

// Draft returns a new account with that name, the settings of u and a credit; 0 for none. It stores nothing. The error
// is a *llm.Error with CodeInvalidRequest.
func (s *accounts) Draft(name string, u Update, credit llm.Money) (Draft, error) {
	if err := firstOf(checkName(name), u.check(), checkCredit(credit)); err != nil {
		return Draft{}, err
	}
	a := s.newAccount(name)
	if u.OnDisconnect != nil {
		a.OnDisconnect = *u.OnDisconnect
	}
	if u.Budget != nil {
		a.Budget = *u.Budget
	}
	if u.Limits != nil {
		a.Limits = *u.Limits
	}
	if u.Per != nil {
		a.Per = *u.Per
	}
	if u.ContentPercent != nil {
		a.ContentPercent = *u.ContentPercent
	}
	d := Draft{Account: a}
	if credit > 0 {
		d.Credit = &CreditEntry{ID: NewID(), AccountID: a.ID, Amount: credit, At: a.Created}
	}
	return d, nil
}

func checkCredit(credit llm.Money) error {
	if credit < 0 || credit > MaxAmount {
		return llm.Invalidf("credit_usd", "A new account's credit must be $0 to $%s; this one is $%s.", MaxAmount,
			credit)
	}
	return nil
}

// NameTaken returns the error for the name of an existing account.
func NameTaken(name string) error {
	return llm.Invalidf("name", "An account named %q already exists. Choose another name.", name)
}
