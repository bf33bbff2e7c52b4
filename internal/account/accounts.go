package account

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/llm"
)

const (
	// MaxName is how long the name of an account is at most, in bytes.
	MaxName      = 64
	nameAlphabet = base62 + "-_."
	setupFor     = 7 * 24 * time.Hour

	// DefaultName is the name of the account that the first start makes.
	DefaultName = "default"
)

// CreateAccount adds an account. The error is a *llm.Error with
// CodeInvalidRequest when the name is taken or not one.
func (s *Service) CreateAccount(ctx context.Context, by audit.Actor, name string) (Account, error) {
	if err := checkName(name); err != nil {
		return Account{}, err
	}
	a := s.newAccount(name)
	err := s.stores.Accounts.CreateAccount(ctx, by, a)
	if errors.Is(err, ErrExists) {
		return Account{}, NameTaken(name)
	}
	if err != nil {
		return Account{}, fmt.Errorf("create account: %w", err)
	}
	return a, nil
}

func (s *Service) newAccount(name string) Account {
	return Account{ID: newID(), Name: name, OnDisconnect: DisconnectDefault, Created: s.now()}
}

// now is the time as it is kept: UTC, whole microseconds.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }

func checkName(name string) error {
	switch {
	case name == "" || len(name) > MaxName:
		return llm.Invalidf("name", "An account's name has 1 to %d characters; this one has %d.", MaxName, len(name))
	case strings.Trim(name, nameAlphabet) != "":
		return llm.Invalidf("name", "The account name %q has a character other than letters, digits, dash, "+
			"underscore and dot.", name)
	case name == "." || name == "..": // which no address can have in its path
		return llm.Invalidf("name", "An account cannot be named %q. Choose another name.", name)
	case uuid.Validate(name) == nil:
		return llm.Invalidf("name", "The account name %q looks like an account's id. Choose another one.", name)
	}
	return nil
}

