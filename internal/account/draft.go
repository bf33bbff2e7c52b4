package account

import "weir/internal/llm"

// Draft is an account that is about to be made, and what it pays beforehand.
type Draft struct {
	Account Account
	Credit  *CreditEntry // nil for an account that does not pay beforehand
}

// Draft is an account of that name with what u gives it, and a credit; 0 for none. Nothing is kept of it. The
// error is a *llm.Error with CodeInvalidRequest.
func (s *Service) Draft(name string, u Update, credit llm.Money) (Draft, error) {
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
	d := Draft{Account: a}
	if credit > 0 {
		d.Credit = &CreditEntry{ID: newID(), AccountID: a.ID, Amount: credit, At: a.Created}
	}
	return d, nil
}

func checkCredit(credit llm.Money) error {
	if credit < 0 || credit > MaxAmount {
		return llm.Invalidf("credit_usd", "A new account's credit is $0 to $%s; this one is %s.", MaxAmount, credit)
	}
	return nil
}

// NameTaken says that there is an account of that name.
func NameTaken(name string) error {
	return llm.Invalidf("name", "An account named %q exists already. Choose another name.", name)
}
