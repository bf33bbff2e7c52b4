package account

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/llm"
)

const (
	// MaxName is the maximum length of an account's name, in characters, each of which has one byte.
	MaxName      = 64
	nameAlphabet = base62 + "-_."
	setupFor     = 7 * 24 * time.Hour

	// DefaultName is the name of the account that the first start creates.
	DefaultName = "default"
)

// CreateAccount adds an account. The error is a *llm.Error with CodeInvalidRequest if the name is taken or invalid.
func (s *accounts) CreateAccount(ctx context.Context, by audit.Actor, name string) (Account, error) {
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

func (s *accounts) newAccount(name string) Account {
	return Account{ID: NewID(), Name: name, OnDisconnect: DisconnectDefault, Created: s.now()}
}

func checkName(name string) error {
	switch n := utf8.RuneCountInString(name); {
	case n == 0 || n > MaxName:
		return llm.Invalidf("name", "An account's name must have 1 to %d characters; this one has %d.", MaxName, n)
	case strings.Trim(name, nameAlphabet) != "":
		return llm.Invalidf("name", "The account name %q has an invalid character. Use only letters, digits, dash, "+
			"underscore and dot.", name)
	case name == "." || name == "..": // impossible in the path of a URL
		return llm.Invalidf("name", "An account cannot be named %q. Choose another name.", name)
	case uuid.Validate(name) == nil:
		return llm.Invalidf("name", "The account name %q looks like an account's id. Choose another one.", name)
	}
	return nil
}

// NewID returns a UUID of version 7 (RFC 9562), which sorts by creation time.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// Accounts returns all accounts, sorted by name.
func (s *accounts) Accounts(ctx context.Context) ([]Account, error) {
	list, err := s.stores.Accounts.List(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	return list, nil
}

// Account returns the account with that name or id. The error is a *llm.Error with CodeNotFound if there is none.
func (s *accounts) Account(ctx context.Context, nameOrID string) (Account, error) {
	if nameOrID == "" {
		return Account{}, llm.Invalid("account", "The account is missing. Give an account's name or id.")
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

// Suspend suspends the account: its keys are refused until Resume.
func (s *accounts) Suspend(ctx context.Context, by audit.Actor, nameOrID string) (Account, error) {
	return s.update(ctx, by, nameOrID, Update{Suspended: new(true)})
}

// Resume ends a suspension.
func (s *accounts) Resume(ctx context.Context, by audit.Actor, nameOrID string) (Account, error) {
	return s.update(ctx, by, nameOrID, Update{Suspended: new(false)})
}

// ClosedName is the prefix of the names of closed accounts, before their ids, and the label of their keys.
const ClosedName = "closed"

// Close closes the account for good: it revokes the keys, removes the members, and deletes data that may name people.
// Usage and charges stay under a neutral name. The error is a *llm.Error with CodeNotFound if there is no such account.
func (s *accounts) Close(ctx context.Context, by audit.Actor, nameOrID string) (Account, error) {
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

// Closed returns the error for changes of a closed account.
func Closed() error {
	return llm.Invalid("account", "The account is closed and cannot be changed. Use another account.")
}

// MaxAmount bounds budgets and credit to a billion dollars, so that sums with spent amounts do not overflow.
const MaxAmount = 1_000_000_000 * llm.USD

// SetBudget sets the account's budget, of at most a billion dollars; the zero Budget removes it.
func (s *accounts) SetBudget(ctx context.Context, by audit.Actor, nameOrID string, b Budget) (Account, error) {
	return s.UpdateAccount(ctx, by, nameOrID, Update{Budget: &b})
}

// SetLimits sets the account's limits; the zero Limits removes them.
func (s *accounts) SetLimits(ctx context.Context, by audit.Actor, nameOrID string, l Limits) (Account, error) {
	return s.UpdateAccount(ctx, by, nameOrID, Update{Limits: &l})
}

// AddCredit adds to the account's prepaid credit; a negative amount reduces it. The first credit counts from the
// account's spending so far: from then on the account may spend its credit. The error is a *llm.Error with
// CodeInvalidRequest for 0, for a reduction by more than was paid, and for a total above a billion dollars.
func (s *accounts) AddCredit(ctx context.Context, by audit.Actor, nameOrID string, amount llm.Money) (Account, error) {
	return s.addCredit(ctx, by, nameOrID, CreditEntry{Amount: amount})
}

// AddGoodwill grants the account an amount; a negative amount reduces the grant. It increases the credit of an account
// with prepaid credit, and otherwise reduces the account's debt without giving it credit. The errors are those of
// AddCredit.
func (s *accounts) AddGoodwill(ctx context.Context, by audit.Actor, nameOrID string, amount llm.Money) (
	Account, error,
) {
	return s.addCredit(ctx, by, nameOrID, CreditEntry{Amount: amount, Goodwill: true})
}

func (s *accounts) addCredit(ctx context.Context, by audit.Actor, nameOrID string, e CreditEntry) (Account, error) {
	amount := e.Amount
	if amount == 0 {
		return Account{}, llm.Invalid("usd", "The credit must be an amount of US dollars other than 0.")
	}
	a, err := s.Account(ctx, nameOrID)
	if err != nil {
		return Account{}, err
	}
	e.ID, e.AccountID, e.At = NewID(), a.ID, s.now()
	if amount <= MaxAmount { // otherwise the sum may overflow
		a, err = s.stores.Accounts.AddCredit(ctx, by, e)
	} else {
		err = ErrTooMuch
	}
	switch {
	case errors.Is(err, ErrOverdrawn) && e.Goodwill:
		return Account{},
			llm.Invalidf("usd", "The account's goodwill is less than $%s. Remove at most what was granted.", -amount)
	case errors.Is(err, ErrTooMuch) && e.Goodwill && a.Credit == nil:
		return Account{},
			llm.Invalidf("usd", "An account can have at most $%s of goodwill; this one already has $%s.", MaxAmount,
				a.Goodwill)
	case errors.Is(err, ErrOverdrawn):
		return Account{},
			llm.Invalidf("usd", "The account's credit is less than $%s. Remove at most what was paid in.", -amount)
	case errors.Is(err, ErrTooMuch):
		return Account{},
			llm.Invalidf("usd", "An account can have at most $%s of credit; this one already has $%s.", MaxAmount,
				a.paid())
	case err != nil:
		return Account{}, fmt.Errorf("add credit: %w", err)
	}
	s.cache.forgetIDs(map[string]bool{a.ID: true})
	return a, nil
}

// paid returns the sum of the account's prepaid credit.
func (a *Account) paid() llm.Money {
	if a.Credit == nil {
		return 0
	}
	return a.Credit.Paid
}

// EndCredit removes the account's prepaid credit, so that the account may spend without it.
func (s *accounts) EndCredit(ctx context.Context, by audit.Actor, nameOrID string) (Account, error) {
	return s.update(ctx, by, nameOrID, Update{EndCredit: true})
}

// SetOnDisconnect sets the handling of answers after the client disconnects.
func (s *accounts) SetOnDisconnect(ctx context.Context, by audit.Actor, nameOrID string, h OnDisconnect) (Account,
	error,
) {
	return s.UpdateAccount(ctx, by, nameOrID, Update{OnDisconnect: &h})
}

// UpdateAccount changes the fields of an account that are not nil, in one transaction. The error is a *llm.Error:
// CodeNotFound if there is no such account, CodeInvalidRequest for an invalid value.
func (s *accounts) UpdateAccount(ctx context.Context, by audit.Actor, nameOrID string, u Update) (Account, error) {
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
	if n := u.ContentPercent; n != nil && (*n < 0 || *n > 100) {
		errs = append(errs, llm.Invalidf("content_percent", "The percentage of requests whose content is logged must "+
			"be 0 to 100, not %d.", *n))
	}
	return firstOf(errs...)
}

// CheckAccount returns an error for an account that this package would not create. The error is a *llm.Error with
// CodeInvalidRequest.
func CheckAccount(a *Account) error {
	return firstOf(checkName(a.Name), checkLimits(a.Limits), checkBudget(a.Budget), checkPer(a.Per))
}

func checkOnDisconnect(h OnDisconnect) error {
	if h != DisconnectDefault && h != DisconnectCancel && h != DisconnectDrain {
		return llm.Invalidf("on_hangup", "%q is not an action for a disconnected client. Use %q, %q or %q.", h,
			DisconnectDefault, DisconnectCancel, DisconnectDrain)
	}
	return nil
}

func (s *accounts) update(ctx context.Context, by audit.Actor, nameOrID string, u Update) (Account, error) {
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
		return llm.Invalidf("budget", "A budget must be more than 0 US dollars; this one is %s.", b.Limit)
	case b.Limit > MaxAmount:
		return llm.Invalidf("budget", "A budget must be at most $%s; this one is $%s.", MaxAmount, b.Limit)
	case b.Period != budget.PeriodDay && b.Period != budget.PeriodMonth && b.Period != budget.PeriodTotal:
		return llm.Invalidf("period", "%q is not a budget's period. Use %q, %q or %q.", b.Period, budget.PeriodDay,
			budget.PeriodMonth, budget.PeriodTotal)
	}
	return nil
}

// Bootstrap creates the account DefaultName if there is no account yet, and reports whether it did. It does so once per
// database, even if several nodes start at once.
func (s *accounts) Bootstrap(ctx context.Context, by audit.Actor) (Account, bool, error) {
	a := s.newAccount(DefaultName)
	created, err := s.stores.Setup.Bootstrap(ctx, by, a)
	if err != nil {
		return Account{}, false, fmt.Errorf("create the first account: %w", err)
	}
	if !created {
		return Account{}, false, nil
	}
	return a, true, nil
}

// CreateSetupToken returns the secret of a one-time set-up link, which is valid for seven days. Only its hash is
// stored.
func (s *accounts) CreateSetupToken(ctx context.Context, by audit.Actor) (llm.Secret, error) {
	token, now := randomText(setupDigits), s.now()
	hash := sha256.Sum256([]byte(token))
	if err := s.stores.Setup.CreateSetupToken(ctx, by, hash, now, now.Add(setupFor)); err != nil {
		return llm.Secret{}, fmt.Errorf("create set-up token: %w", err)
	}
	return llm.NewSecret(token), nil
}