// newID is an id of version 7 (RFC 9562), which sorts by the time it was made.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// Accounts are all accounts, by name.
func (s *Service) Accounts(ctx context.Context) ([]Account, error) {
	list, err := s.stores.Accounts.List(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	return list, nil
}

// Account is the account of that name or id. The error is a *llm.Error with
// CodeNotFound when there is none.
func (s *Service) Account(ctx context.Context, nameOrID string) (Account, error) {
	if nameOrID == "" {
		return Account{}, llm.Invalid("account", "No account is named. Give an account's name or id.")
	}
	list, err := s.stores.Accounts.List(ctx, nameOrID)
	if err != nil {
		return Account{}, fmt.Errorf("find account: %w", err)
	}
	if len(list) == 0 {
		return Account{}, notFound("account", nameOrID)
	}
	return list[0], nil
}

func notFound(what, name string) error {
	return llm.Errorf(llm.CodeNotFound, "There is no %s %q.", what, name).At(what)
}

// Suspend stops the account: its keys may do nothing until Resume.
func (s *Service) Suspend(ctx context.Context, by audit.Actor, nameOrID string) (Account, error) {
	return s.update(ctx, by, nameOrID, Update{Suspended: new(true)})
}

// Resume ends a suspension.
func (s *Service) Resume(ctx context.Context, by audit.Actor, nameOrID string) (Account, error) {
	return s.update(ctx, by, nameOrID, Update{Suspended: new(false)})
}

// ClosedName begins the names of accounts that are closed, before their ids, and is the label of their keys.
const ClosedName = "closed"

// Close closes the account for good: its keys are revoked, its members leave, and what may name somebody is deleted.
// What it used and what it was charged stays, under a name that says nothing. The error is a *llm.Error with
// CodeNotFound when there is no such account.
func (s *Service) Close(ctx context.Context, by audit.Actor, nameOrID string) (Account, error) {
	a, err := s.Account(ctx, nameOrID)
	if err != nil {
		return Account{}, err
	}
	if a, err = s.stores.Accounts.CloseAccount(ctx, by, a.ID, s.now()); err != nil {
		return Account{}, fmt.Errorf("close account: %w", err)
	}
	s.cache.forgetIDs(map[string]bool{a.ID: true})
	return a, nil
}

// Closed says that an account is closed.
func Closed() error {
	return llm.Invalid("account", "The account is closed, and nothing in it can be changed. Use another account.")
}

// MaxAmount bounds budgets and credit, so that sums with what was spent fit: a
// billion dollars.
const MaxAmount = 1_000_000_000 * llm.USD

// SetBudget gives the account a budget, of at most a billion dollars; the zero
// Budget takes it away.
func (s *Service) SetBudget(ctx context.Context, by audit.Actor, nameOrID string, b Budget) (Account, error) {
	return s.UpdateAccount(ctx, by, nameOrID, Update{Budget: &b})
}

// SetLimits gives the account limits; the zero Limits takes them away.
func (s *Service) SetLimits(ctx context.Context, by audit.Actor, nameOrID string, l Limits) (Account, error) {
	return s.UpdateAccount(ctx, by, nameOrID, Update{Limits: &l})
}

// AddCredit adds to what the account has paid beforehand; less than 0 takes some
// away again. The first credit counts from what the account has spent until
// then; what it may spend from there on is its credit. The error is a *llm.Error
// with CodeInvalidRequest for 0, for more taken away than was paid, and for more
// than a billion dollars in all.
func (s *Service) AddCredit(ctx context.Context, by audit.Actor, nameOrID string, amount llm.Money) (Account, error) {
	return s.addCredit(ctx, by, nameOrID, CreditEntry{Amount: amount})
}

// AddGoodwill gives the account an amount; less than 0 takes some away again. One that
// pays beforehand has so much more credit; any other owes so much less, and goes on
// without credit. The errors are those of AddCredit.
func (s *Service) AddGoodwill(ctx context.Context, by audit.Actor, nameOrID string, amount llm.Money) (Account, error) {
	return s.addCredit(ctx, by, nameOrID, CreditEntry{Amount: amount, Goodwill: true})
}

func (s *Service) addCredit(ctx context.Context, by audit.Actor, nameOrID string, e CreditEntry) (Account, error) {
	amount := e.Amount
	if amount == 0 {
		return Account{}, llm.Invalid("usd", "Credit is an amount of US dollars other than 0.")
	}
	a, err := s.Account(ctx, nameOrID)
	if err != nil {
		return Account{}, err
	}
	e.ID, e.AccountID, e.At = newID(), a.ID, s.now()
	if amount <= MaxAmount { // else not even the sum may fit
		a, err = s.stores.Accounts.AddCredit(ctx, by, e)
	} else {
		err = ErrTooMuch
	}
	switch {
	case errors.Is(err, ErrOverdrawn) && e.Goodwill:
		return Account{},
			llm.Invalidf("usd", "The account was not given $%s; no more can be taken away than was given.", -amount)
	case errors.Is(err, ErrTooMuch) && e.Goodwill && a.Credit == nil:
		return Account{},
			llm.Invalidf("usd", "Goodwill comes to at most $%s in all; the account was given $%s.", MaxAmount,
				a.Goodwill)
	case errors.Is(err, ErrOverdrawn):
		return Account{},
			llm.Invalidf("usd", "The account has not paid $%s; no more can be taken away than was paid in.", -amount)
	case errors.Is(err, ErrTooMuch):
		return Account{},
			llm.Invalidf("usd", "Credit comes to at most $%s in all; the account has paid $%s.", MaxAmount, a.paid())
	case err != nil:
		return Account{}, fmt.Errorf("add credit: %w", err)
	}
	s.cache.forgetIDs(map[string]bool{a.ID: true})
	return a, nil
}

// paid is what the account has paid beforehand, in all.
func (a *Account) paid() llm.Money {
	if a.Credit == nil {
		return 0
	}
	return a.Credit.Paid
}

// EndCredit lets the account spend without paying beforehand, as one that never
// had credit.
func (s *Service) EndCredit(ctx context.Context, by audit.Actor, nameOrID string) (Account, error) {
	return s.update(ctx, by, nameOrID, Update{EndCredit: true})
}

// SetOnDisconnect says what happens to answers whose client leaves.
func (s *Service) SetOnDisconnect(ctx context.Context, by audit.Actor, nameOrID string, h OnDisconnect) (Account,
	error,
) {
	return s.UpdateAccount(ctx, by, nameOrID, Update{OnDisconnect: &h})
}

// UpdateAccount changes what is not nil of an account, all of it or nothing. The
// error is a *llm.Error with CodeNotFound when there is no such account, and with
// CodeInvalidRequest where what it is to become is at fault.
func (s *Service) UpdateAccount(ctx context.Context, by audit.Actor, nameOrID string, u Update) (Account, error) {
	if err := u.check(); err != nil {
		return Account{}, err
	}
	return s.update(ctx, by, nameOrID, u)
}

func (u *Update) check() error {
	var errs []error
	if u.OnDisconnect != nil {
		errs = append(errs, checkOnDisconnect(*u.OnDisconnect))
	}
	if u.Budget != nil {
		errs = append(errs, checkBudget(*u.Budget))
	}
	if u.Limits != nil {
		errs = append(errs, checkLimits(*u.Limits))
	}
	if u.Per != nil {
		errs = append(errs, checkPer(*u.Per))
	}
	return firstOf(errs...)
}

// CheckAccount refuses an account that could not have been made here. The error is a *llm.Error with
// CodeInvalidRequest.
func CheckAccount(a *Account) error {
	return firstOf(checkName(a.Name), checkLimits(a.Limits), checkBudget(a.Budget), checkPer(a.Per))
}

func checkOnDisconnect(h OnDisconnect) error {
	if h != DisconnectDefault && h != DisconnectCancel && h != DisconnectDrain {
		return llm.Invalidf("on_hangup", "%q is not something to do when a client leaves. Use %q, %q or %q.", h,
			DisconnectDefault, DisconnectCancel, DisconnectDrain)
	}
	return nil
}

func (s *Service) update(ctx context.Context, by audit.Actor, nameOrID string, u Update) (Account, error) {
	a, err := s.Account(ctx, nameOrID)
	if err != nil {
		return Account{}, err
	}
	if a, err = s.stores.Accounts.UpdateAccount(ctx, by, a.ID, u); err != nil {
		return Account{}, fmt.Errorf("change account: %w", err)
	}
	s.cache.forgetIDs(map[string]bool{a.ID: true})
	return a, nil
}

func checkBudget(b Budget) error {
	switch {
	case b == Budget{}:
		return nil
	case b.Limit <= 0:
		return llm.Invalidf("budget", "A budget is more than 0 US dollars; this one is %s.", b.Limit)
	case b.Limit > MaxAmount:
		return llm.Invalidf("budget", "A budget is at most $%s; this one is %s.", MaxAmount, b.Limit)
	case b.Period != budget.PeriodDay && b.Period != budget.PeriodMonth && b.Period != budget.PeriodTotal:
		return llm.Invalidf("period", "%q is not a budget's period. Use %q, %q or %q.", b.Period, budget.PeriodDay,
			budget.PeriodMonth, budget.PeriodTotal)
	}
	return nil
}

// Bootstrap makes the account DefaultName if there is no account at all, and
// reports whether it did: true once a database, however many nodes start.
func (s *Service) Bootstrap(ctx context.Context, by audit.Actor) (Account, bool, error) {
	a := s.newAccount(DefaultName)
	created, err := s.stores.Setup.Bootstrap(ctx, by, a)
	if err != nil {
		return Account{}, false, fmt.Errorf("make the first account: %w", err)
	}
	if !created {
		return Account{}, false, nil
	}
	return a, true, nil
}

// CreateSetupToken makes the secret of a one-time set-up link, which is good
// for seven days. Only its hash is kept.
func (s *Service) CreateSetupToken(ctx context.Context, by audit.Actor) (llm.Secret, error) {
	token, now := randomText(setupDigits), s.now()
	hash := sha256.Sum256([]byte(token))
	if err := s.stores.Setup.CreateSetupToken(ctx, by, hash, now, now.Add(setupFor)); err != nil {
		return llm.Secret{}, fmt.Errorf("create set-up token: %w", err)
	}
	return llm.NewSecret(token), nil
}
